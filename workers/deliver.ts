import { workerData } from 'node:worker_threads';
import { systemClock } from '../src/base/clock.ts';
import { type LastingTask, runBehindDecisions } from '../src/base/threads/inside-thread.ts';
import { type DeliverySetup, serveDeliveries } from '../src/tasks/delivery/delivery-thread.ts';
import { systemResolve } from '../src/tasks/delivery/host-addresses.ts';

runBehindDecisions();

/** Pushes tasks beside the thread that has the connections of the API; see `src/tasks/delivery`. */
export default function deliver(task: LastingTask): Promise<void> {
  return serveDeliveries(task, workerData as DeliverySetup, systemResolve, systemClock);
}
