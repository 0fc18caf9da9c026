import { formatCount, formatRate } from '../../../design/format.ts';
import { Meter } from '../../../design/meter.tsx';
import { Link } from '../../../design/route.ts';
import type { Column } from '../../../design/table.tsx';
import { descriptorText } from '../../descriptor.ts';
import { bucketQuery, type QuotaBucket, tightest } from './quota.ts';
import { ShareBar } from './share-bar.tsx';
import { USAGE_COLUMNS } from './usage-columns.tsx';
import { VerdictChip } from './verdict-chip.tsx';

/** The columns of the list of buckets. */
export const BUCKET_COLUMNS: readonly Column<QuotaBucket>[] = [
  { key: 'bucket', title: 'Bucket', grows: true, cell: bucket => <BucketName bucket={bucket} /> },
  {
    key: 'demand',
    title: 'Demand',
    kind: 'number',
    cell: ({ per_second: { demand }, rate }) =>
      rate === null ? (
        formatRate(demand)
      ) : (
        <Meter share={rate === 0 ? 1 : demand / rate}>{`${formatRate(demand)} of ${formatRate(rate)}`}</Meter>
      ),
  },
  ...USAGE_COLUMNS,
  {
    key: 'proxies',
    title: 'Proxies',
    kind: 'number',
    hides: 'medium',
    cell: ({ proxies_total: proxies }) => formatCount(proxies),
  },
  {
    key: 'left',
    title: 'Limit',
    hides: 'medium',
    cell: bucket => {
      const limit = tightest(bucket);
      return limit === null ? <span class="quiet">–</span> : <ShareBar limit={limit} />;
    },
  },
];

function BucketName({ bucket }: { readonly bucket: QuotaBucket }) {
  const { domain, entries } = bucket;
  const text = descriptorText(entries);
  return (
    <div class="limit-name" title={`${domain}: ${text}`}>
      <span class="limit-path">
        <span class="one-line quiet">{domain}</span>
        <span class="quiet"> › </span>
        <Link query={bucketQuery(bucket)} class="one-line">
          {text}
        </Link>
      </span>
      <span class="limit-meaning">
        <VerdictChip bucket={bucket} />
      </span>
    </div>
  );
}
