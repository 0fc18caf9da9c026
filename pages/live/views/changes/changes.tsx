import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { formatCount } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import { Time } from '../../../design/time.tsx';
import { ChangeDialog, type Changing } from '../../change/change-dialog.tsx';
import type { SteeringRecord } from '../../change/record.ts';
import { RecordChip } from '../../change/record-chip.tsx';
import { useRecords } from '../../change/records.ts';
import { RemoveDialog } from '../../change/remove-dialog.tsx';
import { descriptorText } from '../../descriptor.ts';
import { useNow } from '../../live-state.ts';

const NOTHING: Changing['descriptor'] = { domain: '', entries: [] };

/** The overrides, bans and passes that are active. */
export function Changes() {
  const { records, error, reload } = useRecords();
  const nowMs = useNow();
  const [changing, change] = useState<Changing | null>(null);
  const [removing, remove] = useState<SteeringRecord | null>(null);
  const closed = () => {
    change(null);
    remove(null);
    reload();
  };
  const begin = (kind: Changing['kind']) => change({ kind, descriptor: NOTHING });
  return (
    <>
      <div class="title-line">
        <h1>What have operators changed?</h1>
        <div class="actions">
          <Button onClick={() => begin('override')}>Override…</Button>
          <Button onClick={() => begin('pass')}>Let pass…</Button>
          <Button kind="caution" onClick={() => begin('ban')}>
            Ban…
          </Button>
        </div>
      </div>
      <Panel title="Active now" note={records === null ? undefined : formatCount(records.length)} flush>
        {records === null && error === null && <Skeleton lines={6} />}
        {records === null && error !== null && <Failure error={error} onRetry={reload} />}
        {records !== null && records.length === 0 && (
          <Empty title="Nothing is changed">
            Overrides, bans and passes change decisions at once, until they end. On the command line:{' '}
            <code>sluice override</code>, <code>sluice ban</code>, <code>sluice pass</code>
          </Empty>
        )}
        {records !== null && records.length > 0 && (
          <Table
            label="Active changes"
            columns={columns(nowMs, remove)}
            rows={records}
            rowKey={({ id }) => id}
          />
        )}
      </Panel>
      {changing !== null && <ChangeDialog changing={changing} onClose={closed} />}
      {removing !== null && <RemoveDialog record={removing} onClose={closed} />}
    </>
  );
}

function columns(nowMs: number, remove: (record: SteeringRecord) => void): readonly Column<SteeringRecord>[] {
  return [
    { key: 'kind', title: 'Change', cell: record => <RecordChip record={record} /> },
    {
      key: 'descriptor',
      title: 'Requests with',
      grows: true,
      cell: ({ domain, entries }) => (
        <span class="one-line record-target" title={`${descriptorText(entries)} in ${domain}`}>
          <span class="quiet">{domain} › </span>
          {descriptorText(entries)}
        </span>
      ),
    },
    { key: 'until', title: 'Ends', cell: ({ until }) => <Time iso={until} nowMs={nowMs} /> },
    {
      key: 'reason',
      title: 'Reason',
      hides: 'narrow',
      cell: ({ reason }) => (
        <span class="record-reason" title={reason}>
          {reason}
        </span>
      ),
    },
    {
      key: 'by',
      title: 'By',
      hides: 'medium',
      cell: ({ by, created }) => (
        <span class="quiet record-by" title={created}>
          {by}
        </span>
      ),
    },
    {
      key: 'undo',
      title: 'Action',
      cell: record => (
        <Button
          size="small"
          label={`Undo ${record.kind} of ${descriptorText(record.entries)}`}
          onClick={() => remove(record)}
        >
          Undo…
        </Button>
      ),
    },
  ];
}
