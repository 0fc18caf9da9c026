import type { ComponentChildren } from 'preact';
import { Chip } from '../../../design/chip.tsx';
import { Choices } from '../../../design/choices.tsx';
import { formatCount, formatRate } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { Link, navigate, useRoute } from '../../../design/route.ts';
import { Sparkline } from '../../../design/sparkline.tsx';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import type { Limit, LimitList } from '../../api.ts';
import { usePolled } from '../../polled.ts';

const COUNT = 12;

const SORTS = { refused: 'Rejected', near_limit: 'Near limit', hits: 'Hits' } as const;
type Sort = keyof typeof SORTS;

/** The limits that reject the most, or that have the most hits near them. */
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
          columns={COLUMNS}
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

const COLUMNS: readonly Column<Limit>[] = [
  { key: 'path', title: 'Limit', grows: true, cell: limit => <LimitName limit={limit} /> },
  {
    key: 'hits',
    title: 'Hits',
    kind: 'number',
    sorts: 'descending',
    hides: 'narrow',
    cell: ({ per_second, spark }) => (
      <WithSpark values={spark} label="Hits per minute">
        {formatRate(per_second.hits)}
      </WithSpark>
    ),
  },
  {
    key: 'near_limit',
    title: 'Near limit',
    kind: 'number',
    sorts: 'descending',
    hides: 'medium',
    cell: ({ per_second }) => <Rate of={per_second.near_limit} />,
  },
  {
    key: 'refused',
    title: 'Rejected',
    kind: 'number',
    sorts: 'descending',
    cell: ({ per_second, refused_spark, shadow_mode }) => (
      <WithSpark values={refused_spark} label="Rejected per minute" kind="rejected">
        {shadow_mode && per_second.shadow_refused > 0 ? (
          <span class="shadowed" title="Without shadow mode, as many hits would be rejected.">
            <span class="unseen">would be </span>
            {formatRate(per_second.shadow_refused)}
          </span>
        ) : (
          <Rate of={per_second.refused} />
        )}
      </WithSpark>
    ),
  },
];

function LimitName({ limit }: { readonly limit: Limit }) {
  const { domain, path, meaning, shadow_mode } = limit;
  const entries = path.startsWith(`${domain}.`) ? path.slice(domain.length + 1) : path;
  return (
    <div class="limit-name" title={`${path}: ${meaning}`}>
      <span class="one-line">
        <span class="quiet">{domain} › </span>
        <Link query={{ view: 'limit', path }}>{entries}</Link>
      </span>
      <span class="limit-meaning">
        {shadow_mode && <Chip kind="shadow">Shadow</Chip>}
        <span class="one-line small quiet">{meaning}</span>
      </span>
    </div>
  );
}

function Rate({ of }: { readonly of: number }) {
  return <span class={of === 0 ? 'quiet' : undefined}>{of === 0 ? '0' : formatRate(of)}</span>;
}

interface WithSparkProps {
  /** Absent or null if the service does not keep them. */
  readonly values: readonly number[] | null | undefined;
  readonly label: string;
  readonly kind?: 'plain' | 'rejected';
  readonly children: ComponentChildren;
}

function WithSpark({ values, label, kind = 'plain', children }: WithSparkProps) {
  return (
    <span class="with-spark">
      {values && (
        <span class="hides-medium">
          <Sparkline values={values} label={label} kind={kind} />
        </span>
      )}
      <span class="with-spark-value">{children}</span>
    </span>
  );
}
