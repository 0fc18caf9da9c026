/** Names of the statistics of a rule, in slot order (spec 6). */
export const RULE_STATS = [
  'total_hits',
  'within_limit',
  'near_limit',
  'over_limit',
  'over_limit_with_local_cache',
  'shadow_mode',
  'total_negative_hits',
] as const;

/** Slots of the statistics of a rule. A row has `RULE_STATS.length` numbers. */
export const RULE_STAT = {
  totalHits: 0,
  withinLimit: 1,
  nearLimit: 2,
  overLimit: 3,
  overLimitWithLocalCache: 4,
  shadowMode: 5,
  totalNegativeHits: 6,
} as const;

/** Prefix of the names of rule statistics. */
export const RULE_PREFIX = 'ratelimit.service.rate_limit.';

/**
 * Matches all names that {@link sanitiseStatName} may change. Most names stay the same, and every decision checks one.
 */
const UNFIT = /[:|\r\n]|\d\.\d{1,3}\.\d{1,3}\.\d/;

const DOTTED_QUAD = /\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}/g;

/**
 * Replaces characters of a domain or metric key that line protocols reserve: `:`, `|` and line breaks become `_`. The
 * dots of an IPv4 address become `_` as well, because they would otherwise be read as levels of the name.
 */
export function sanitiseStatName(name: string): string {
  if (!UNFIT.test(name)) return name;
  const replaced = name.replace(/[:|\r\n]/g, '_');
  return replaced.replace(DOTTED_QUAD, quad => quad.replaceAll('.', '_'));
}
