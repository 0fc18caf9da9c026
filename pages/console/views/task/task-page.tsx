import { useState } from 'preact/hooks';
import { Facts, Panel } from '../../../design/panel.tsx';
import { Link, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { Time } from '../../../design/time.tsx';
import { ActorName } from '../../actor-name.tsx';
import type { Task } from '../../api.ts';
import { useNow } from '../../now.ts';
import { usePolled } from '../../polled.ts';
import { StatusChip } from '../../status-chip.tsx';
import { Content } from './content.tsx';
import { TaskActions } from './task-actions.tsx';
import { Timeline } from './timeline.tsx';
import { waitingText } from './waiting.ts';
import { readWholeTask, type WholeTask } from './whole-task.ts';

/** One task: what happened to it, why it waits, what it contains, and what can be done. */
export function TaskPage() {
  const { id = '' } = useRoute().query;
  const {
    answer: task,
    error,
    reload,
  } = usePolled<WholeTask>(`/tasks/${encodeURIComponent(id)}`, {
    read: readWholeTask,
  });
  if (task === null) {
    if (error === null) return <Skeleton lines={12} />;
    return error.status === 404 ? <NoTask id={id} /> : <Failure error={error} onRetry={reload} />;
  }
  return <TaskView key={id} task={task} onChanged={reload} />;
}

function TaskView({ task, onChanged }: { readonly task: WholeTask; readonly onChanged: () => void }) {
  const now = useNow();
  const [changes, setChanges] = useState(0);
  const changed = () => {
    setChanges(changes + 1);
    onChanged();
  };
  return (
    <>
      <header class="view-head">
        <div class="task-title">
          <h1>{questionOf(task)}</h1>
          <p class="quiet">
            <StatusChip status={task.status} /> <code>{task.id}</code>
          </p>
        </div>
        <TaskActions task={task} onChanged={changed} />
      </header>
      <Outcome task={task} nowMs={now} />
      <div class="task-columns">
        <div class="stack">
          <Timeline task={task} changes={changes} nowMs={now} />
        </div>
        <div class="stack">
          <Panel title="Task">
            <Facts items={factsOf(task, now)} />
          </Panel>
          <Content task={task} />
        </div>
      </div>
    </>
  );
}

function NoTask({ id }: { readonly id: string }) {
  return (
    <Empty title={`There is no task ${id}`}>
      It may have been deleted, or its retention has ended.{' '}
      <Link query={{ view: 'tasks' }}>Show all tasks</Link>
    </Empty>
  );
}

function questionOf({ status, waiting_for }: Task): string {
  if (waiting_for)
    return status === 'retry' ? 'Why has this task not run again?' : 'Why has this task not run?';
  switch (status) {
    case 'failed':
      return 'Why did this task fail?';
    case 'retry':
      return 'Why is this task retried?';
    case 'expired':
      return 'Why did this task not run?';
    default:
      return 'What happens to this task?';
  }
}

/** The answer to the question of the title, where there is one. A task that is retried may wait as well. */
function Outcome({ task, nowMs }: { readonly task: Task; readonly nowMs: number }) {
  return (
    <>
      <Waiting task={task} nowMs={nowMs} />
      <Failed task={task} nowMs={nowMs} />
    </>
  );
}

function Waiting({ task, nowMs }: { readonly task: Task; readonly nowMs: number }) {
  const { waiting_for: reason, waiting_since: since } = task;
  if (!reason) return null;
  const [why, what] = waitingText(reason);
  return (
    <div class="outcome outcome-near">
      <strong>{why}</strong> {what}{' '}
      {since && (
        <span class="quiet">
          Due <Time iso={since} nowMs={nowMs} />.
        </span>
      )}
    </div>
  );
}

function Failed({ task, nowMs }: { readonly task: Task; readonly nowMs: number }) {
  const { last_error: error, status, waiting_for: waits, next_attempt_at: next } = task;
  if (status === 'expired') {
    return (
      <div class="outcome outcome-rejected">
        <strong>It had not started when it expired.</strong>{' '}
        {task.expires_at !== null && <Time iso={task.expires_at} nowMs={nowMs} />}
      </div>
    );
  }
  if (error === null || (status !== 'failed' && status !== 'retry')) return null;
  return (
    <div class="outcome outcome-rejected">
      <strong>{error.code}</strong> {error.message}{' '}
      {status === 'failed' && (
        <span class="quiet">It has no further attempts. Correct the cause, and retry the task.</span>
      )}
      {status === 'retry' && !waits && next !== null && (
        <span class="quiet">
          Next attempt <Time iso={next} nowMs={nowMs} />.
        </span>
      )}
    </div>
  );
}

function factsOf(task: Task, nowMs: number): Parameters<typeof Facts>[0]['items'] {
  const time = (iso: string) => <Time iso={iso} nowMs={nowMs} />;
  const text = (name: string, value: string | null) => (value === null ? [] : [[name, value] as const]);
  const taskLink = (name: string, id: string | null) =>
    id === null ? [] : [[name, <Link query={{ view: 'task', id }}>{id}</Link>] as const];
  const at = (name: string, iso: string | null) => (iso === null ? [] : [[name, time(iso)] as const]);
  return [
    ['Worker', <Link query={{ view: 'worker', id: task.worker_id }}>{task.worker}</Link>],
    ...text('Type', task.type),
    ...text('Key', task.key),
    ...text('Group', task.group),
    ...(task.tags.length === 0 ? [] : [['Tags', task.tags.join(', ')] as const]),
    ['Priority', task.priority],
    [
      'Attempts',
      `${task.attempt} of ${task.max_attempts}${task.deferrals > 0 ? `, ${task.deferrals} deferred` : ''}`,
    ],
    ['Timeout', task.timeout],
    ['Run at', time(task.run_at)],
    ...at('Next attempt', task.next_attempt_at),
    ...at('Expires', task.expires_at),
    ...at('Asked to stop', task.cancel_requested_at),
    ...taskLink('Held by', task.held_by),
    ...taskLink('Reports on', task.callback_of),
    ...(task.schedule_id === null
      ? []
      : [
          [
            'Schedule',
            <Link query={{ view: 'schedule', id: task.schedule_id }}>{task.schedule_id}</Link>,
          ] as const,
        ]),
    ...Object.entries(task.metadata).map(([name, value]) => [`metadata ${name}`, value] as const),
    [
      'Created',
      <>
        {time(task.created_at)} by <ActorName actor={task.created_by} />
      </>,
    ],
    ...at('Finished', task.finished_at),
  ];
}
