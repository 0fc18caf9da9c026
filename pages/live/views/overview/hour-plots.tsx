import { formatRate } from '../../../design/format.ts';
import { Plot, type PlotSeries } from '../../../design/plot.tsx';
import type { RatePoint } from '../../api.ts';
import { outcomesOf } from './outcomes.ts';
import { RejectionsByLimit } from './rejections-by-limit.tsx';

/** The last hour: hits by outcome, and rejections by limit. */
export function HourPlots({ points }: { readonly points: readonly RatePoint[] }) {
  const outcomes = points.map(outcomesOf);
  const series: readonly PlotSeries[] = [
    { name: 'Rejected', kind: 'rejected', values: outcomes.map(({ rejected }) => rejected) },
    { name: 'Shadow', kind: 'shadow', values: outcomes.map(({ shadow }) => shadow) },
    { name: 'Near limit', kind: 'near', values: outcomes.map(({ near }) => near) },
    { name: 'Allowed', kind: 'allowed', values: outcomes.map(({ allowed }) => allowed) },
  ];
  return (
    <div class="overview-plots">
      <div class="panel">
        <Plot
          title="Hits by outcome, last hour"
          series={series}
          times={points.map(({ time }) => Date.parse(time))}
          stacked
          format={formatRate}
        />
      </div>
      <RejectionsByLimit />
    </div>
  );
}
