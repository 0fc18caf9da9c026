import { formatRate } from '../../../design/format.ts';
import { Plot } from '../../../design/plots/plot.tsx';
import type { RatePoint } from '../../api.ts';
import { outcomeSeries } from '../../outcomes.ts';

/** What became of the hits of the last hour. */
export function HitsByOutcome({ points }: { readonly points: readonly RatePoint[] }) {
  return (
    <div class="panel">
      <Plot
        title="Hits by outcome, last hour"
        series={outcomeSeries(points)}
        times={points.map(({ time }) => Date.parse(time))}
        stacked
        format={formatRate}
      />
    </div>
  );
}
