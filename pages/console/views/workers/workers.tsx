import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { Chip } from '../../../design/chip.tsx';
import { formatCount } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { Sparkline } from '../../../design/plots/sparkline.tsx';
import { Link, navigate, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import type { ListPage } from '../../api.ts';
import { usePolled } from '../../polled.ts';
import { useAllowed } from '../../session.ts';
import { NewWorker } from './new-worker.tsx';
import { boundsText, targetText, type Worker } from './worker.ts';

const COLUMNS: readonly Column<Worker>[] = [
  {
    key: 'name',
    title: 'Worker',
    cell: ({ id, name }) => <Link query={{ view: 'worker', id }}>{name}</Link>,
  },
  { key: 'state', title: 'State', cell: worker => <WorkerState worker={worker} /> },
  {
    key: 'target',
    title: 'Receives at',
    grows: true,
    hides: 'narrow',
    cell: worker => (
      <span class="one-line" title={targetText(worker)}>
        {targetText(worker)}
      </span>
    ),
  },
  {
    key: 'bounds',
    title: 'Runs',
    hides: 'medium',
    cell: worker => <span class="one-line">{boundsText(worker)}</span>,
  },
  {
    key: 'ended',
    title: 'Ended',
    kind: 'number',
    hides: 'medium',
    cell: ({ health }) => health && <Sparkline values={health.ended_spark} label="Ended per minute" />,
  },
  { key: 'flight', title: 'Running', kind: 'number', cell: ({ health }) => countText(health?.in_flight) },
  { key: 'waiting', title: 'Waiting', kind: 'number', cell: ({ health }) => countText(health?.waiting) },
  {
    key: 'failed',
    title: 'Failed',
    kind: 'number',
    cell: ({ name, health }) =>
      health === undefined || health.failed === 0 ? (
        countText(health?.failed)
      ) : (
        <Link
          query={{ view: 'tasks', worker: name, status: 'failed' }}
          label={`${formatCount(health.failed)} failed tasks of ${name}`}
        >
          {formatCount(health.failed)}
        </Link>
      ),
  },
];

/** All workers, with what their tasks do. */
export function Workers() {
  const { query } = useRoute();
  const { at = '' } = query;
  const mayChange = useAllowed('workers:write');
  const [isNew, setNew] = useState(false);
  const cursor = at === '' ? '' : `&cursor=${encodeURIComponent(at)}`;
  const { answer, error, reload } = usePolled<ListPage<Worker>>(`/workers?include=health&limit=50${cursor}`);
  return (
    <>
      <header class="view-head">
        <h1>Which workers keep up?</h1>
        {mayChange && (
          <Button kind="primary" onClick={() => setNew(true)}>
            New worker
          </Button>
        )}
      </header>
      <Panel title="Workers" flush>
        {answer === null && error === null && <Skeleton lines={6} />}
        {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
        {answer?.data.length === 0 && (
          <Empty title="There are no workers yet">
            A worker carries out tasks: Sluice sends them to its URL, or it asks for them.
          </Empty>
        )}
        {answer !== null && answer.data.length > 0 && (
          <Table
            label="Workers"
            columns={COLUMNS}
            rows={answer.data}
            rowKey={({ id }) => id}
            onOpen={({ id }) => navigate('/', { view: 'worker', id })}
          />
        )}
      </Panel>
      <nav class="pages" aria-label="Pages">
        {at !== '' && <Button onClick={() => navigate('/', { view: 'workers' })}>Newest</Button>}
        {answer !== null && answer.next_cursor !== null && (
          <Button onClick={() => navigate('/', { view: 'workers', at: answer.next_cursor ?? undefined })}>
            Older
          </Button>
        )}
      </nav>
      {isNew && (
        <NewWorker onClose={() => setNew(false)} onCreated={id => navigate('/', { view: 'worker', id })} />
      )}
    </>
  );
}

/** Whether a worker takes tasks, in a word. */
export function WorkerState({ worker }: { readonly worker: Worker }) {
  if (worker.paused) return <Chip kind="near">paused</Chip>;
  return <Chip kind="neutral">{worker.mode}</Chip>;
}

function countText(count: number | undefined): string {
  return count === undefined ? '–' : formatCount(count);
}
