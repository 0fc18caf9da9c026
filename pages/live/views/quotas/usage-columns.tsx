import { formatRate } from '../../../design/format.ts';
import type { Column } from '../../../design/table.tsx';
import type { QuotaProxy } from './quota.ts';

/** The columns of what proxies have decided, of a bucket or of one proxy. */
export const USAGE_COLUMNS: readonly Column<Pick<QuotaProxy, 'per_second'>>[] = [
  {
    key: 'allowed',
    title: 'Allowed',
    kind: 'number',
    hides: 'narrow',
    cell: ({ per_second: { allowed } }) => formatRate(allowed),
  },
  {
    key: 'denied',
    title: 'Denied',
    kind: 'number',
    hides: 'narrow',
    cell: ({ per_second: { denied } }) => (
      <span class={denied === 0 ? 'quiet' : undefined}>{denied === 0 ? '0' : formatRate(denied)}</span>
    ),
  },
];
