import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { saveSnapshot } from '../../../../src/counters/embedded/snapshot.ts';
import { batchOf, NOON } from '../../../support/counting.ts';
import { TEST_FINGERPRINT_KEY } from '../../../support/stores.ts';

// A process that writes snapshots of one table until it is killed, or once: `node snapshot-writer.js PATH KEYS [once]`.
const [path, keys, once] = process.argv.slice(2);
const table = CounterTable.create(Number(keys));
const store = new EmbeddedCounterStore(table);
const ops = Array.from({ length: Number(keys) }, (_, i) => ({ key: `key-${i}`, hits: i + 1 }));
store.increment(batchOf([{ ops }], { ...NOON, expiryS: NOON.nowS + 3_600 }));
const header = { writtenMs: NOON.nowS * 1_000, fingerprintKey: TEST_FINGERPRINT_KEY };
try {
  do {
    await saveSnapshot(path, table, header);
    process.stdout.write('saved\n');
  } while (once === undefined);
} catch (failure) {
  process.stdout.write(`failed: ${(failure as Error).message}\n`);
}
