import type { FingerprintKey } from '../counters/fingerprint.ts';
import { GuardedStore } from '../counters/guarded/guarded-store.ts';
import { ProbeKeys } from '../counters/guarded/probe-keys.ts';
import { UncountedOps } from '../counters/guarded/uncounted-ops.ts';
import type { CounterStore } from '../counters/store.ts';
import type { Settings } from '../settings/table.ts';
import type { StoreParts } from './stores.ts';

/** What becomes of requests while the store fails, as the log says it. */
const FATES = {
  allow: 'decided as if nothing were counted',
  deny: 'decided as if every limit were used up',
  local: 'counted in this process',
} as const satisfies Record<Exclude<Settings['storeFailureMode'], 'error'>, string>;

/** The store, kept from failing requests as `STORE_FAILURE_MODE` says; the store itself where that is `error`. */
export function guardStore(
  store: CounterStore,
  parts: StoreParts & { readonly local: CounterStore | null },
  fingerprintKey: FingerprintKey,
): CounterStore {
  const { settings, stats, clock, logger, storeChanged = () => {} } = parts;
  const mode = settings.storeFailureMode;
  if (mode === 'error') return store;
  const guarded = new GuardedStore({
    store,
    local: parts.local,
    fate: FATES[mode],
    uncounted: new UncountedOps(fingerprintKey),
    probes: new ProbeKeys(fingerprintKey, settings.cacheKeyPrefix),
    counters: {
      storeError: stats.counter('ratelimit.service.call.should_rate_limit.redis_error'),
      outages: stats.counter('ratelimit.store_failure.outages'),
    },
    changed: storeChanged,
    clock,
    logger,
  });
  stats.gauge('ratelimit.store_failure.active', () => (guarded.reason === null ? 0 : 1));
  return guarded;
}
