import { Button } from '../../../design/button.tsx';
import { Chip } from '../../../design/chip.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { formatCount, formatDuration } from '../../../design/format.ts';
import { Facts } from '../../../design/panel.tsx';
import { Link } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { Time } from '../../../design/time.tsx';
import type { HotKey, LimitDetails } from '../../api.ts';
import type { Changing } from '../../change/change-dialog.tsx';
import { type Counters, useCounters } from '../../counters.ts';
import type { Descriptor } from '../../descriptor.ts';
import { useNow } from '../../live-state.ts';
import { explainQuery } from '../explain/explanation.ts';
import { LeaseList } from './lease-list.tsx';

interface KeyDialogProps {
  readonly limit: LimitDetails;
  readonly hot: HotKey;
  /** Begins a change for the key. */
  readonly onChange: (changing: Changing) => void;
  readonly onClose: () => void;
}

/** A key: how much of its limits it has used, and the changes for it. */
export function KeyDialog({ limit, hot, onChange, onClose }: KeyDialogProps) {
  const { key, domain, entries } = hot;
  const descriptor: Descriptor | null = entries === null ? null : { domain, entries };
  const { answer, error, reload } = useCounters(descriptor);
  return (
    <Dialog title={`Key ${key}`} onClose={onClose}>
      {descriptor === null ? (
        <Empty title="The entries of this key are not known">
          Keys of more than 150 bytes are cut off, and a rule with <code>share_threshold</code> counts several
          keys together. Use <code>sluice counters get</code> with the whole descriptor.
        </Empty>
      ) : (
        <>
          {answer === null && error === null && <Skeleton lines={3} />}
          {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
          {answer !== null && <CountersOf counters={answer} />}
          {answer?.counters.some(({ held }) => held !== undefined) && (
            <LeaseList
              descriptor={descriptor}
              onRelease={holder => onChange({ kind: 'release', descriptor, holder })}
            />
          )}
          <KeyActions limit={limit} descriptor={descriptor} onChange={onChange} />
        </>
      )}
    </Dialog>
  );
}

function CountersOf({ counters: { counters, why } }: { readonly counters: Counters }) {
  const nowMs = useNow();
  if (counters.length === 0) return <Empty title="Nothing is counted for this key">{why}</Empty>;
  return (
    <>
      {counters.map(counter => {
        const {
          key,
          count,
          requests_per_unit: limit,
          over,
          remaining,
          algorithm,
          reset_seconds: reset,
          window_end: windowEnd,
          penalized_until: penalizedUntil = null,
          past = [],
          spent = 0,
          held,
        } = counter;
        // A limit on what runs at the same time has no window.
        const hasEnd = windowEnd !== undefined || reset !== undefined || penalizedUntil !== null;
        // Sliding windows and token buckets have no end, but a time until more hits fit.
        const ends = penalizedUntil ?? (algorithm === 'fixed_window' ? windowEnd : undefined);
        return (
          <Facts
            key={key}
            items={[
              [
                'Counted',
                <>
                  {count === null ? 'unknown' : `${formatCount(count)} of ${formatCount(limit)}`}{' '}
                  {over === true && <Chip kind="rejected">Over the limit</Chip>}
                  {penalizedUntil !== null && <Chip kind="rejected">Penalized</Chip>}
                </>,
              ],
              ...(held === undefined
                ? []
                : [['Leases', `${formatCount(held)} held, ${formatCount(spent)} spent`] as const]),
              ['Remaining', remaining === null ? 'unknown' : formatCount(remaining)],
              ...(hasEnd
                ? [
                    [
                      penalizedUntil === null ? 'Window ends' : 'Penalty ends',
                      endOf(ends, reset, nowMs),
                    ] as const,
                  ]
                : []),
              ...(past.length === 0
                ? []
                : [['Windows before', past.map(window => formatCount(window.count)).join(', ')] as const]),
              ['Counter', <code class="break">{key}</code>],
            ]}
          />
        );
      })}
    </>
  );
}

function endOf(ends: string | undefined, resetSeconds: number | undefined, nowMs: number) {
  if (ends !== undefined) return <Time iso={ends} nowMs={nowMs} />;
  return resetSeconds === undefined ? '–' : `in ${formatDuration(resetSeconds * 1000)}`;
}

interface KeyActionsProps {
  readonly limit: LimitDetails;
  readonly descriptor: Descriptor;
  readonly onChange: (changing: Changing) => void;
}

function KeyActions({ limit, descriptor, onChange }: KeyActionsProps) {
  const begin = (kind: Changing['kind']) => onChange({ kind, descriptor, limit: limit.requests_per_unit });
  return (
    <div class="actions">
      <Link class="button button-plain" query={explainQuery(descriptor)}>
        Explain
      </Link>
      <Button onClick={() => begin('reset')}>Reset…</Button>
      {!limit.unlimited && <Button onClick={() => begin('override')}>Override…</Button>}
      <Button onClick={() => begin('pass')}>Let pass…</Button>
      <Button kind="caution" onClick={() => begin('ban')}>
        Ban…
      </Button>
    </div>
  );
}
