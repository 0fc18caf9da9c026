import { Link } from '../../../design/route.ts';
import type { Column } from '../../../design/table.tsx';
import { Time } from '../../../design/time.tsx';
import type { Task } from '../../api.ts';
import { StatusChip } from '../../status-chip.tsx';

/** Columns of tasks in lists. */
export function taskColumns(nowMs: number): readonly Column<Task>[] {
  return [
    { key: 'status', title: 'Status', cell: ({ status }) => <StatusChip status={status} /> },
    {
      key: 'task',
      title: 'Task',
      grows: true,
      cell: task => (
        <span class="task-cell">
          <Link query={{ view: 'task', id: task.id }} label={`${shortId(task.id)}, task ${task.id}`}>
            <code>{shortId(task.id)}</code>
          </Link>
          <span class="one-line" title={nameOf(task)}>
            {nameOf(task)}
          </span>
        </span>
      ),
    },
    {
      key: 'worker',
      title: 'Worker',
      hides: 'narrow',
      cell: ({ worker }) => <span class="one-line worker-cell">{worker}</span>,
    },
    {
      key: 'why',
      title: 'Last error, or why it waits',
      hides: 'medium',
      cell: task => (
        <span class="one-line why-cell" title={whyOf(task)}>
          {whyOf(task)}
        </span>
      ),
    },
    {
      key: 'attempts',
      title: 'Attempts',
      kind: 'number',
      hides: 'narrow',
      cell: ({ attempt, max_attempts }) => `${attempt} of ${max_attempts}`,
    },
    {
      key: 'due',
      title: 'Due',
      kind: 'number',
      hides: 'medium',
      cell: ({ next_attempt_at }) =>
        next_attempt_at === null ? (
          <span class="quiet">–</span>
        ) : (
          <Time iso={next_attempt_at} nowMs={nowMs} />
        ),
    },
    {
      key: 'created',
      title: 'Created',
      kind: 'number',
      cell: ({ created_at }) => <Time iso={created_at} nowMs={nowMs} />,
    },
  ];
}

/** The end of an id, which differs most between tasks that were created together. */
function shortId(id: string): string {
  return id.slice(-8);
}

/** What distinguishes a task from others: its type, key, group and tags. */
function nameOf({ type, key, group, tags }: Task): string {
  return [type, key, group, ...tags].filter(Boolean).join(' · ');
}

/** The error comes first: a task that is retried may wait as well, and the end of a long text is cut. */
function whyOf({ status, last_error, waiting_for }: Task): string {
  const error =
    last_error === null || status === 'succeeded' ? [] : [`${last_error.code}: ${last_error.message}`];
  const wait = waiting_for ? [`waits: ${waiting_for.replaceAll('_', ' ')}`] : [];
  return [...error, ...wait].join(' · ');
}
