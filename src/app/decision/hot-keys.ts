import { HotKeys } from '../../decision/hot-keys/hot-keys.ts';
import { LastRefusals } from '../../decision/hot-keys/last-refusals.ts';
import { Seats } from '../../decision/hot-keys/seats.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import type { Settings } from '../../settings/table.ts';
import { servingThreads } from '../../settings/thread-counts.ts';
import type { HotKeyReaders } from '../../transports/debug/operator/hot-key-routes.ts';
import type { Surroundings } from '../surroundings.ts';
import type { DecidingSetup } from './deciding.ts';

/** Creates the memory for hot keys and last refusals; null if they are disabled. */
export function createHotKeyMemory(settings: Settings): DecidingSetup['hotKeys'] {
  if (!settings.hotKeys) return null;
  const serving = servingThreads(settings).threads;
  return Seats.create(1 + settings.workerThreads + (serving > 1 ? serving : 0)).buffers;
}

/**
 * The readers of hot keys and last refusals, for the primary thread; null if they are disabled.
 *
 * @param rules returns the active rules; null before the first load
 */
export function hotKeyReaders(
  { clock }: Pick<Surroundings, 'clock'>,
  { settings, store, hotKeys }: DecidingSetup,
  rules: () => CompiledRules | null,
): HotKeyReaders | null {
  if (hotKeys === null) return null;
  const { fingerprintKey } = store;
  const { cacheKeyPrefix } = settings;
  const parts = { seats: new Seats(hotKeys), fingerprintKey, cacheKeyPrefix, rules, clock };
  return { hotKeys: new HotKeys(parts), refusals: new LastRefusals(parts) };
}
