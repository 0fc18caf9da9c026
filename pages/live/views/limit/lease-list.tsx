import { Button } from '../../../design/button.tsx';
import { formatCount } from '../../../design/format.ts';
import { Failure, Skeleton } from '../../../design/states.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import { Time } from '../../../design/time.tsx';
import type { Descriptor } from '../../descriptor.ts';
import { type Lease, useLeases } from '../../leases.ts';
import { useNow } from '../../live-state.ts';

interface LeaseListProps {
  readonly descriptor: Descriptor;
  /** Begins to release the lease of a holder. */
  readonly onRelease: (holder: string) => void;
}

/** The holders of the leases of a key, a table for each limit that has any. */
export function LeaseList({ descriptor, onRelease }: LeaseListProps) {
  const { answer, error, reload } = useLeases(descriptor);
  const nowMs = useNow();
  if (answer === null)
    return error === null ? <Skeleton lines={2} /> : <Failure error={error} onRetry={reload} />;
  const limits = answer.limits.filter(({ leases }) => leases.length > 0);
  return (
    <>
      {limits.map(({ key, rule, leases, count = leases.length }) => (
        <div key={key}>
          {limits.length > 1 && <p class="quiet">{rule ?? key}</p>}
          <Table
            label={`Leases of ${rule ?? key}`}
            columns={columns(nowMs, onRelease)}
            rows={leases.map((lease, i) => ({ ...lease, i }))}
            rowKey={({ holder, i }) => (holder === '' ? String(i) : `=${holder}`)}
          />
          {count > leases.length && <p class="quiet">{formatCount(count - leases.length)} more end later.</p>}
        </div>
      ))}
    </>
  );
}

type Row = Lease & { readonly i: number };

function columns(nowMs: number, onRelease: (holder: string) => void): readonly Column<Row>[] {
  return [
    {
      key: 'holder',
      title: 'Holder',
      grows: true,
      cell: ({ holder }) =>
        holder === '' ? <span class="quiet">none</span> : <code title={holder}>{holder}</code>,
    },
    { key: 'hits', title: 'Holds', kind: 'number', cell: ({ hits }) => formatCount(hits) },
    { key: 'ends', title: 'Ends', cell: ({ ends }) => <Time iso={ends} nowMs={nowMs} /> },
    {
      key: 'release',
      title: 'Action',
      cell: ({ holder }) =>
        holder !== '' && (
          <Button size="small" label={`Release the lease of ${holder}`} onClick={() => onRelease(holder)}>
            Release…
          </Button>
        ),
    },
  ];
}
