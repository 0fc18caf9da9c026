import { MessageChannel } from 'node:worker_threads';
import { HandedOnBatches } from '../../src/counters/handed-on-batches.ts';
import { HandedOnStore } from '../../src/counters/handed-on-store.ts';
import type { CounterStore } from '../../src/counters/store.ts';
import { TEST_FINGERPRINT_KEY, type Teardown } from './stores.ts';

/** A store that hands its batches on to `store`, and the port at the side of `store`. */
export function handedOn(t: Teardown, store: CounterStore) {
  const { port1, port2 } = new MessageChannel();
  const handing = new HandedOnStore(port1, store);
  new HandedOnBatches(port2, store, TEST_FINGERPRINT_KEY);
  t.teardown(() => handing.stop());
  return { store: handing, port: port2 };
}
