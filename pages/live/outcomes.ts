import type { PlotSeries } from '../design/plots/plot.tsx';
import type { Figures, RatePoint } from './api.ts';

/** Hits per second, by what became of them. Each hit is in one of these. */
interface Outcomes {
  readonly allowed: number;
  /** Allowed, near the limit. */
  readonly near: number;
  /** Allowed, because the limit is in shadow mode. */
  readonly shadow: number;
  readonly rejected: number;
}

/** Divides the hits of a point by their outcomes. Figures of different threads may be a moment apart. */
export function outcomesOf(point: RatePoint): Outcomes {
  const { hits, refused, near_limit: near, shadow_refused: shadow } = perSecond(point);
  return { allowed: Math.max(0, hits - refused - near - shadow), near, shadow, rejected: refused };
}

/** The points as series of a plot, in which the outcomes add up to the hits. */
export function outcomeSeries(points: readonly RatePoint[]): readonly PlotSeries[] {
  const outcomes = points.map(outcomesOf);
  return [
    { name: 'Rejected', kind: 'rejected', values: outcomes.map(({ rejected }) => rejected) },
    { name: 'Shadow', kind: 'shadow', values: outcomes.map(({ shadow }) => shadow) },
    { name: 'Near limit', kind: 'near', values: outcomes.map(({ near }) => near) },
    { name: 'Allowed', kind: 'allowed', values: outcomes.map(({ allowed }) => allowed) },
  ];
}

/** The figures of a point, per second. */
export function perSecond({ seconds, ...figures }: RatePoint): Figures {
  const rate = (hits: number) => (seconds > 0 ? hits / seconds : 0);
  return {
    hits: rate(figures.hits),
    refused: rate(figures.refused),
    near_limit: rate(figures.near_limit),
    shadow_refused: rate(figures.shadow_refused),
  };
}

/** As many values as `count` at most: each is the mean of as many neighbors. */
export function thinned(values: readonly number[], count: number): readonly number[] {
  const size = Math.ceil(values.length / count);
  if (size <= 1) return values;
  return Array.from({ length: Math.ceil(values.length / size) }, (_, i) => {
    const part = values.slice(i * size, (i + 1) * size);
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  });
}
