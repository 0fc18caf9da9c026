import { Button } from '../../../design/button.tsx';
import { Chip } from '../../../design/chip.tsx';
import { formatCount } from '../../../design/format.ts';
import { Meter } from '../../../design/meter.tsx';
import { Panel } from '../../../design/panel.tsx';
import { type Column, Table } from '../../../design/table.tsx';
import type { TenantDetails } from '../tenants/tenant.ts';

interface LimitRow {
  readonly name: string;
  readonly value: string | number;
  /** Undefined if it is not counted. */
  readonly used: number | undefined;
  readonly isChanged: boolean;
}

interface TenantLimitsProps {
  readonly tenant: TenantDetails;
  /** Undefined while the tenant cannot be changed. */
  readonly onChange: ((limit: string) => void) | undefined;
}

/** The limits of a tenant, and what it uses of them. */
export function TenantLimits({ tenant, onChange }: TenantLimitsProps) {
  const { limits, use, changed_limits } = tenant;
  const rows = Object.entries(limits).map(([name, value]) => ({
    name,
    value,
    used: use[name],
    isChanged: changed_limits.includes(name),
  }));
  return (
    <Panel title="Limits" note={changed_limits.length === 0 ? 'all at their defaults' : undefined} flush>
      <Table
        label="Limits of the tenant"
        columns={columns(onChange)}
        rows={rows}
        rowKey={({ name }) => name}
      />
    </Panel>
  );
}

function columns(onChange: TenantLimitsProps['onChange']): readonly Column<LimitRow>[] {
  return [
    {
      key: 'name',
      title: 'Limit',
      grows: true,
      cell: ({ name, isChanged }) => (
        <>
          {name} {isChanged && <Chip kind="neutral">Changed</Chip>}
        </>
      ),
    },
    { key: 'used', title: 'Used', kind: 'number', hides: 'narrow', cell: row => <Used row={row} /> },
    {
      key: 'value',
      title: 'At most',
      kind: 'number',
      cell: ({ value }) => (typeof value === 'number' ? formatCount(value) : value),
    },
    ...(onChange === undefined
      ? []
      : [
          {
            key: 'change',
            title: 'Action',
            cell: ({ name }: LimitRow) => (
              <Button size="small" label={`Change ${name}`} onClick={() => onChange(name)}>
                Change…
              </Button>
            ),
          },
        ]),
  ];
}

function Used({ row: { used, value } }: { readonly row: LimitRow }) {
  if (used === undefined || typeof value !== 'number') return <span class="quiet">–</span>;
  return <Meter share={used / value}>{formatCount(used)}</Meter>;
}
