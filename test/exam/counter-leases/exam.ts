import type { Test } from 'tap';
import type { CounterStore } from '../../../src/counters/store.ts';
import { NOON } from '../../support/counting.ts';
import type { Exemptions } from '../exemptions.ts';
import { concurrency } from './concurrency.ts';
import { ends } from './ends.ts';
import { numbers } from './numbers.ts';
import { overdrafts } from './overdrafts.ts';
import { random, randomTimes } from './random.ts';
import { reading } from './reading.ts';
import { requests } from './requests.ts';
import { reservations } from './reservations.ts';
import { LeaseScene, type LeaseTopic } from './scene.ts';
import { serverClock } from './server-clock.ts';
import { windows } from './windows.ts';

const TOPICS: Readonly<Record<string, LeaseTopic>> = {
  reservations,
  overdrafts,
  concurrency,
  'several limits': requests,
  'large numbers': numbers,
  reading,
  'random requests': random,
};

/** Topics for stores whose leases end by the time of the batch. */
const TIMES: Readonly<Record<string, LeaseTopic>> = { ends, windows, 'random times': randomTimes };

/** How every counter store that can lease hits does so. `open` gives a started, empty store. */
export function leaseExam(
  t: Test,
  open: (t: Test) => Promise<CounterStore>,
  { batchClock, leaseBatches }: Exemptions = {},
): void {
  const ofClock = batchClock === undefined ? TIMES : { 'the clock of the server': serverClock };
  const startMs = batchClock === undefined ? NOON.nowS * 1_000 : Date.now();
  for (const [name, topic] of Object.entries({ ...TOPICS, ...ofClock })) {
    t.test(name, async t => {
      topic((title, show) => {
        t.test(title, async t => show(new LeaseScene(await open(t), startMs, leaseBatches !== undefined), t));
      });
    });
  }
}
