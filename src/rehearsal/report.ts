import { setImmediate as nextTurn } from 'node:timers/promises';
import { FirstOf } from '../base/collections/first-of.ts';
import { type KeyText, readKeyText } from '../decision/hot-keys/key-text.ts';
import type { ChangedKey } from './changed-keys.ts';
import type { ComparedHits } from './comparison.ts';
import type { Rehearsal } from './rehearsal.ts';

/** Number of limits to look at before other work may run. */
const LIMITS_AT_ONCE = 512;

const MOST_KEYS = 50;

/** What the candidate rules change for the hits of one of their limits. */
export interface LimitReport {
  /** Number of the candidate's limit; -1 for all descriptors without a limit. */
  readonly limit: number;
  readonly hits: ComparedHits;
}

/** A key whose outcome the candidate rules have changed lately. */
export interface KeyReport {
  readonly limit: number;
  readonly isRejected: boolean;
  readonly key: string;
  readonly domain: string;
  readonly entries: KeyText['entries'];
  /** How often, among the last changes. */
  readonly count: number;
}

/** What a rehearsal has shown. With a share below 1, hits are those of the chosen keys divided by it. */
export interface RehearsalReport {
  readonly total: ComparedHits;
  /** The limits with hits, those that change the most first. */
  readonly limits: readonly LimitReport[];
  /** The keys with the most changes first. */
  readonly keys: readonly KeyReport[];
}

/** Reads what a rehearsal has shown, a few limits at a time. */
export async function reportOf(rehearsal: Rehearsal, count: number): Promise<RehearsalReport> {
  const { comparison, share } = rehearsal;
  const first = new FirstOf<LimitReport>(count, byChange);
  let total: ComparedHits = { hits: 0, rejected: 0, today: 0, more: 0, fewer: 0 };
  for (let limit = -1; limit < comparison.limitCount; limit++) {
    if (limit % LIMITS_AT_ONCE === LIMITS_AT_ONCE - 1) await nextTurn();
    const hits = scaled(comparison.of(limit), share);
    if (hits.hits === 0) continue;
    total = sum(total, hits);
    first.add({ limit, hits });
  }
  return { total, limits: first.sorted(), keys: keysOf(rehearsal) };
}

function byChange(a: LimitReport, b: LimitReport): number {
  return changeOf(b) - changeOf(a) || b.hits.hits - a.hits.hits || a.limit - b.limit;
}

function changeOf({ hits: { more, fewer } }: LimitReport): number {
  return more + fewer;
}

function scaled({ hits, rejected, today, more, fewer }: ComparedHits, share: number): ComparedHits {
  const all = (value: number) => Math.round(value / share);
  return { hits: all(hits), rejected: all(rejected), today: all(today), more: all(more), fewer: all(fewer) };
}

function sum(a: ComparedHits, b: ComparedHits): ComparedHits {
  return {
    hits: a.hits + b.hits,
    rejected: a.rejected + b.rejected,
    today: a.today + b.today,
    more: a.more + b.more,
    fewer: a.fewer + b.fewer,
  };
}

function keysOf({ keys }: Rehearsal): KeyReport[] {
  const found = new Map<string, { readonly change: ChangedKey; count: number }>();
  for (const change of keys.all()) {
    // Only the texts of the keys that are shown are read, which takes longer than to count them.
    const id = `${change.limit} ${change.isRejected} ${change.text.toString('latin1')}`;
    const same = found.get(id);
    if (same === undefined) found.set(id, { change, count: 1 });
    else same.count++;
  }
  const most = [...found.values()].sort((a, b) => b.count - a.count).slice(0, MOST_KEYS);
  return most.map(({ change: { limit, isRejected, text }, count }) => {
    const { key, domain, entries } = readKeyText(text, 0);
    return { limit, isRejected, key, domain, entries, count };
  });
}
