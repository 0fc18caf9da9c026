import type { RuleRates } from '../../../decision/statistics/rule-rates.ts';
import { choice, list, object, optional, orNull, text, whole } from './fields.ts';
import { RATE_POINT, ratePointView } from './figures.ts';
import { type OperatorAnswer, type OperatorRoute, reads } from './route.ts';

/** Number of limits that are told apart with `by=limit`. */
const LIMITS = 5;

const RATES_SCHEMA = object({
  points: list(
    RATE_POINT,
    'Of all limits together: one for every ten seconds, or with `by=limit` for every minute.',
  ),
  limits: optional(
    list(
      object({
        number: orNull(whole('Null if the limit has had no hits since rules were loaded.')),
        path: text(),
        points: list(RATE_POINT),
      }),
      `With \`by=limit\`: at most ${LIMITS} limits that refused hits in the last hour, the most first.`,
    ),
  ),
  rest: optional(object({ points: list(RATE_POINT) }, 'With `by=limit`: all other limits together.')),
});

/** `GET /rates`. */
export function ratesRoutes(rates: Pick<RuleRates, 'look' | 'points' | 'history'>): OperatorRoute[] {
  return [
    {
      ...reads(
        '/rates',
        'getRates',
        'Read the hits of the last hour, of all limits together or of those that refused the most',
      ),
      query: {
        by: optional(
          choice(['limit'], `\`limit\`: the ${LIMITS} limits with the most refusals, and the rest together.`),
        ),
      },
      answer: { description: 'The points, the oldest first.', schema: RATES_SCHEMA },
      handle: async ({ query }) => {
        await rates.look();
        return query['by'] === 'limit'
          ? byLimit(rates)
          : { json: { points: rates.points.map(ratePointView) } };
      },
    },
  ];
}

function byLimit({ history }: Pick<RuleRates, 'history'>): OperatorAnswer {
  const { all, first, rest } = history.mostRefused(LIMITS);
  return {
    json: {
      points: all.map(ratePointView),
      limits: first.map(({ path, limit, points }) => ({
        number: limit,
        path,
        points: points.map(ratePointView),
      })),
      rest: { points: rest.map(ratePointView) },
    },
  };
}
