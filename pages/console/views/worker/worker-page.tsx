import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { formatCount } from '../../../design/format.ts';
import { Facts, Panel } from '../../../design/panel.tsx';
import { Link, navigate, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { Table } from '../../../design/table.tsx';
import { Time } from '../../../design/time.tsx';
import type { ListPage, Task } from '../../api.ts';
import { useNow } from '../../now.ts';
import { usePolled } from '../../polled.ts';
import { useAllowed } from '../../session.ts';
import { taskColumns } from '../tasks/task-columns.tsx';
import { boundsText, targetText, type Worker } from '../workers/worker.ts';
import { WorkerState } from '../workers/workers.tsx';
import { DeleteDialog, PauseDialog } from './change-dialogs.tsx';
import { Secrets } from './secrets.tsx';
import { TestPanel } from './test-panel.tsx';
import { WorkerUsage } from './worker-usage.tsx';

/** One worker: whether it keeps up, its last errors, its secrets, and a test. */
export function WorkerPage() {
  const { id = '' } = useRoute().query;
  const { answer: worker, error, reload } = usePolled<Worker>(`/workers/${encodeURIComponent(id)}`);
  if (worker === null) {
    if (error === null) return <Skeleton lines={12} />;
    if (error.status !== 404) return <Failure error={error} onRetry={reload} />;
    return (
      <Empty title={`There is no worker ${id}`}>
        <Link query={{ view: 'workers' }}>Show all workers</Link>
      </Empty>
    );
  }
  return <WorkerView key={worker.id} worker={worker} onChanged={reload} />;
}

interface WorkerViewProps {
  readonly worker: Worker;
  readonly onChanged: () => void;
}

function WorkerView({ worker, onChanged }: WorkerViewProps) {
  const now = useNow();
  const mayChange = useAllowed('workers:write');
  const [open, setOpen] = useState<'pause' | 'delete' | null>(null);
  const close = () => setOpen(null);
  return (
    <>
      <header class="view-head">
        <div class="task-title">
          <h1>Does {worker.name} keep up?</h1>
          <p class="quiet">
            <WorkerState worker={worker} /> {targetText(worker)}
          </p>
        </div>
        {mayChange && (
          <div class="actions">
            <Button onClick={() => setOpen('pause')}>{worker.paused ? 'Resume' : 'Pause'}</Button>
            <Button onClick={() => setOpen('delete')}>Delete</Button>
          </div>
        )}
      </header>
      {worker.paused && (
        <div class="outcome outcome-near">
          <strong>Paused{worker.pause_reason ? `: ${worker.pause_reason}` : ''}.</strong> None of its tasks
          start
          {worker.resume_at === null ? ' until it is resumed' : ''}.{' '}
          {worker.resume_at !== null && (
            <>
              It resumes <Time iso={worker.resume_at} nowMs={now} />.
            </>
          )}
        </div>
      )}
      <Counts worker={worker} />
      <WorkerUsage id={worker.id} />
      <div class="task-columns">
        <div class="stack">
          <LastErrors worker={worker} nowMs={now} />
          {worker.mode === 'push' && mayChange && <TestPanel worker={worker} />}
        </div>
        <div class="stack">
          <Panel title="Worker">
            <Facts items={factsOf(worker, now)} />
          </Panel>
          <Secrets worker={worker} mayChange={mayChange} nowMs={now} />
        </div>
      </div>
      {open === 'pause' && <PauseDialog worker={worker} onClose={close} onDone={onChanged} />}
      {open === 'delete' && (
        <DeleteDialog worker={worker} onClose={close} onDone={() => navigate('/', { view: 'workers' })} />
      )}
    </>
  );
}

function Counts({ worker: { name, health } }: { readonly worker: Worker }) {
  if (health === undefined) return null;
  const counts = [
    ['running', health.in_flight, 'running'],
    ['waiting', health.waiting, 'scheduled,retry'],
    ['paused', health.paused, 'paused'],
    ['failed', health.failed, 'failed'],
  ] as const;
  return (
    <ul class="counts">
      {counts.map(([label, count, status]) => (
        <li key={label} class={`status-count status-${label}${count > 0 ? ' status-some' : ''}`}>
          <Link query={{ view: 'tasks', worker: name, status }}>{label}</Link>
          <strong>{formatCount(count)}</strong>
        </li>
      ))}
    </ul>
  );
}

function LastErrors({ worker, nowMs }: { readonly worker: Worker; readonly nowMs: number }) {
  const path = `/tasks?worker=${encodeURIComponent(worker.name)}&status=failed,retry&limit=10`;
  const { answer, error, reload } = usePolled<ListPage<Task>>(path);
  return (
    <Panel title="Last errors" note="tasks that failed, or are retried" flush>
      {answer === null && error === null && <Skeleton lines={4} />}
      {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
      {answer?.data.length === 0 && <Empty title="No task of this worker has failed" />}
      {answer !== null && answer.data.length > 0 && (
        <Table
          label="Last errors"
          columns={taskColumns(nowMs).filter(({ key }) => ['status', 'task', 'why', 'created'].includes(key))}
          rows={answer.data}
          rowKey={({ id }) => id}
          onOpen={({ id }) => navigate('/', { view: 'task', id })}
        />
      )}
    </Panel>
  );
}

function factsOf(worker: Worker, nowMs: number): Parameters<typeof Facts>[0]['items'] {
  const { mode, retry, group_concurrency: groups, auto_pause: auto } = worker;
  return [
    ['Runs', boundsText(worker)],
    ...(groups === null
      ? []
      : [['Each group', `${groups} at once${worker.group_order === 'fifo' ? ', in order' : ''}`] as const]),
    mode === 'push' ? ['Timeout', worker.timeout] : ['Lease', worker.lease],
    ['Attempts', `at most ${retry.max_attempts}`],
    ['Priority', worker.priority],
    ...(worker.no_retry_on.length === 0 ? [] : [['No retry on', worker.no_retry_on.join(', ')] as const]),
    ...(auto === null ? [] : [['Pauses itself', `after ${auto.after} of failures only`] as const]),
    ['Created', <Time iso={worker.created_at} nowMs={nowMs} />],
    ['Changed', <Time iso={worker.updated_at} nowMs={nowMs} />],
    ['Id', <code>{worker.id}</code>],
  ];
}
