import { Button } from '../../../design/button.tsx';
import { Choices } from '../../../design/choices.tsx';
import { formatCount } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { navigate, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { Table } from '../../../design/table.tsx';
import type { LimitList } from '../../api.ts';
import { LIMIT_COLUMNS } from '../../limit-columns.tsx';
import { usePolled } from '../../polled.ts';

const PAGE = 50;

/** The API reaches no further; a search finds the others. */
const MAX_REACHED = 10_000;

const SORTS = {
  refused: 'Rejected',
  fullest: 'Fullest key',
  near_limit: 'Near limit',
  hits: 'Hits',
  path: 'Name',
  rules: 'Rule files',
} as const;
type Sort = keyof typeof SORTS;

/** All limits: searched, sorted, page by page. */
export function Limits() {
  const { query } = useRoute();
  const { q = '', domain = '' } = query;
  const sort: Sort =
    query['sort'] !== undefined && query['sort'] in SORTS ? (query['sort'] as Sort) : 'refused';
  const at = Math.max(0, Math.trunc(Number(query['at'] ?? 0)) || 0);
  const asked = new URLSearchParams({ sort, count: String(PAGE), offset: String(at) });
  if (q !== '') asked.set('q', q);
  if (domain !== '') asked.set('domain', domain);
  const { answer, error, reload } = usePolled<LimitList>(`/limits?${asked}`);
  const go = (change: Readonly<Record<string, string | number | undefined>>) =>
    navigate('/', { ...query, at: undefined, ...change });
  const total = answer?.total ?? 0;
  return (
    <>
      <h1>{q === '' ? 'Which limits are there?' : `Limits with "${q}"`}</h1>
      <Panel
        title="Limits"
        note={answer === null ? undefined : rangeText(at, answer)}
        actions={<Choices label="Sort by" options={SORTS} value={sort} onChoose={by => go({ sort: by })} />}
        flush
      >
        {answer === null && error === null && <Skeleton lines={12} />}
        {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
        {answer !== null && answer.limits.length === 0 && (
          <Empty title={q === '' && domain === '' ? 'There are no limits' : 'No limit matches'}>
            The search looks for a part of domain and entries, such as <code>checkout</code>, in any letter
            case.
          </Empty>
        )}
        {answer !== null && answer.limits.length > 0 && (
          <Table
            label="Limits"
            columns={LIMIT_COLUMNS}
            rows={answer.limits}
            rowKey={({ number }) => String(number)}
            sort={sort}
            onSort={by => go({ sort: by })}
            onOpen={({ path }) => navigate('/', { view: 'limit', path })}
            of={asked.toString()}
          />
        )}
      </Panel>
      {(at > 0 || at + PAGE < total) && (
        <nav class="pages" aria-label="Pages">
          <Button disabled={at === 0} onClick={() => go({ at: at <= PAGE ? undefined : at - PAGE })}>
            Previous
          </Button>
          <Button disabled={at + PAGE >= Math.min(total, MAX_REACHED)} onClick={() => go({ at: at + PAGE })}>
            Next
          </Button>
          {total > MAX_REACHED && (
            <span class="quiet small">
              Pages reach the first {formatCount(MAX_REACHED)} limits. Search to find the others.
            </span>
          )}
        </nav>
      )}
    </>
  );
}

function rangeText(at: number, { total, limits }: LimitList): string {
  if (limits.length === 0) return formatCount(total);
  return `${formatCount(at + 1)} to ${formatCount(at + limits.length)} of ${formatCount(total)}`;
}
