import { Chip } from '../design/chip.tsx';
import { formatCount, formatRate } from '../design/format.ts';
import { Meter } from '../design/meter.tsx';
import { Link } from '../design/route.ts';
import type { Column } from '../design/table.tsx';
import type { FullestKey, Limit } from './api.ts';
import { WithSpark } from './with-spark.tsx';

/** The columns of every list of limits. Their keys are those that the API sorts by. */
export const LIMIT_COLUMNS: readonly Column<Limit>[] = [
  { key: 'path', title: 'Limit', grows: true, cell: limit => <LimitName limit={limit} /> },
  {
    key: 'hits',
    title: 'Hits',
    kind: 'number',
    sorts: 'descending',
    hides: 'narrow',
    cell: ({ per_second, spark }) => (
      <WithSpark values={spark} label="Hits per minute">
        <Rate of={per_second.hits} />
      </WithSpark>
    ),
  },
  {
    key: 'fullest',
    title: 'Fullest key',
    kind: 'number',
    sorts: 'descending',
    hides: 'narrow',
    cell: ({ fullest }) =>
      fullest === null ? (
        <span class="quiet">–</span>
      ) : (
        <Meter share={fullest.share}>{fullestText(fullest)}</Meter>
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

/** The hits of the fullest key: `93 of 100`. */
export function fullestText({ count, most }: FullestKey): string {
  return count === null ? 'of its own limit' : `${formatCount(count)} of ${formatCount(most)}`;
}

function LimitName({ limit }: { readonly limit: Limit }) {
  const { domain, path, meaning, shadow_mode } = limit;
  const entries = path.startsWith(`${domain}.`) ? path.slice(domain.length + 1) : path;
  return (
    <div class="limit-name" title={`${path}: ${meaning}`}>
      <span class="limit-path">
        <span class="one-line quiet">{domain}</span>
        <span class="quiet"> › </span>
        <Link query={{ view: 'limit', path }} class="one-line">
          {entries}
        </Link>
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
