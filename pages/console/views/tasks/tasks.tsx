import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { Panel } from '../../../design/panel.tsx';
import { Link, navigate, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import type { ListPage, Task } from '../../api.ts';
import { useNow } from '../../now.ts';
import { usePolled } from '../../polled.ts';
import { useAllowed } from '../../session.ts';
import { BulkButtons } from './bulk-buttons.tsx';
import { FilterBar } from './filter-bar.tsx';
import { FirstSteps } from './first-steps.tsx';
import { NewTask } from './new-task.tsx';
import { taskColumns } from './task-columns.tsx';
import { filterOf, filterText } from './task-filter.ts';

const PAGE = 50;

/** All tasks: filtered, page by page, with actions for those that are chosen or match. */
export function Tasks() {
  const { query } = useRoute();
  const filter = filterOf(query);
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const mayChange = useAllowed('tasks:write');
  const [isNew, setNew] = useState(false);
  return (
    <>
      <header class="view-head">
        <h1>What happens to the tasks?</h1>
        {mayChange && <BulkButtons filter={filter} chosen={chosen} onDone={() => choose(new Set())} />}
        {mayChange && (
          <Button kind="primary" onClick={() => setNew(true)}>
            New task
          </Button>
        )}
      </header>
      <FilterBar />
      <TaskList filter={filter} chosen={chosen} onChoose={mayChange ? choose : null} />
      {isNew && (
        <NewTask
          worker={filter['worker'] ?? ''}
          onClose={() => setNew(false)}
          onCreated={id => navigate('/', { view: 'task', id })}
        />
      )}
    </>
  );
}

interface TaskListProps {
  readonly filter: Readonly<Record<string, string>>;
  /** Ids of tasks. */
  readonly chosen: ReadonlySet<string>;
  /** Null if the caller cannot change tasks. */
  readonly onChoose: ((chosen: ReadonlySet<string>) => void) | null;
}

function TaskList({ filter, chosen, onChoose }: TaskListProps) {
  const { query } = useRoute();
  const now = useNow();
  const { at = '' } = query;
  const asked = new URLSearchParams({ ...filter, limit: String(PAGE), ...(at !== '' && { cursor: at }) });
  if (filter['by'] === 'run_at') asked.set('order', 'asc');
  const { answer, error, reload } = usePolled<ListPage<Task>>(`/tasks?${asked}`);
  const isFiltered = Object.keys(filter).length > 0;
  const columns = taskColumns(now);
  return (
    <>
      <Panel title="Tasks" note={isFiltered ? filterText(filter) : 'newest first'} flush>
        {answer === null && error === null && <Skeleton lines={12} />}
        {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
        {answer?.data.length === 0 &&
          (isFiltered || at !== '' ? <NoMatch more={answer.next_cursor} /> : <FirstSteps />)}
        {answer !== null && answer.data.length > 0 && (
          <Table
            label="Tasks"
            columns={onChoose === null ? columns : [choiceColumn(answer.data, chosen, onChoose), ...columns]}
            rows={answer.data}
            rowKey={({ id }) => id}
            onOpen={({ id }) => navigate('/', { view: 'task', id })}
            of={asked.toString()}
          />
        )}
      </Panel>
      <nav class="pages" aria-label="Pages">
        {at !== '' && <Button onClick={() => navigate('/', { ...query, at: undefined })}>Newest</Button>}
        {answer !== null && answer.next_cursor !== null && answer.data.length > 0 && (
          <Button onClick={() => navigate('/', { ...query, at: answer.next_cursor ?? undefined })}>
            Older
          </Button>
        )}
      </nav>
    </>
  );
}

/** A page can be empty before the end of the list, because each request looks at a limited number of tasks. */
function NoMatch({ more }: { readonly more: string | null }) {
  const { query } = useRoute();
  if (more !== null) {
    return (
      <Empty title="No match among the tasks looked at so far">
        <Button onClick={() => navigate('/', { ...query, at: more })}>Look at older tasks</Button>
      </Empty>
    );
  }
  return (
    <Empty title="No task matches">
      <Link query={{ view: 'tasks' }}>Show all tasks</Link>
    </Empty>
  );
}

function choiceColumn(
  rows: readonly Task[],
  chosen: ReadonlySet<string>,
  onChoose: (chosen: ReadonlySet<string>) => void,
): Column<Task> {
  const all = rows.every(({ id }) => chosen.has(id));
  return {
    key: 'choice',
    title: (
      <input
        type="checkbox"
        aria-label="Choose all tasks of this page"
        checked={all}
        onChange={() => onChoose(new Set(all ? [] : rows.map(({ id }) => id)))}
      />
    ),
    cell: ({ id }) => (
      <input
        type="checkbox"
        aria-label={`Choose task ${id}`}
        checked={chosen.has(id)}
        onChange={() => {
          const next = new Set(chosen);
          if (!next.delete(id)) next.add(id);
          onChoose(next);
        }}
      />
    ),
  };
}
