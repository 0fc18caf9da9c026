import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { formatCount, formatRate } from '../../../design/format.ts';
import { Facts, Panel } from '../../../design/panel.tsx';
import { Sparkline } from '../../../design/plots/sparkline.tsx';
import { Link, useRoute } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { Time } from '../../../design/time.tsx';
import { TASK_STATUSES } from '../../../service/task-status.ts';
import { useNow } from '../../live-state.ts';
import { usePolled } from '../../polled.ts';
import type { TenantDetails } from '../tenants/tenant.ts';
import { dueText, TenantStatus } from '../tenants/tenant-columns.tsx';
import { TenantsOff } from '../tenants/tenants-off.tsx';
import { LimitDialog } from './limit-dialog.tsx';
import { OwnerTokenDialog } from './owner-token-dialog.tsx';
import { StatusDialog } from './status-dialog.tsx';
import { TenantLimits } from './tenant-limits.tsx';

/** One tenant: whether its tasks wait, what it has and may have, and what the operator can change. */
export function TenantPage() {
  const { domain = '' } = useRoute().query;
  const path = domain === '' ? null : `/tenants/${encodeURIComponent(domain)}`;
  const { answer, error, reload } = usePolled<TenantDetails>(path);
  if (error?.code === 'tasks_disabled') return <TenantsOff />;
  if (path === null || error?.status === 404) {
    return (
      <Empty title={path === null ? 'No tenant is chosen' : `There is no tenant ${domain}`}>
        <Link query={{ view: 'tenants' }}>Show all tenants</Link>
      </Empty>
    );
  }
  if (answer === null) {
    return error === null ? <Skeleton lines={12} /> : <Failure error={error} onRetry={reload} />;
  }
  return <OneTenant key={answer.domain} tenant={answer} onChanged={reload} />;
}

/** The open dialog: one of the actions, or the name of a limit. */
type Opened = 'status' | 'token' | { readonly limit: string } | null;

interface OneTenantProps {
  readonly tenant: TenantDetails;
  readonly onChanged: () => void;
}

function OneTenant({ tenant, onChanged }: OneTenantProps) {
  const [opened, open] = useState<Opened>(null);
  const { domain, status } = tenant;
  const mayChange = status === 'active' || status === 'suspended';
  const close = () => {
    open(null);
    onChanged();
  };
  return (
    <>
      <header class="view-head">
        <div>
          <p class="eyebrow">Does this tenant get its tasks done?</p>
          <h1>
            {domain} <TenantStatus tenant={tenant} />
          </h1>
        </div>
        {mayChange && (
          <div class="actions">
            <Button onClick={() => open('token')}>New owner's token…</Button>
            <Button kind={status === 'active' ? 'caution' : 'plain'} onClick={() => open('status')}>
              {status === 'active' ? 'Suspend…' : 'Resume…'}
            </Button>
          </div>
        )}
      </header>
      <div class="limit-lists">
        <TenantTasks tenant={tenant} />
        <TenantFacts tenant={tenant} />
      </div>
      <TenantLimits tenant={tenant} onChange={mayChange ? limit => open({ limit }) : undefined} />
      {opened === 'status' && <StatusDialog tenant={tenant} onClose={close} />}
      {opened === 'token' && <OwnerTokenDialog tenant={tenant} onClose={close} />}
      {opened !== null && typeof opened === 'object' && (
        <LimitDialog tenant={tenant} limit={opened.limit} onClose={close} />
      )}
    </>
  );
}

function TenantTasks({ tenant }: { readonly tenant: TenantDetails }) {
  const nowMs = useNow();
  const { due, oldest_due_at: oldest, tasks, stored, per_second: rates, ended_spark: minutes } = tenant;
  return (
    <Panel title="Tasks" note={`${formatCount(stored)} stored`}>
      <Facts
        items={[
          ['due now', dueText(due)],
          ['oldest due', oldest === null ? 'none' : <Time iso={oldest} nowMs={nowMs} />],
          ['created', formatRate(rates.created)],
          [
            'ended',
            <span class="fact-spark">
              {formatRate(rates.ended)}, {formatRate(rates.failed)} of them failed
              <Sparkline values={minutes} label="Ended per minute" />
            </span>,
          ],
          ...TASK_STATUSES.map(status => [status, formatCount(tasks[status])] as const),
        ]}
      />
    </Panel>
  );
}

function TenantFacts({ tenant }: { readonly tenant: TenantDetails }) {
  const nowMs = useNow();
  const { suspended, deletion, use, workers } = tenant;
  return (
    <Panel title="Account">
      <Facts
        items={[
          ...(suspended === null
            ? []
            : [
                ['suspended', <Time iso={suspended.since} nowMs={nowMs} />] as const,
                ['reason', suspended.reason ?? 'none given'] as const,
              ]),
          ...(deletion === null ? [] : [['deletion', deletionText(deletion)] as const]),
          ['created', <Time iso={tenant.created_at} nowMs={nowMs} />],
          ['address', <code class="break">{tenant.api_url}</code>],
          ['workers', formatCount(workers)],
          ['schedules', formatCount(use['schedules'] ?? 0)],
          ['users', `${formatCount(use['users'] ?? 0)}, ${formatCount(tenant.owners)} of them active owners`],
          ['id', <code>{tenant.id}</code>],
        ]}
      />
    </Panel>
  );
}

function deletionText({
  tasks_left,
  finished_at,
  domain_free_at,
}: NonNullable<TenantDetails['deletion']>): string {
  if (finished_at === null) return `${formatCount(tasks_left)} tasks are left to delete`;
  return `finished; the domain can be used again from ${domain_free_at}`;
}
