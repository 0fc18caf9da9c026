import { Outage, type OutageTexts } from '../../base/outage-log.ts';
import type { Settings } from '../../settings/table.ts';
import type { StoreParts } from './opened-store.ts';

/** What happens to requests while the store is unavailable. */
const CONSEQUENCES = {
  error: 'requests that need it fail',
  allow: 'requests are decided as if nothing had been counted',
  deny: 'requests are decided as if every limit had been reached',
  local: 'requests are counted in this process',
} as const satisfies Record<Settings['storeFailureMode'], string>;

/**
 * What is told of a store, or of one instance of it, while it cannot be used.
 * @param store which one, as people are told
 */
export function storeOutage(parts: StoreParts, store: string): Outage {
  const { settings, clock, outages, shared } = parts;
  const { storeFailureMode: mode } = settings;
  const name = settings.backendType === 'redis' ? 'Redis' : 'memcached';
  const began = `${name} is unavailable; ${CONSEQUENCES[mode]}`;
  const isFirstThread = shared === undefined;
  const texts: OutageTexts = {
    level: mode === 'error' ? 'error' : 'warning',
    began,
    ...(mode === 'error' && isFirstThread
      ? { beganAtStart: `${name} is unavailable; ports stay closed until it answers` }
      : {}),
    over: `${name} is available again`,
    fields: { store },
  };
  return new Outage(texts, outages, clock);
}
