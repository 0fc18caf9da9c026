import { Choices } from '../../../design/choices.tsx';
import { formatCount } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { navigate, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { Table } from '../../../design/table.tsx';
import type { LimitList } from '../../api.ts';
import { LIMIT_COLUMNS } from '../../limit-columns.tsx';
import { usePolled } from '../../polled.ts';

const COUNT = 12;

const SORTS = {
  refused: 'Rejected',
  fullest: 'Fullest key',
  near_limit: 'Near limit',
  hits: 'Hits',
} as const;
type Sort = keyof typeof SORTS;

/** The limits that reject the most, whose keys are closest to them, or that have the most hits. */
export function TopLimits() {
  const { query } = useRoute();
  const sort: Sort =
    query['sort'] !== undefined && query['sort'] in SORTS ? (query['sort'] as Sort) : 'refused';
  const { answer, error, reload } = usePolled<LimitList>(`/limits?sort=${sort}&count=${COUNT}`);
  const choose = (by: string) => navigate('/', { ...query, sort: by });
  return (
    <Panel
      title="Top limits"
      note={answer === null ? undefined : `${formatCount(answer.total)} in all`}
      actions={<Choices label="Sort by" options={SORTS} value={sort} onChoose={choose} />}
      flush
    >
      {answer === null && error === null && <Skeleton lines={6} />}
      {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
      {answer !== null && answer.limits.length === 0 && (
        <Empty title="There are no limits">
          The active rules have none. Add a <code>rate_limit</code> to a rule file; Sluice reloads the files
          when they change.
        </Empty>
      )}
      {answer !== null && answer.limits.length > 0 && (
        <Table
          label="Top limits"
          columns={LIMIT_COLUMNS}
          rows={answer.limits}
          rowKey={({ path, meaning }) => `${path} ${meaning}`}
          sort={sort}
          onSort={choose}
          onOpen={({ path }) => navigate('/', { view: 'limit', path })}
        />
      )}
    </Panel>
  );
}
