import type { ObjectSchema } from '../../../base/schema/schema.ts';
import type { Figures, RatePoint } from '../../../decision/statistics/limit-history.ts';

/** The figures of a limit, or of all limits together, in answers of the API. */
export const FIGURES = {
  hits: { type: 'number' },
  refused: { type: 'number', description: 'Hits that were refused.' },
  near_limit: { type: 'number', description: 'Hits near the limit; see NEAR_LIMIT_RATIO.' },
  shadow_refused: { type: 'number', description: 'Hits that would have been refused without shadow mode.' },
} as const;

/** Hits in an interval. */
export const RATE_POINT = {
  type: 'object',
  properties: {
    time: { type: 'string', format: 'date-time', description: 'The end of the interval.' },
    seconds: { type: 'number', description: 'The length of the interval.' },
    ...FIGURES,
  },
} as const satisfies ObjectSchema;

/** Figures as {@link FIGURES} describes them. */
export function figuresView({ hits, refused, nearLimit, shadowRefused }: Figures): Record<string, number> {
  return {
    hits: rounded(hits),
    refused: rounded(refused),
    near_limit: rounded(nearLimit),
    shadow_refused: rounded(shadowRefused),
  };
}

/** An interval as {@link RATE_POINT} describes it. */
export function ratePointView({ atMs, seconds, ...figures }: RatePoint): Record<string, unknown> {
  return { time: new Date(atMs).toISOString(), seconds, ...figuresView(figures) };
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
