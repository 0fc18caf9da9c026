import { Button } from '../../../design/button.tsx';
import { Choices } from '../../../design/choices.tsx';
import { formatCount } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { navigate, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { Table } from '../../../design/table.tsx';
import { useNow } from '../../live-state.ts';
import { usePolled } from '../../polled.ts';
import type { TenantList } from './tenant.ts';
import { tenantColumns } from './tenant-columns.tsx';
import { TenantsOff } from './tenants-off.tsx';

const PAGE = 50;

const STATUSES = { '': 'All', active: 'Active', suspended: 'Suspended', deleting: 'Deleting' } as const;

/** The tenants of the task service: searched, sorted, page by page. */
export function Tenants() {
  const { query } = useRoute();
  const nowMs = useNow();
  const { q = '', status = '', sort = 'oldest_due' } = query;
  const at = Math.max(0, Math.trunc(Number(query['at'] ?? 0)) || 0);
  const asked = new URLSearchParams({ sort, count: String(PAGE), offset: String(at) });
  if (q !== '') asked.set('q', q);
  if (status !== '') asked.set('status', status);
  const { answer, error, reload } = usePolled<TenantList>(`/tenants?${asked}`);
  const go = (change: Readonly<Record<string, string | number | undefined>>) =>
    navigate('/', { ...query, at: undefined, ...change });
  if (error?.code === 'tasks_disabled') return <TenantsOff />;
  const total = answer?.total ?? 0;
  // With very many tenants, the first order takes longer than a request waits. The next request finds it.
  const isLoading = error === null || error.code === 'overloaded';
  return (
    <>
      <h1>{q === '' ? 'Which tenants wait for their tasks?' : `Tenants with "${q}"`}</h1>
      <Panel
        title="Tenants"
        note={answer === null ? undefined : rangeText(answer)}
        actions={
          <Choices
            label="Status"
            options={STATUSES}
            value={status in STATUSES ? (status as keyof typeof STATUSES) : ''}
            onChoose={chosen => go({ status: chosen })}
          />
        }
        flush
      >
        {answer === null && isLoading && <Skeleton lines={12} />}
        {answer === null && !isLoading && error !== null && <Failure error={error} onRetry={reload} />}
        {answer !== null && answer.tenants.length === 0 && <NoTenants isAll={q === '' && status === ''} />}
        {answer !== null && answer.tenants.length > 0 && (
          <Table
            label="Tenants"
            columns={tenantColumns(nowMs)}
            rows={answer.tenants}
            rowKey={({ domain }) => domain}
            sort={sort}
            onSort={by => go({ sort: by })}
            onOpen={({ domain }) => navigate('/', { view: 'tenant', domain })}
            of={asked.toString()}
          />
        )}
      </Panel>
      {answer !== null && answer.unreadable.length > 0 && (
        <p class="fault" role="alert">
          The store did not answer for {answer.unreadable.join(', ')}.
        </p>
      )}
      {answer !== null && answer.cut_at !== null && (
        <p class="quiet">
          There are more than {formatCount(answer.cut_at)} tenants. The others, by domain, are not listed.
        </p>
      )}
      {(at > 0 || at + PAGE < total) && (
        <nav class="pages" aria-label="Pages">
          <Button disabled={at === 0} onClick={() => go({ at: at <= PAGE ? undefined : at - PAGE })}>
            Previous
          </Button>
          <Button disabled={at + PAGE >= total} onClick={() => go({ at: at + PAGE })}>
            Next
          </Button>
        </nav>
      )}
    </>
  );
}

function NoTenants({ isAll }: { readonly isAll: boolean }) {
  if (!isAll) {
    return (
      <Empty title="No tenant matches">The search looks for a part of the domain, in any letter case.</Empty>
    );
  }
  return (
    <Empty title="There are no tenants">
      An account is a tenant. <code>sluice tasks create-account acme</code> creates the first one.
    </Empty>
  );
}

function rangeText({ total, offset, tenants }: TenantList): string {
  if (tenants.length === 0) return formatCount(total);
  return `${formatCount(offset + 1)} to ${formatCount(offset + tenants.length)} of ${formatCount(total)}`;
}
