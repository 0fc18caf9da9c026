import { median } from '../statistics.ts';
import { formatNumber, formatTable } from '../table.ts';
import { type Interval, medianInterval } from './interval.ts';

/** One figure of two builds, round by round. */
export interface ComparedFigure {
  readonly name: string;
  readonly decimals: number;
  readonly better: 'more' | 'less';
  readonly present: readonly number[];
  readonly other: readonly number[];
}

/** What two builds did in the same rounds. */
export interface Compared {
  readonly title: string;
  readonly figures: readonly ComparedFigure[];
}

/** The ratio of the present build to the other: the median of the ratios within each round, and how certain it is. */
export interface ComparedRatio {
  readonly ratio: number;
  /** Null if there are too few rounds. */
  readonly interval: Interval | null;
  readonly verdict: string;
}

export function comparedRatio({ better, present, other }: ComparedFigure): ComparedRatio {
  const ratios = present.map((value, round) => value / other[round]);
  const interval = medianInterval(ratios);
  return {
    ratio: median(ratios),
    interval,
    verdict: ratios.some(Number.isNaN) ? 'not measured' : verdictOf(interval, better),
  };
}

function verdictOf(interval: Interval | null, better: ComparedFigure['better']): string {
  if (interval === null) return 'too few rounds';
  const { low, high } = interval;
  if (low <= 1 && high >= 1) return 'no difference can be shown';
  return low > 1 === (better === 'more') ? 'better' : 'worse';
}

/**
 * Medians of both builds, and the ratios with their 95 % confidence intervals. Figures that were not measured are left
 * out.
 */
export function comparedTable(compared: readonly Compared[], other: string): string[] {
  const rows = compared.flatMap(({ title, figures }) => [
    [title],
    ...figures
      .filter(({ present }) => !present.some(Number.isNaN))
      .map(figure => {
        const { ratio, interval, verdict } = comparedRatio(figure);
        return [
          `  ${figure.name}`,
          formatNumber(median(figure.present), figure.decimals),
          formatNumber(median(figure.other), figure.decimals),
          formatNumber(ratio, 3),
          interval === null ? '-' : `${formatNumber(interval.low, 3)}–${formatNumber(interval.high, 3)}`,
          verdict,
        ];
      }),
  ]);
  return formatTable(['', 'present', other, 'ratio', '95 %', ''], rows);
}
