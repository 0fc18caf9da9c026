import { useState } from 'preact/hooks';
import { Choices } from '../../../design/choices.tsx';
import { formatAgo, formatCount } from '../../../design/format.ts';
import { Meter } from '../../../design/meter.tsx';
import { Panel } from '../../../design/panel.tsx';
import { navigate, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import type { HotKey, HotKeyList, LimitDetails } from '../../api.ts';
import type { Changing } from '../../change/change-dialog.tsx';
import { useNow } from '../../live-state.ts';
import { usePolled } from '../../polled.ts';
import { type KeyCount, useKeyCounts } from './key-counts.ts';
import { KeyDialog } from './key-dialog.tsx';

const COUNT = 20;

const SPANS = { minute: 'Last minute', hour: 'Last hour' } as const;
type Span = keyof typeof SPANS;

interface HotKeysProps {
  readonly limit: LimitDetails;
  readonly onChange: (changing: Changing) => void;
}

/** The keys with the most hits. A key opens to its counters and the changes for it. */
export function HotKeys({ limit, onChange }: HotKeysProps) {
  const { query } = useRoute();
  const span: Span = query['span'] === 'hour' ? 'hour' : 'minute';
  const [opened, open] = useState<HotKey | null>(null);
  const { answer, error, reload } = usePolled<HotKeyList>(
    `/limits/${limit.number}/keys?span=${span}&limit=${COUNT}`,
  );
  const counts = useKeyCounts(limit, answer?.keys ?? []);
  const nowMs = useNow();
  const most = Math.max(0, ...(answer?.keys ?? []).map(key => key.error));
  return (
    <Panel
      title="Hottest keys"
      note={most === 0 ? undefined : `± ${formatCount(most)} hits`}
      actions={
        <Choices
          label="Time"
          options={SPANS}
          value={span}
          onChoose={value => navigate('/', { ...query, span: value })}
        />
      }
      flush
    >
      {answer === null && error === null && <Skeleton lines={6} />}
      {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
      {answer !== null && answer.keys.length === 0 && (
        <Empty title={`No hits in the ${span === 'hour' ? 'last hour' : 'last minute'}`}>
          Keys appear here when requests reach this limit.
        </Empty>
      )}
      {answer !== null && answer.keys.length > 0 && (
        <Table
          label="Hottest keys"
          columns={columns(open, counts, nowMs)}
          rows={answer.keys}
          rowKey={({ key }) => key}
          onOpen={open}
          of={span}
        />
      )}
      {opened !== null && (
        <KeyDialog
          limit={limit}
          hot={opened}
          onChange={changing => {
            open(null);
            onChange(changing);
          }}
          onClose={() => open(null)}
        />
      )}
    </Panel>
  );
}

function columns(
  open: (key: HotKey) => void,
  counts: ReadonlyMap<string, KeyCount>,
  nowMs: number,
): readonly Column<HotKey>[] {
  return [
    {
      key: 'key',
      title: 'Key',
      grows: true,
      cell: hot => (
        <button type="button" class="text-button" title={hot.key} onClick={() => open(hot)}>
          {hot.key}
        </button>
      ),
    },
    {
      key: 'counted',
      title: 'Counted now',
      kind: 'number',
      cell: ({ key }) => <Counted counted={counts.get(key)} nowMs={nowMs} />,
    },
    { key: 'hits', title: 'Hits', kind: 'number', cell: ({ hits }) => formatCount(hits) },
    {
      key: 'refused',
      title: 'Over the limit',
      kind: 'number',
      hides: 'narrow',
      cell: ({ refused }) => <span class={refused === 0 ? 'quiet' : undefined}>{formatCount(refused)}</span>,
    },
  ];
}

interface CountedProps {
  readonly counted: KeyCount | undefined;
  readonly nowMs: number;
}

/** How much of the limit the key has used in the present window, and when that ends. */
function Counted({ counted, nowMs }: CountedProps) {
  if (counted === undefined) return <span class="quiet">–</span>;
  const { count, most, resetMs } = counted;
  const ends = resetMs > nowMs ? `, resets ${formatAgo(resetMs, nowMs)}` : '';
  return (
    <Meter
      share={most === 0 ? 1 : count / most}
    >{`${formatCount(count)} of ${formatCount(most)}${ends}`}</Meter>
  );
}
