import type { Figures, RatePoint } from '../../../decision/statistics/limit-history.ts';
import { type Fields, number, objectSchema, objectView, time, timeText } from './fields.ts';

const FIGURE_FIELDS: Fields<Figures> = {
  hits: [number(), ({ hits }) => rounded(hits)],
  refused: [number('Hits that were refused.'), ({ refused }) => rounded(refused)],
  near_limit: [number('Hits near the limit; see NEAR_LIMIT_RATIO.'), ({ nearLimit }) => rounded(nearLimit)],
  shadow_refused: [
    number('Hits that would have been refused without shadow mode.'),
    ({ shadowRefused }) => rounded(shadowRefused),
  ],
};

const RATE_POINT_FIELDS: Fields<RatePoint> = {
  time: [time('The end of the interval.'), ({ atMs }) => timeText(atMs)],
  seconds: [number('The length of the interval.'), ({ seconds }) => seconds],
  ...FIGURE_FIELDS,
};

/** The figures of a limit, or of all limits together, in answers of the API. */
export const FIGURES = objectSchema(FIGURE_FIELDS);

/** Hits in an interval. */
export const RATE_POINT = objectSchema(RATE_POINT_FIELDS);

/** Figures as {@link FIGURES} describes them. */
export function figuresView(figures: Figures): Record<string, unknown> {
  return objectView(FIGURE_FIELDS, figures);
}

/** An interval as {@link RATE_POINT} describes it. */
export function ratePointView(point: RatePoint): Record<string, unknown> {
  return objectView(RATE_POINT_FIELDS, point);
}

/** A figure of an answer, to three decimal places. */
export function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
