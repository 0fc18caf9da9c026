/** Names of the statistics of a rule, in the order of their slots (spec 6). */
export const RULE_STATS = [
  'total_hits',
  'within_limit',
  'near_limit',
  'over_limit',
  'over_limit_with_local_cache',
  'shadow_mode',
  'total_negative_hits',
] as const;

/** Slots of the statistics of a rule; a row of them has `RULE_STATS.length` numbers. */
export const RULE_STAT = {
  totalHits: 0,
  withinLimit: 1,
  nearLimit: 2,
  overLimit: 3,
  overLimitWithLocalCache: 4,
  shadowMode: 5,
  totalNegativeHits: 6,
} as const;

/** What rule statistics begin with. */
export const RULE_PREFIX = 'ratelimit.service.rate_limit.';

/** Whatever of {@link sanitiseStatName} may apply. Most names need none of it, and this is asked for each decision. */
const UNFIT = /[:|\r\n]|\d\.\d{1,3}\.\d{1,3}\.\d/;

const DOTTED_QUAD = /\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}/g;

/**
 * Makes a domain or metric key fit for line protocols: `:` and `|` become `_`, and so do the dots of whatever looks
 * like an IPv4 address, which would otherwise spread over four levels of the name. Line breaks, which would end a
 * line of the protocol, become `_` as well.
 */
export function sanitiseStatName(name: string): string {
  if (!UNFIT.test(name)) return name;
  const replaced = name.replace(/[:|\r\n]/g, '_');
  return replaced.replace(DOTTED_QUAD, quad => quad.replaceAll('.', '_'));
}
