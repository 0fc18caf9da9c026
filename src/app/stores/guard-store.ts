import type { Outage } from '../../base/outage-log.ts';
import type { FingerprintKey } from '../../counters/fingerprint.ts';
import { GuardedStore, ProbeKeys, UncountedOps } from '../../counters/guarded-store.ts';
import type { CounterStore } from '../../counters/store.ts';
import type { StoreParts } from './opened-store.ts';

/** The store, kept from failing requests as `STORE_FAILURE_MODE` says. */
export function guardStore(
  store: CounterStore,
  parts: StoreParts & { readonly local: CounterStore | null; readonly outage: Outage },
  fingerprintKey: FingerprintKey,
): CounterStore {
  const { settings, stats, clock, logger, outage } = parts;
  const guarded = new GuardedStore({
    store,
    local: parts.local,
    outage,
    uncounted: new UncountedOps(fingerprintKey),
    probes: new ProbeKeys(fingerprintKey, settings.cacheKeyPrefix),
    counters: {
      storeError: stats.counter('ratelimit.service.call.should_rate_limit.redis_error'),
      outages: stats.counter('ratelimit.store_failure.outages'),
    },
    clock,
    logger,
  });
  stats.gauge('ratelimit.store_failure.active', () => (guarded.reason === null ? 0 : 1));
  return guarded;
}
