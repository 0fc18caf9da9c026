import type { Histogram } from '../../histogram.ts';
import type { ObserverOptions } from './mapping.ts';
import { labelText, seriesText, valueText, withLabel } from './text-format.ts';

export interface Observed {
  readonly metric: string;
  readonly labels: string;
  readonly timer: Histogram;
  readonly observer: ObserverOptions;
  /** Factor from milliseconds to the unit that is shown. */
  readonly scale: number;
}

/** A timer as a histogram or summary. The quantiles of a summary are those since the start of the process. */
export function observerLines(observed: Observed): string {
  const { metric, labels, timer, observer, scale } = observed;
  const lines =
    observer.type === 'histogram'
      ? bucketLines(observed, observer.buckets)
      : quantileLines(observed, observer.quantiles);
  lines.push(`${seriesText(`${metric}_sum`, labels)} ${valueText(withoutNoise(timer.sumMs * scale))}\n`);
  lines.push(`${seriesText(`${metric}_count`, labels)} ${timer.count}\n`);
  return lines.join('');
}

function bucketLines({ metric, labels, timer, scale }: Observed, buckets: readonly number[]): string[] {
  const line = (bound: number, count: number): string => {
    const all = withLabel(labels, labelText('le', valueText(bound)));
    return `${seriesText(`${metric}_bucket`, all)} ${count}\n`;
  };
  const lines = buckets.map(bound => line(bound, timer.countWithin(withoutNoise(bound / scale))));
  return [...lines, line(Number.POSITIVE_INFINITY, timer.count)];
}

function quantileLines({ metric, labels, timer, scale }: Observed, quantiles: readonly number[]): string[] {
  return quantiles.map(quantile => {
    const value = timer.count === 0 ? Number.NaN : withoutNoise(timer.quantileMs(quantile) * scale);
    const all = withLabel(labels, labelText('quantile', valueText(quantile)));
    return `${seriesText(metric, all)} ${valueText(value)}\n`;
  });
}

/** What a factor of a thousandth leaves behind the twelfth digit would put a bound beside that of its bucket. */
function withoutNoise(value: number): number {
  return Number(value.toPrecision(12));
}
