import type { Histogram } from '../../histogram.ts';
import type { ObserverOptions } from './mapping.ts';

/*
 * The text format 0.0.4 of Prometheus.
 */

/**
 * Converts the name of a statistic into the name of a metric. Characters that are not allowed become `_`, several `-`
 * in a row become one `_`, and a leading digit gets a `_` in front.
 */
export function metricName(name: string): string {
  if (FIT_NAME.test(name)) return name;
  const replaced = name.replace(/-+|[^A-Za-z0-9_]/gu, '_');
  return /^\d/.test(replaced) ? `_${replaced}` : replaced;
}

const FIT_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** A label, without a comma. */
export function labelText(name: string, value: string): string {
  return `${name}="${UNFIT.test(value) ? value.replace(/[\\"\n]/g, escaped) : value}"`;
}

const UNFIT = /[\\"\n]/;

function escaped(char: string): string {
  return char === '\n' ? '\\n' : `\\${char}`;
}

/** The text after `# HELP name`. */
export function helpText(help: string): string {
  return help.replace(/[\\\n]/g, escaped);
}

export function valueText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}

/** `name{labels}`, or the name alone. */
export function seriesText(name: string, labels: string): string {
  return labels === '' ? name : `${name}{${labels}}`;
}

/** Appends a label to labels. */
function withLabel(labels: string, label: string): string {
  return labels === '' ? label : `${labels},${label}`;
}

interface Observed {
  readonly metric: string;
  readonly labels: string;
  readonly timer: Histogram;
  readonly observer: ObserverOptions;
  /** Factor from milliseconds to the unit of the metric. */
  readonly scale: number;
}

/** Formats a timer as a histogram or summary. Quantiles of a summary cover the time since the process started. */
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

/** Rounds to twelve digits. The rounding error of a factor such as 0.001 would move a bound away from its bucket. */
function withoutNoise(value: number): number {
  return Number(value.toPrecision(12));
}
