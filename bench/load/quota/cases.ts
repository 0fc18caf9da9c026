import type { Store } from '../decisions/contestants.ts';
import { STORES } from '../decisions/contestants.ts';
import type { Proxies } from '../decisions/plan.ts';

/** The domain of all rules of benches. */
export const DOMAIN = 'bench';

/** Requests of each bucket in a report. */
export const ALLOWED = 1;

/** Requests per second of each limit: more than proxies report. */
const PER_SECOND = 50_000;

/**
 * The limits, by their unit, which is also the key of their buckets. What proxies get in a minute is paid for in the
 * present minute, and perhaps in the next one. Seconds are paid for each by itself.
 */
export const LIMITS = { minute: 60 * PER_SECOND, second: PER_SECOND } as const;
export type LimitUnit = keyof typeof LIMITS;

/** What is measured together: a service of its own, and proxies that all have the same buckets. */
export interface QuotaCase {
  readonly store: Store;
  readonly unit: LimitUnit;
  readonly proxies: Proxies;
}

export function casesOf(stores: readonly Store[], shapes: readonly Proxies[]): QuotaCase[] {
  return STORES.filter(store => stores.includes(store)).flatMap(store =>
    shapes.flatMap(proxies => (Object.keys(LIMITS) as LimitUnit[]).map(unit => ({ store, unit, proxies }))),
  );
}

/** The rules of the limits. */
export function quotaRules(): string {
  const rules = Object.entries(LIMITS).map(
    ([unit, limit]) => `  - key: ${unit}\n    rate_limit: { unit: ${unit}, requests_per_unit: ${limit} }\n`,
  );
  return `domain: ${DOMAIN}\ndescriptors:\n${rules.join('')}`;
}
