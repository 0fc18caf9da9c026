import { Chip } from '../../../design/chip.tsx';
import { formatCount, formatRate } from '../../../design/format.ts';
import { Link } from '../../../design/route.ts';
import type { Column } from '../../../design/table.tsx';
import { Time } from '../../../design/time.tsx';
import { WithSpark } from '../../with-spark.tsx';
import { MAX_DUE, openTasks, STATUS_CHIPS, type Tenant } from './tenant.ts';

/** The columns of the list of tenants. Their keys are those that the API sorts by. */
export function tenantColumns(nowMs: number): readonly Column<Tenant>[] {
  return [
    {
      key: 'domain',
      title: 'Tenant',
      grows: true,
      sorts: 'ascending',
      cell: ({ domain }) => (
        <Link query={{ view: 'tenant', domain }} class="one-line">
          {domain}
        </Link>
      ),
    },
    { key: 'status', title: 'Status', cell: tenant => <TenantStatus tenant={tenant} /> },
    {
      key: 'oldest_due',
      title: 'Oldest due',
      kind: 'number',
      sorts: 'descending',
      cell: ({ oldest_due_at: at }) =>
        at === null ? <span class="quiet">–</span> : <Time iso={at} nowMs={nowMs} />,
    },
    number('due', 'Due', ({ due }) => due, dueText),
    { ...number('open', 'Open', openTasks), hides: 'narrow' },
    { ...number('in_flight', 'In flight', ({ in_flight }) => in_flight), hides: 'narrow' },
    {
      key: 'ended',
      title: 'Ended',
      kind: 'number',
      hides: 'medium',
      cell: ({ per_second: { ended }, ended_spark: minutes }) => (
        <WithSpark values={minutes} label="Ended per minute">
          <span class={ended === 0 ? 'quiet' : undefined}>{formatRate(ended)}</span>
        </WithSpark>
      ),
    },
    { ...number('failed', 'Failed', ({ tasks }) => tasks.failed), hides: 'narrow' },
    { ...number('stored', 'Stored', ({ stored }) => stored), hides: 'medium' },
    { ...number('workers', 'Workers', ({ workers }) => workers), hides: 'medium' },
    {
      key: 'created',
      title: 'Created',
      kind: 'number',
      sorts: 'descending',
      hides: 'medium',
      cell: ({ created_at }) => <Time iso={created_at} nowMs={nowMs} />,
    },
  ];
}

export function TenantStatus({ tenant: { status, suspended } }: { readonly tenant: Tenant }) {
  return (
    <span title={suspended?.reason ?? undefined}>
      <Chip kind={STATUS_CHIPS[status]}>{status}</Chip>
    </span>
  );
}

/** Counting due tasks ends at a bound. */
export function dueText(due: number): string {
  return due >= MAX_DUE ? `${formatCount(MAX_DUE)} or more` : formatCount(due);
}

function number(
  key: string,
  title: string,
  of: (tenant: Tenant) => number,
  text: (count: number) => string = formatCount,
): Column<Tenant> {
  return {
    key,
    title,
    kind: 'number',
    sorts: 'descending',
    cell: tenant => <span class={of(tenant) === 0 ? 'quiet' : undefined}>{text(of(tenant))}</span>,
  };
}
