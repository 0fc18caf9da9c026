import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { formatCount, formatRate } from '../../../design/format.ts';
import { Facts, Panel } from '../../../design/panel.tsx';
import { Link, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { Table } from '../../../design/table.tsx';
import { Time } from '../../../design/time.tsx';
import { ChangeDialog, type Changing } from '../../change/change-dialog.tsx';
import { descriptorText } from '../../descriptor.ts';
import { useNow } from '../../live-state.ts';
import { usePolled } from '../../polled.ts';
import { explainQuery } from '../explain/explanation.ts';
import { type QuotaBucket, type Quotas, readBucketQuery } from '../quotas/quota.ts';
import { QuotasOff } from '../quotas/quotas-off.tsx';
import { VerdictChip } from '../quotas/verdict-chip.tsx';
import { BucketLimits } from './bucket-limits.tsx';
import { proxyColumns } from './proxy-columns.tsx';

/** One bucket: its limits, and what each of its proxies reports and was granted. */
export function QuotaPage() {
  const bucket = readBucketQuery(useRoute().query);
  const { answer, error, reload } = usePolled<Quotas>(bucket === null ? null : '/quotas/read', {
    body: bucket,
  });
  if (error?.code === 'not_supported') return <QuotasOff />;
  if (bucket === null) return <NoBucket title="No bucket is chosen" />;
  if (answer === null)
    return error === null ? <Skeleton lines={12} /> : <Failure error={error} onRetry={reload} />;
  const name = `${bucket.domain} › ${descriptorText(bucket.entries)}`;
  if (answer.buckets.length === 0) return <NoBucket title={`No proxy reports ${name}`} />;
  return <OneBucket bucket={answer.buckets[0]} />;
}

function NoBucket({ title }: { readonly title: string }) {
  return (
    <Empty title={title}>
      <Link query={{ view: 'quotas' }}>Show all buckets</Link>
    </Empty>
  );
}

function OneBucket({ bucket }: { readonly bucket: QuotaBucket }) {
  const nowMs = useNow();
  const [changing, change] = useState<Changing | null>(null);
  const { domain, entries, proxies, proxies_total: count } = bucket;
  const descriptor = { domain, entries };
  return (
    <>
      <header class="view-head">
        <div>
          <p class="eyebrow">What do proxies get of this bucket?</p>
          <h1 class="break">
            <span class="limit-domain quiet">{domain} › </span>
            {descriptorText(entries)} <VerdictChip bucket={bucket} />
          </h1>
        </div>
        <div class="actions">
          <Link class="button button-plain" query={explainQuery(descriptor)}>
            Explain
          </Link>
          <Button onClick={() => change({ kind: 'override', descriptor })}>Override…</Button>
          <Button onClick={() => change({ kind: 'pass', descriptor })}>Let pass…</Button>
          <Button kind="caution" onClick={() => change({ kind: 'ban', descriptor })}>
            Ban…
          </Button>
        </div>
      </header>
      <div class="limit-lists">
        <BucketFacts bucket={bucket} />
        <BucketLimits bucket={bucket} />
      </div>
      <Panel title="Proxies" note={formatCount(count)} flush>
        <Table
          label="Proxies"
          columns={proxyColumns(nowMs)}
          rows={proxies.map((proxy, place) => ({ ...proxy, place }))}
          rowKey={({ place }) => String(place)}
        />
      </Panel>
      {count > proxies.length && (
        <p class="quiet">{formatCount(count - proxies.length)} more with less demand.</p>
      )}
      {changing !== null && <ChangeDialog changing={changing} onClose={() => change(null)} />}
    </>
  );
}

function BucketFacts({ bucket }: { readonly bucket: QuotaBucket }) {
  const nowMs = useNow();
  const { verdict, per_second: perSecond, rate, cap, grant_seconds: seconds, more_from: from } = bucket;
  return (
    <Panel title="Requests">
      <Facts
        items={[
          [
            'Demand',
            rate === null
              ? formatRate(perSecond.demand)
              : `${formatRate(perSecond.demand)} of ${formatRate(rate)}`,
          ],
          ['Allowed', formatRate(perSecond.allowed)],
          ['Denied', formatRate(perSecond.denied)],
          ['Proxies get', answerText(bucket)],
          ...(verdict === 'divided' && rate !== null && cap !== null
            ? [['One proxy', `at most ${formatRate(cap)}`] as const]
            : []),
          ...(verdict === 'divided' ? [['Each time', `for ${formatCount(seconds)}s`] as const] : []),
          ...(from === null ? [] : [['More', <Time iso={from} nowMs={nowMs} />] as const]),
        ]}
      />
    </Panel>
  );
}

function answerText({ verdict, unserved, rate }: QuotaBucket): string {
  if (unserved) return 'all requests allowed: the rule has leases or a penalty, which proxies cannot share';
  if (verdict === 'allow_all') return 'all requests allowed';
  if (verdict === 'deny_all') return 'all requests denied';
  return rate === null ? 'a part of the limit' : `${formatRate(rate)} together`;
}
