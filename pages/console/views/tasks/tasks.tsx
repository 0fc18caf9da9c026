import { Chip } from '../../../design/chip.tsx';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import { Time } from '../../../design/time.tsx';
import { useNow } from '../../now.ts';
import { usePolled } from '../../polled.ts';

interface Task {
  readonly id: string;
  readonly worker: string;
  readonly status: string;
  readonly created_at: string;
}

/** The tasks of the account. */
export function Tasks() {
  return (
    <>
      <header class="view-head">
        <h1>What happens to the tasks?</h1>
      </header>
      <TaskTable />
    </>
  );
}

function TaskTable() {
  const now = useNow();
  const { answer, error, reload } = usePolled<{ readonly data: readonly Task[] }>('/tasks');
  if (answer === null)
    return error === null ? <Skeleton lines={10} /> : <Failure error={error} onRetry={reload} />;
  if (answer.data.length === 0) return <Empty title="No tasks yet" />;
  const columns: readonly Column<Task>[] = [
    { key: 'id', title: 'Task', grows: true, cell: ({ id }) => <code class="one-line">{id}</code> },
    { key: 'worker', title: 'Worker', cell: ({ worker }) => worker },
    { key: 'status', title: 'Status', cell: ({ status }) => <Chip kind="neutral">{status}</Chip> },
    {
      key: 'age',
      title: 'Created',
      kind: 'number',
      cell: ({ created_at }) => <Time iso={created_at} nowMs={now} />,
    },
  ];
  return <Table label="Tasks" columns={columns} rows={answer.data} rowKey={({ id }) => id} />;
}
