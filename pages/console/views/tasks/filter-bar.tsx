import { useEffect, useRef } from 'preact/hooks';
import { formatCount } from '../../../design/format.ts';
import { navigate, useRoute } from '../../../design/route.ts';
import { useShortcuts } from '../../../design/shortcuts.ts';
import { TASK_STATUSES } from '../../../service/task-status.ts';
import type { ListPage, TaskCounts } from '../../api.ts';
import { usePolled } from '../../polled.ts';
import { FILTER_FIELDS, type FilterField, filterOf, statusesOf, toggled } from './task-filter.ts';

/** Statuses with their counts, and a field for each other filter. All of them are in the address. */
export function FilterBar() {
  const { query } = useRoute();
  const filter = filterOf(query);
  const named = Object.keys(filter).filter(name => name !== 'worker' && name in FILTER_FIELDS);
  return (
    <search class="filter-bar">
      <Statuses />
      <div class="filter-line">
        <FilterInput name="worker" />
        <FilterInput name="error" />
        <details class="filter-more" open={named.some(name => name !== 'error')}>
          <summary>More filters</summary>
          <div class="filter-grid">
            {(Object.keys(FILTER_FIELDS) as FilterField[])
              .filter(name => name !== 'worker' && name !== 'error')
              .map(name => (
                <FilterInput key={name} name={name} />
              ))}
          </div>
        </details>
      </div>
    </search>
  );
}

function Statuses() {
  const { query } = useRoute();
  const ofWorker = query['worker'] ? `?worker=${encodeURIComponent(query['worker'])}` : '';
  const { answer } = usePolled<TaskCounts>(`/tasks/counts${ofWorker}`);
  const chosen = statusesOf(query);
  return (
    <fieldset class="statuses" aria-label="Status">
      {TASK_STATUSES.map(status => (
        <button
          key={status}
          type="button"
          class={`status-count status-${status}${answer?.counts[status] ? ' status-some' : ''}`}
          aria-pressed={chosen.includes(status)}
          onClick={() => navigate('/', { ...query, status: toggled(query, status), at: undefined })}
        >
          <span>{status}</span>
          <strong>{answer === null ? '–' : formatCount(answer.counts[status])}</strong>
        </button>
      ))}
    </fieldset>
  );
}

const HINTS: Readonly<Partial<Record<FilterField, string>>> = {
  error: 'timeout',
  start: '-24h',
  end: '2026-03-31',
  tag: 'urgent',
};

function FilterInput({ name }: { readonly name: FilterField }) {
  const { query } = useRoute();
  const input = useRef<HTMLInputElement>(null);
  const shown = query[name] ?? '';
  // A link or "back" may have changed it, but not while the user types.
  useEffect(() => {
    if (input.current !== null && document.activeElement !== input.current) input.current.value = shown;
  }, [shown]);
  useShortcuts(
    name === 'worker' ? { '/': { help: 'Filter by worker', run: () => input.current?.select() } } : {},
  );
  const apply = () => {
    const value = input.current?.value.trim() ?? '';
    if (value !== shown) navigate('/', { ...query, view: 'tasks', [name]: value, at: undefined });
  };
  return (
    <label class="filter-field">
      <span>{FILTER_FIELDS[name]}</span>
      <input
        ref={input}
        type="text"
        autocomplete="off"
        spellcheck={false}
        maxLength={255}
        placeholder={HINTS[name]}
        {...(name === 'worker' && { list: 'worker-names' })}
        onChange={apply}
        onKeyDown={event => {
          if (event.key === 'Enter') apply();
          if (event.key === 'Escape') event.currentTarget.blur();
        }}
      />
      {name === 'worker' && <WorkerNames />}
    </label>
  );
}

/** Suggestions for names of workers: the newest hundred. */
function WorkerNames() {
  const { answer } = usePolled<ListPage<{ readonly name: string }>>('/workers?limit=100', { everyMs: 0 });
  return (
    <datalist id="worker-names">
      {answer?.data.map(({ name }) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
