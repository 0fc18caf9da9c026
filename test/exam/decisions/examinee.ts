import type { Test } from 'tap';
import type { CounterStore } from '../../../src/counters/store.ts';
import { Decisions, request } from '../../support/decisions.ts';
import type { StoreKind } from '../../support/stores.ts';
import { type EntryText, ruleFile } from './rule-file.ts';

/** Gives a fresh, empty store that is closed when the test ends. */
export type OpenStore = () => Promise<CounterStore>;

type Exam = (t: Test, open: OpenStore) => void;

/** Runs exams with each kind of store. */
export function examineAll(t: Test, kinds: readonly StoreKind[], ...exams: readonly Exam[]): void {
  for (const kind of kinds) {
    t.test(kind.name, async t => {
      for (const examine of exams) examine(t, () => kind.open(t));
    });
  }
}

/** Decisions by these entries of the domain `d`, in a store of their own. */
export async function deciding(open: OpenStore, ...entries: readonly EntryText[]): Promise<Decisions> {
  return new Decisions({ store: await open(), rules: ruleFile(...entries) });
}

/** `RateLimitResponse.Code`. */
export const OK = 1;
export const OVER_LIMIT = 2;

/** Statuses as texts: `OK 6`, `OVER_LIMIT 0`. */
export function shown(
  statuses: readonly { readonly code: number; readonly limitRemaining: number }[],
): string[] {
  return statuses.map(({ code, limitRemaining }) => `${code === OK ? 'OK' : 'OVER_LIMIT'} ${limitRemaining}`);
}

/** The name of the limit that a descriptor of the domain `d` is decided by; null for none. */
export async function limitFor(decisions: Decisions, descriptorText: string): Promise<string | null> {
  const response = await decisions.ask(request('d', descriptorText));
  return response.statuses[0].currentLimit?.name ?? null;
}

/** What one call adds to all statistics, by name after `ratelimit.service.`; those that do not change are left out. */
export async function grown(
  decisions: Decisions,
  call: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const before = new Map(decisions.stats.counters());
  await call();
  const difference: Record<string, number> = {};
  for (const [name, total] of decisions.stats.counters()) {
    const growth = total - (before.get(name) ?? 0);
    if (growth !== 0) difference[name.replace('ratelimit.service.', '')] = growth;
  }
  return difference;
}
