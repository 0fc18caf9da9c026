import { getPage } from '../asking.ts';
import type { Counter } from './load.ts';
import type { Tally } from './tally.ts';

/** Statistics of a rule. */
export type RuleTotals = Readonly<Record<(typeof NAMES)[number], number>>;

const NAMES = ['total_hits', 'within_limit', 'near_limit', 'over_limit'] as const;

/** Hits above this share of a limit are near it. With limits that are multiples of 5 it gives whole numbers. */
const NEAR_RATIO = 4 / 5;

/**
 * The statistics that the answers of a load must have left, by metric key. They are the same for every order of the
 * calls: each hit counts once, by where it lies in its counter. Only for loads without failed calls.
 */
export function expectedStatistics(tallies: ReadonlyMap<Counter, Tally>): Map<string, RuleTotals> {
  const expected = new Map<string, RuleTotals>();
  for (const [{ rule, limit }, { ops, answered }] of tallies) {
    const before = expected.get(rule);
    const own: RuleTotals = {
      total_hits: answered,
      within_limit: sum(ops.map(op => (op.after === null ? 0 : op.hits))),
      near_limit: Math.max(Math.min(answered, limit) - limit * NEAR_RATIO, 0),
      over_limit: Math.max(answered - limit, 0),
    };
    expected.set(
      rule,
      mapTotals(name => own[name] + (before?.[name] ?? 0)),
    );
  }
  return expected;
}

/** The statistics of these rules, of all processes with these debug ports together. */
export async function countedStatistics(
  debugAddresses: readonly string[],
  rules: Iterable<string>,
): Promise<Map<string, RuleTotals>> {
  const pages = await Promise.all(debugAddresses.map(statisticsOf));
  const total = (name: string) => sum(pages.map(page => page.get(name) ?? 0));
  return new Map(
    [...rules].map(rule => [rule, mapTotals(name => total(`ratelimit.service.rate_limit.${rule}.${name}`))]),
  );
}

/** Every statistic of a process, by name. */
export async function statisticsOf(debugAddress: string): Promise<Map<string, number>> {
  const { text } = await getPage(debugAddress, '/stats');
  const lines = text.split('\n').filter(line => line.includes(': '));
  return new Map(
    lines.map(line => {
      const at = line.lastIndexOf(': ');
      return [line.slice(0, at), Number(line.slice(at + 2))];
    }),
  );
}

function mapTotals(of: (name: (typeof NAMES)[number]) => number): RuleTotals {
  const [total_hits, within_limit, near_limit, over_limit] = NAMES.map(of);
  return { total_hits, within_limit, near_limit, over_limit };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
