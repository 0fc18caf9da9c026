import { formatCount, formatDuration } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { Time } from '../../../design/time.tsx';
import { useNow } from '../../live-state.ts';
import type { QuotaBucket, QuotaLimit } from '../quotas/quota.ts';
import { ShareBar } from '../quotas/share-bar.tsx';

/** What was paid in each limit of a bucket, and what is left. */
export function BucketLimits({ bucket: { limits } }: { readonly bucket: QuotaBucket }) {
  return (
    <Panel title={limits.length === 1 ? 'Limit' : 'Limits'}>
      {limits.length === 0 ? (
        <p class="quiet">No limit is counted for this bucket.</p>
      ) : (
        <div class="quota-limits">
          {limits.map((limit, i) => (
            <OneLimit key={i} limit={limit} />
          ))}
        </div>
      )}
    </Panel>
  );
}

function OneLimit({ limit }: { readonly limit: QuotaLimit }) {
  const nowMs = useNow();
  const { total, seconds, grantable, window_end: end, paid_ahead: ahead } = limit;
  const length = seconds === null ? 'in a token bucket' : `in ${formatDuration(seconds * 1_000)}`;
  return (
    <div>
      <h3>
        {formatCount(total)} {length}
        <span class="panel-note">
          {grantable === null && 'in shadow mode, '}
          {grantable !== null && grantable < total && `${formatCount(grantable)} for proxies, `}
          {end === null ? (
            'counts all the time'
          ) : (
            <>
              window ends <Time iso={end} nowMs={nowMs} />
            </>
          )}
          {ahead > 0 && `, ${formatCount(ahead)} paid in the next window`}
        </span>
      </h3>
      <ShareBar limit={limit} isLong />
    </div>
  );
}
