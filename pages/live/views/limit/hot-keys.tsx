import { useState } from 'preact/hooks';
import { Choices } from '../../../design/choices.tsx';
import { formatCount } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { navigate, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import type { HotKey, HotKeyList, LimitDetails } from '../../api.ts';
import type { Changing } from '../../change/change-dialog.tsx';
import { usePolled } from '../../polled.ts';
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
          columns={columns(open)}
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

function columns(open: (key: HotKey) => void): readonly Column<HotKey>[] {
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
    { key: 'hits', title: 'Hits', kind: 'number', cell: ({ hits }) => formatCount(hits) },
    {
      key: 'refused',
      title: 'Over the limit',
      kind: 'number',
      cell: ({ refused }) => <span class={refused === 0 ? 'quiet' : undefined}>{formatCount(refused)}</span>,
    },
  ];
}
