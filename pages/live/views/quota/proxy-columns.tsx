import { formatCount, formatRate } from '../../../design/format.ts';
import type { Column } from '../../../design/table.tsx';
import { Time } from '../../../design/time.tsx';
import type { QuotaProxy } from '../quotas/quota.ts';
import { USAGE_COLUMNS } from '../quotas/usage-columns.tsx';

const TOLD = { nothing: 'nothing yet', allow_all: 'all allowed', deny_all: 'all denied' } as const;

/** A proxy with its place in the list: several proxies can have the same address. */
type ProxyRow = QuotaProxy & { readonly place: number };

/** The columns of the proxies of a bucket. */
export function proxyColumns(nowMs: number): readonly Column<ProxyRow>[] {
  return [
    {
      key: 'peer',
      title: 'Proxy',
      grows: true,
      cell: ({ peer }) => (peer === '' ? <span class="quiet">unix socket</span> : <code>{peer}</code>),
    },
    {
      key: 'demand',
      title: 'Demand',
      kind: 'number',
      cell: ({ per_second: { demand } }) => formatRate(demand),
    },
    ...USAGE_COLUMNS,
    { key: 'granted', title: 'Granted', kind: 'number', cell: grantText },
    {
      key: 'ends',
      title: 'Ends',
      hides: 'narrow',
      cell: ({ ends }) => (ends === null ? <span class="quiet">–</span> : <Time iso={ends} nowMs={nowMs} />),
    },
    {
      key: 'reported',
      title: 'Last report',
      hides: 'medium',
      cell: ({ reported }) =>
        reported === null ? <span class="quiet">–</span> : <Time iso={reported} nowMs={nowMs} />,
    },
  ];
}

function grantText({ told, tokens, interval_seconds: seconds }: QuotaProxy): string {
  if (told !== 'token_bucket') return TOLD[told];
  if (tokens === null || seconds === null) return 'ended';
  return seconds === 1 ? formatRate(tokens) : `${formatCount(tokens)} each ${seconds}s`;
}
