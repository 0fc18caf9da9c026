import { threadId } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import type { BatchObserver } from '../../decision/batch-observer.ts';
import { HotKeyObserver } from '../../decision/hot-keys/hot-key-observer.ts';
import { HotKeys } from '../../decision/hot-keys/hot-keys.ts';
import { LastRefusals } from '../../decision/hot-keys/last-refusals.ts';
import { Seats } from '../../decision/hot-keys/seats.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import type { Settings } from '../../settings/table.ts';
import { servingThreads } from '../../settings/thread-counts.ts';
import type { HotKeyReaders } from '../../transports/debug/operator/hot-key-routes.ts';
import type { StoreSharing } from '../stores/opened-store.ts';

/** Creates the memory for hot keys and last refusals; null if they are disabled. */
export function createHotKeySeats(settings: Settings): Seats | null {
  if (!settings.hotKeys) return null;
  const serving = servingThreads(settings).threads;
  return Seats.create(1 + settings.workerThreads + (serving > 1 ? serving : 0));
}

/** The observers of this thread that record hot keys and last refusals. None if they are disabled. */
export function hotKeyObservers(
  { cacheKeyPrefix }: Settings,
  { fingerprintKey }: Pick<StoreSharing, 'fingerprintKey'>,
  seats: Seats | null,
): BatchObserver[] {
  if (seats === null) return [];
  return [new HotKeyObserver({ seats, threadId, fingerprintKey, cacheKeyPrefix, random: Math.random })];
}

/** The readers of hot keys and last refusals, for the primary thread; null if they are disabled. */
export function hotKeyReaders(
  { cacheKeyPrefix }: Settings,
  { fingerprintKey }: Pick<StoreSharing, 'fingerprintKey'>,
  { seats, ...reading }: { readonly seats: Seats | null } & Reading,
): HotKeyReaders | null {
  if (seats === null) return null;
  const parts = { ...reading, seats, fingerprintKey, cacheKeyPrefix };
  return { hotKeys: new HotKeys(parts), refusals: new LastRefusals(parts) };
}

interface Reading {
  /** The active rules; null before the first load. */
  readonly rules: () => CompiledRules | null;
  readonly clock: Pick<Clock, 'nowMs'>;
}
