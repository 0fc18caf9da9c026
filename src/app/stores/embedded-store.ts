import { randomBytes } from 'node:crypto';
import type { FileLock } from '../../base/files/file-lock.ts';
import { CounterTable } from '../../counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../counters/embedded/embedded-store.ts';
import { MeasuredEmbeddedStore } from '../../counters/embedded/measured-store.ts';
import { readSnapshotKey } from '../../counters/embedded/snapshot.ts';
import { SnapshotKeeper } from '../../counters/embedded/snapshot-keeper.ts';
import type { FingerprintKey } from '../../counters/fingerprint.ts';
import type { CounterStore } from '../../counters/store.ts';
import { StoreCalls } from '../../counters/store-calls.ts';
import type { StoreParts } from './opened-store.ts';

/** Returns the fingerprint key of the counters: that of the snapshot, so that its counters are found, or a new key. */
export function chooseFingerprintKey(snapshotPath: string): FingerprintKey {
  const known = snapshotPath === '' ? null : readSnapshotKey(snapshotPath);
  if (known !== null) return known;
  const bytes = randomBytes(16);
  return [bytes.readInt32LE(0), bytes.readInt32LE(4), bytes.readInt32LE(8), bytes.readInt32LE(12)];
}

/**
 * Creates the embedded store. Threads other than the primary thread attach to the table of the primary thread.
 *
 * @throws Error that names the setting, if there is not enough memory
 */
export function createEmbeddedStore({ settings, stats, shared }: StoreParts): {
  readonly store: CounterStore;
  readonly table: CounterTable;
} {
  const memory = shared?.memory ?? null;
  const table = memory === null ? openTable(settings.memoryStoreMaxKeys) : CounterTable.attach(memory);
  if (memory === null) {
    stats.gauge('ratelimit.memory_store.evicted', () => table.evicted);
    stats.gauge('ratelimit.memory_store.leases', () => table.leases.count);
  }
  const calls = new StoreCalls(stats, 'embedded', ['ok']);
  return { store: new MeasuredEmbeddedStore(new EmbeddedCounterStore(table), calls), table };
}

/** Creates the keeper that preserves counters across restarts. */
export function createSnapshotKeeper(
  { settings, stats, clock, logger }: StoreParts,
  lock: FileLock,
  { table, fingerprintKey }: { readonly table: CounterTable; readonly fingerprintKey: FingerprintKey },
): SnapshotKeeper {
  return new SnapshotKeeper({
    path: settings.memoryStoreSnapshotPath,
    lock,
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
    const text = `there is not enough memory for MEMORY_STORE_MAX_KEYS=${maxKeys}; set a smaller number, or give the process more memory`;
    throw new Error(text, { cause });
  }
}
