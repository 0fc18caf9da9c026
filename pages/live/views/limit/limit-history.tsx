import { formatCount, formatRate, formatShare } from '../../../design/format.ts';
import { Facts, Panel } from '../../../design/panel.tsx';
import { Plot } from '../../../design/plots/plot.tsx';
import { Empty } from '../../../design/states.tsx';
import type { LimitDetails } from '../../api.ts';
import { fullestText } from '../../limit-columns.tsx';
import { outcomeSeries } from '../../outcomes.ts';

/** What the limit counts now, and each minute of the last hour. */
export function LimitHistory({ limit }: { readonly limit: LimitDetails }) {
  const { per_second, last_hour, totals, history, fullest } = limit;
  const now = (value: number) => (value === 0 ? '0' : formatRate(value));
  return (
    <div class="limit-usage">
      <Panel title="Now">
        <Facts
          items={[
            ['Hits', now(per_second.hits)],
            ['Rejected', now(per_second.refused)],
            [
              'Fullest key',
              fullest === null
                ? 'no key was counted lately'
                : `${fullestText(fullest)} (${formatShare(fullest.share, 1)})`,
            ],
            ['Near the limit', now(per_second.near_limit)],
            ['Shadow', now(per_second.shadow_refused)],
            [
              'Last hour',
              `${formatCount(last_hour.refused)} rejected of ${formatCount(last_hour.hits)} (${formatShare(last_hour.refused, last_hour.hits)})`,
            ],
            ['Since the start', `${formatCount(totals.refused)} of ${formatCount(totals.hits)}`],
          ]}
        />
      </Panel>
      <div class="panel">
        {history === null ? (
          <Empty title="The history of this limit is not kept">
            Sluice keeps the minutes of the limits with the most hits. Its totals are exact.
          </Empty>
        ) : (
          <Plot
            title="Hits by outcome, last hour"
            series={outcomeSeries(history.points)}
            times={history.points.map(({ time }) => Date.parse(time))}
            stacked
            format={formatRate}
          />
        )}
      </div>
    </div>
  );
}
