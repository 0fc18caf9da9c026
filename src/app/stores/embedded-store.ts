import { randomBytes } from 'node:crypto';
import type { Outage } from '../../base/outage-log.ts';
import { CounterTable } from '../../counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../counters/embedded/embedded-store.ts';
import { readSnapshotKey } from '../../counters/embedded/snapshot.ts';
import { SnapshotKeeper } from '../../counters/embedded/snapshot-keeper.ts';
import type { FingerprintKey } from '../../counters/fingerprint.ts';
import { GuardedStore } from '../../counters/guarded-store.ts';
import type { CounterStore } from '../../counters/store.ts';
import type { StoreParts } from './opened-store.ts';

/** The key by which this process knows counters: the one of the counters that it is to read, else a new one. */
export function chooseFingerprintKey(snapshotPath: string): FingerprintKey {
  const known = snapshotPath === '' ? null : readSnapshotKey(snapshotPath);
  if (known !== null) return known;
  const bytes = randomBytes(16);
  return [bytes.readInt32LE(0), bytes.readInt32LE(4), bytes.readInt32LE(8), bytes.readInt32LE(12)];
}

/**
 * The embedded store; in further threads of the process the one of the first.
 * @throws Error naming the setting, when the system does not give the process as much memory
 */
export function createEmbeddedStore({ settings, stats, shared }: StoreParts): {
  readonly store: EmbeddedCounterStore;
  readonly table: CounterTable;
} {
  if (shared?.memory != null) {
    const table = CounterTable.attach(shared.memory);
    return { store: new EmbeddedCounterStore(table), table };
  }
  const table = openTable(settings.memoryStoreMaxKeys);
  stats.gauge('ratelimit.memory_store.evicted', () => table.evicted);
  return { store: new EmbeddedCounterStore(table), table };
}

/** What keeps the counters of the embedded store over a restart; null when nothing is to. */
export function createSnapshotKeeper(
  { settings, stats, clock, logger }: StoreParts,
  table: CounterTable,
  fingerprintKey: FingerprintKey,
): SnapshotKeeper | null {
  if (settings.memoryStoreSnapshotPath === '') return null;
  return new SnapshotKeeper({
    path: settings.memoryStoreSnapshotPath,
    intervalMs: settings.memoryStoreSnapshotIntervalMs,
    table,
    fingerprintKey,
    counters: {
      saved: stats.counter('ratelimit.memory_store.snapshots'),
      failed: stats.counter('ratelimit.memory_store.snapshot_errors'),
    },
    clock,
    logger,
  });
}

function openTable(maxKeys: number): CounterTable {
  try {
    return CounterTable.create(maxKeys);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const text = `there is not enough memory for MEMORY_STORE_MAX_KEYS=${maxKeys}: set a smaller number, or give the process more memory`;
    throw new Error(text, { cause });
  }
}

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
    fingerprintKey,
    keyPrefix: settings.cacheKeyPrefix,
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
