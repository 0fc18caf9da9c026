import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { Chip } from '../../../design/chip.tsx';
import { Panel } from '../../../design/panel.tsx';
import { Link, navigate, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import { Time } from '../../../design/time.tsx';
import type { ListPage } from '../../api.ts';
import { useNow } from '../../now.ts';
import { usePolled } from '../../polled.ts';
import { useAllowed } from '../../session.ts';
import { NewSchedule } from './new-schedule.tsx';
import { type Schedule, timingText } from './schedule.ts';

/** All schedules, and when they run next. */
export function Schedules() {
  const { at = '' } = useRoute().query;
  const now = useNow();
  const mayChange = useAllowed('schedules:write');
  const [isNew, setNew] = useState(false);
  const cursor = at === '' ? '' : `&cursor=${encodeURIComponent(at)}`;
  const { answer, error, reload } = usePolled<ListPage<Schedule>>(`/schedules?limit=50${cursor}`, {
    everyMs: 5_000,
  });
  return (
    <>
      <header class="view-head">
        <h1>What runs next?</h1>
        {mayChange && (
          <Button kind="primary" onClick={() => setNew(true)}>
            New schedule
          </Button>
        )}
      </header>
      <Panel title="Schedules" flush>
        {answer === null && error === null && <Skeleton lines={6} />}
        {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
        {answer?.data.length === 0 && (
          <Empty title="There are no schedules yet">
            A schedule creates tasks at given times, in a time zone.
          </Empty>
        )}
        {answer !== null && answer.data.length > 0 && (
          <Table
            label="Schedules"
            columns={columns(now)}
            rows={answer.data}
            rowKey={({ id }) => id}
            onOpen={({ id }) => navigate('/', { view: 'schedule', id })}
          />
        )}
      </Panel>
      <nav class="pages" aria-label="Pages">
        {at !== '' && <Button onClick={() => navigate('/', { view: 'schedules' })}>Newest</Button>}
        {answer !== null && answer.next_cursor !== null && (
          <Button onClick={() => navigate('/', { view: 'schedules', at: answer.next_cursor ?? undefined })}>
            Older
          </Button>
        )}
      </nav>
      {isNew && (
        <NewSchedule
          onClose={() => setNew(false)}
          onCreated={id => navigate('/', { view: 'schedule', id })}
        />
      )}
    </>
  );
}

function columns(nowMs: number): readonly Column<Schedule>[] {
  return [
    {
      key: 'name',
      title: 'Schedule',
      cell: ({ id, name }) => <Link query={{ view: 'schedule', id }}>{name}</Link>,
    },
    { key: 'state', title: 'State', cell: schedule => <ScheduleState schedule={schedule} /> },
    {
      key: 'timing',
      title: 'Runs',
      grows: true,
      cell: schedule => (
        <span class="one-line" title={timingText(schedule)}>
          {timingText(schedule)}
        </span>
      ),
    },
    { key: 'worker', title: 'Worker', hides: 'medium', cell: ({ worker }) => worker },
    {
      key: 'last',
      title: 'Last run',
      kind: 'number',
      hides: 'narrow',
      cell: ({ last_run: last }) =>
        last === null ? <span class="quiet">–</span> : <Time iso={last.scheduled_for} nowMs={nowMs} />,
    },
    {
      key: 'next',
      title: 'Next run',
      kind: 'number',
      cell: ({ paused, next_runs: [next] }) =>
        next === undefined || paused ? <span class="quiet">–</span> : <Time iso={next} nowMs={nowMs} />,
    },
  ];
}

/** Whether a schedule runs, in a word. */
export function ScheduleState({ schedule: { paused, next_runs: next } }: { readonly schedule: Schedule }) {
  if (paused) return <Chip kind="near">paused</Chip>;
  return next.length === 0 ? <Chip kind="neutral">ended</Chip> : <Chip kind="allowed">active</Chip>;
}
