import { formatRate } from '../../../design/format.ts';
import { Plot } from '../../../design/plots/plot.tsx';
import type { RatePoint } from '../../api.ts';
import { outcomeSeries } from '../../outcomes.ts';
import { RejectionsByLimit } from './rejections-by-limit.tsx';

/** The last hour: hits by outcome, and rejections by limit. */
export function HourPlots({ points }: { readonly points: readonly RatePoint[] }) {
  return (
    <div class="overview-plots">
      <div class="panel">
        <Plot
          title="Hits by outcome, last hour"
          series={outcomeSeries(points)}
          times={points.map(({ time }) => Date.parse(time))}
          stacked
          format={formatRate}
        />
      </div>
      <RejectionsByLimit />
    </div>
  );
}
