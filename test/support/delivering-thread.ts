import { workerData } from 'piscina';
import { systemClock } from '../../src/base/clock.ts';
import type { LastingTask } from '../../src/base/threads/inside-thread.ts';
import { type DeliverySetup, serveDeliveries } from '../../src/tasks/delivery/delivery-thread.ts';
import { type Resolve, systemResolve } from '../../src/tasks/delivery/host-addresses.ts';

/** What a test gives its delivery threads. */
export interface DeliveringSetup extends DeliverySetup {
  /** How many threads have begun. */
  readonly begun: Int32Array<SharedArrayBuffer>;
  /** Numbers of those that are to fail at once, from 1. */
  readonly failing: readonly number[];
}

const setup = workerData as DeliveringSetup;
if (setup.failing.includes(Atomics.add(setup.begun, 0, 1) + 1)) throw new Error('it does not begin');

/** Names that are fatal to the thread that looks them up. */
const resolve: Resolve = host => {
  if (host === 'exit.example.com') process.exit(3);
  if (host === 'throw.example.com') {
    setImmediate(() => {
      throw new Error('a defect');
    });
    return new Promise(() => {});
  }
  if (host === 'stuck.example.com') for (;;);
  return systemResolve(host);
};

/** A delivery thread that tests can bring down. */
export default function deliver(task: LastingTask): Promise<void> {
  return serveDeliveries(task, setup, resolve, systemClock);
}
