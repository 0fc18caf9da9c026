import { parentPort, workerData } from 'node:worker_threads';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { LeaseScene } from '../../../exam/counter-leases/scene.ts';
import { NOON } from '../../../support/counting.ts';
import { callsFor, concurrent, reserving } from '../../../support/leases.ts';

/** What a leasing thread is to do: in each round, to take hits and a slot, and to settle and release them if it got them. */
export interface LeasingJob {
  readonly buffer: SharedArrayBuffer;
  readonly rounds: number;
  /** The name of the thread, for the names of its holders. */
  readonly name: string;
}

/** What a leasing thread has seen. */
export interface LeasingReport {
  /** The hits that it settled. */
  readonly spent: number;
  readonly refused: number;
  /** The most hits and slots that were ever held or spent together, beyond those that are spent. */
  readonly mostHeld: number;
  readonly mostSlots: number;
}

const { buffer, rounds, name } = workerData as LeasingJob;
const scene = new LeaseScene(new EmbeddedCounterStore(CounterTable.attach(buffer)), NOON.nowS * 1_000);
const [tokens, slots] = [callsFor('tokens', reserving(1_000_000)), callsFor('slots', concurrent(2))];
const report = { spent: 0, refused: 0, mostHeld: 0, mostSlots: 0 };
for (let round = 0; round < rounds; round++) {
  const holder = `${name} ${round}`;
  const [hits, slot] = await scene.together(tokens(holder).op(10), slots(holder).op(1));
  report.mostSlots = Math.max(report.mostSlots, slot.after);
  if (slot.refused || hits.heldBack) {
    report.refused++;
    continue;
  }
  const held = await scene.look(tokens(holder).op(0));
  report.mostHeld = Math.max(report.mostHeld, held.held);
  const used = round % 20;
  const settled = used === 0 ? tokens(holder).refund(10) : tokens(holder).op(used);
  await scene.together(settled, slots(holder).refund(1));
  report.spent += used;
}
parentPort!.postMessage(report satisfies LeasingReport);
