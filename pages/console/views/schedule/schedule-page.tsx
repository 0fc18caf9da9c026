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
import { RunTimes } from '../schedules/preview.tsx';
import { type Schedule, timingText } from '../schedules/schedule.ts';
import { ScheduleState } from '../schedules/schedules.tsx';
import { taskColumns } from '../tasks/task-columns.tsx';
import { type ScheduleAction, ScheduleDialog } from './schedule-dialog.tsx';

/** One schedule: its next times, its tasks, and what was left out. */
export function SchedulePage() {
  const { id = '' } = useRoute().query;
  const { answer, error, reload } = usePolled<Schedule>(`/schedules/${encodeURIComponent(id)}`);
  if (answer === null) {
    if (error === null) return <Skeleton lines={12} />;
    if (error.status !== 404) return <Failure error={error} onRetry={reload} />;
    return (
      <Empty title={`There is no schedule ${id}`}>
        <Link query={{ view: 'schedules' }}>Show all schedules</Link>
      </Empty>
    );
  }
  return <ScheduleView key={answer.id} schedule={answer} onChanged={reload} />;
}

interface ScheduleViewProps {
  readonly schedule: Schedule;
  readonly onChanged: () => void;
}

function ScheduleView({ schedule, onChanged }: ScheduleViewProps) {
  const now = useNow();
  const mayChange = useAllowed('schedules:write');
  const mayTrigger = useAllowed('tasks:write');
  const [open, setOpen] = useState<ScheduleAction | null>(null);
  const done = (action: ScheduleAction) => {
    setOpen(null);
    if (action === 'delete') navigate('/', { view: 'schedules' });
    else onChanged();
  };
  return (
    <>
      <header class="view-head">
        <div class="task-title">
          <h1>When does {schedule.name} run?</h1>
          <p class="quiet">
            <ScheduleState schedule={schedule} /> {timingText(schedule)}
          </p>
        </div>
        <div class="actions">
          {mayTrigger && <Button onClick={() => setOpen('trigger')}>Trigger now</Button>}
          {mayChange && (
            <>
              <Button onClick={() => setOpen(schedule.paused ? 'resume' : 'pause')}>
                {schedule.paused ? 'Resume' : 'Pause'}
              </Button>
              <Button onClick={() => setOpen('delete')}>Delete</Button>
            </>
          )}
        </div>
      </header>
      {schedule.paused && (
        <div class="outcome outcome-near">
          <strong>Paused{schedule.pause_reason ? `: ${schedule.pause_reason}` : ''}.</strong> It creates no
          tasks until it is resumed.
        </div>
      )}
      <div class="task-columns">
        <div class="stack">
          <Panel title="Next runs" {...(schedule.paused && { note: 'after the pause' })}>
            <RunTimes timezone={schedule.timezone} runs={schedule.next_runs.map(at => ({ at }))} />
          </Panel>
          <Runs schedule={schedule} nowMs={now} />
        </div>
        <Panel title="Schedule">
          <Facts items={factsOf(schedule, now)} />
        </Panel>
      </div>
      {open !== null && (
        <ScheduleDialog
          action={open}
          schedule={schedule}
          onClose={() => setOpen(null)}
          onDone={() => done(open)}
        />
      )}
    </>
  );
}

function Runs({ schedule, nowMs }: { readonly schedule: Schedule; readonly nowMs: number }) {
  const { answer, error, reload } = usePolled<ListPage<Task>>(`/tasks?schedule=${schedule.id}&limit=10`);
  return (
    <Panel
      title="Last tasks"
      actions={<Link query={{ view: 'tasks', schedule: schedule.name }}>All tasks of this schedule</Link>}
      flush
    >
      {answer === null && error === null && <Skeleton lines={4} />}
      {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
      {answer?.data.length === 0 && <Empty title="It has created no tasks yet" />}
      {answer !== null && answer.data.length > 0 && (
        <Table
          label="Last tasks"
          columns={taskColumns(nowMs).filter(({ key }) =>
            ['status', 'task', 'why', 'attempts', 'created'].includes(key),
          )}
          rows={answer.data}
          rowKey={({ id }) => id}
          onOpen={({ id }) => navigate('/', { view: 'task', id })}
        />
      )}
    </Panel>
  );
}

function factsOf(schedule: Schedule, nowMs: number): Parameters<typeof Facts>[0]['items'] {
  const { last_run: last, catch_up: missed } = schedule;
  const at = (name: string, iso: string | null) =>
    iso === null ? [] : [[name, <Time iso={iso} nowMs={nowMs} />] as const];
  return [
    ['Worker', <Link query={{ view: 'worker', id: schedule.worker_id }}>{schedule.worker}</Link>],
    ...(schedule.task.type === null ? [] : [['Type', schedule.task.type] as const]),
    ['Time zone', schedule.timezone],
    ['If the last one still runs', schedule.overlap.replaceAll('_', ' ')],
    ['Missed runs', missed.mode === 'none' ? 'left out' : `${missed.mode}, up to ${missed.window} ago`],
    ...(schedule.jitter === '0s' ? [] : [['Random delay', `up to ${schedule.jitter}`] as const]),
    ...at('Starts', schedule.start_at),
    ...at('Ends', schedule.end_at),
    ...(schedule.runs_left === null ? [] : [['Runs left', formatCount(schedule.runs_left)] as const]),
    ['Created tasks', formatCount(schedule.fired)],
    [
      'Left out',
      `${formatCount(schedule.skipped_overlap)} for overlap, ${formatCount(schedule.skipped_window)} missed`,
    ],
    ...(last === null
      ? []
      : [
          [
            'Last run',
            <>
              <Link query={{ view: 'task', id: last.task_id }}>{last.status ?? 'task'}</Link>{' '}
              <Time iso={last.scheduled_for} nowMs={nowMs} />
            </>,
          ] as const,
        ]),
    ['Created', <Time iso={schedule.created_at} nowMs={nowMs} />],
  ];
}
