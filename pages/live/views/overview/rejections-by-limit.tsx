import { formatRate } from '../../../design/format.ts';
import { Plot, type PlotKind } from '../../../design/plots/plot.tsx';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import type { LimitRates, RatePoint } from '../../api.ts';
import { perSecond } from '../../outcomes.ts';
import { usePolled } from '../../polled.ts';

const KINDS: readonly PlotKind[] = ['first', 'second', 'third', 'fourth', 'fifth'];

/** Which limits have rejected the most in the last hour, and when. */
export function RejectionsByLimit() {
  const { answer, error, reload } = usePolled<LimitRates>('/rates?by=limit', { everyMs: 10_000 });
  return (
    <div class="panel">
      {answer === null && error === null && <Skeleton lines={6} />}
      {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
      {answer !== null && <ByLimit rates={answer} />}
    </div>
  );
}

function ByLimit({ rates: { points, limits, rest } }: { readonly rates: LimitRates }) {
  if (limits.length === 0) {
    return <Empty title="Nothing was rejected in the last hour">Rejections by limit appear here.</Empty>;
  }
  const rejected = (of: readonly RatePoint[]) => of.map(point => perSecond(point).refused);
  const series = limits.map(({ path, points }, i) => ({
    name: path,
    kind: KINDS[i],
    values: rejected(points),
  }));
  return (
    <Plot
      title="Rejections by limit, last hour"
      series={[...series, { name: 'All others', kind: 'rest', values: rejected(rest.points) }]}
      times={points.map(({ time }) => Date.parse(time))}
      stacked
      format={formatRate}
    />
  );
}
