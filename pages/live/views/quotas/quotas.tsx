import { formatCount, formatRate } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { navigate, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { Table } from '../../../design/table.tsx';
import { usePolled } from '../../polled.ts';
import { countOf } from '../../service-facts.tsx';
import { BUCKET_COLUMNS } from './bucket-columns.tsx';
import { bucketQuery, type Quotas } from './quota.ts';
import { QuotasOff } from './quotas-off.tsx';

/** The buckets that proxies report, with the most demand first. */
export function QuotasView() {
  const { domain = '' } = useRoute().query;
  const { answer, error, reload } = usePolled<Quotas>(
    `/quotas${domain === '' ? '' : `?${new URLSearchParams({ domain })}`}`,
  );
  if (error?.code === 'not_supported') return <QuotasOff />;
  return (
    <>
      <h1>
        {domain === ''
          ? 'What do proxies that decide themselves get?'
          : `What do proxies get in the domain ${domain}?`}
      </h1>
      <Panel title="Buckets" note={answer === null ? undefined : noteText(answer)} flush>
        {answer === null && error === null && <Skeleton lines={12} />}
        {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
        {answer !== null && answer.buckets.length === 0 && <NoBuckets domain={domain} />}
        {answer !== null && answer.buckets.length > 0 && (
          <Table
            label="Buckets"
            columns={BUCKET_COLUMNS}
            rows={answer.buckets}
            rowKey={({ domain: own, entries }) => JSON.stringify([own, entries])}
            onOpen={bucket => navigate('/', bucketQuery(bucket))}
            of={domain}
          />
        )}
      </Panel>
      {answer !== null && !answer.complete && (
        <p class="fault" role="alert">
          A serving thread did not answer. Its streams are missing.
        </p>
      )}
      {answer !== null && answer.total > answer.buckets.length && (
        <p class="quiet">
          {countOf(answer.total - answer.buckets.length, 'more bucket')} with less demand. On the command
          line, <code>sluice quota --domain NAME --count 500</code> lists more.
        </p>
      )}
    </>
  );
}

function NoBuckets({ domain }: { readonly domain: string }) {
  return (
    <Empty title={domain === '' ? 'No proxy reports to this process' : `No bucket in the domain ${domain}`}>
      Proxies that decide themselves report what they admit, and get a part of the limits. In Envoy, the
      filter <code>rate_limit_quota</code> does it. The view Limits counts what they report as well.
    </Empty>
  );
}

function noteText({ total, streams, per_second: { demand, denied } }: Quotas): string {
  const denies = denied === 0 ? '' : `, ${formatRate(denied)} denied`;
  return `${formatCount(total)}, ${countOf(streams, 'stream')}, ${formatRate(demand)}${denies}`;
}
