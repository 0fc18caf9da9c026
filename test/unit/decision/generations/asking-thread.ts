import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import type { CounterStore } from '../../../../src/counters/store.ts';
import { RulesSubscriber } from '../../../../src/decision/generations/rules-subscriber.ts';
import { Decisions, request } from '../../../support/decisions.ts';
import { until } from '../../../support/until.ts';
import { type AskingJob, PUBLICATIONS, TALLY } from './asking-job.ts';

const job = workerData as AskingJob;
const { publications, tally } = job;
const counters = new EmbeddedCounterStore(CounterTable.attach(job.counters));

/** Resolves after four more publications, or when there are no more. */
async function rulesReplaced(): Promise<void> {
  const enough = Math.min(Atomics.load(publications, 0) + 4, PUBLICATIONS);
  await until(() => Atomics.load(publications, 0) >= enough);
}

let batches = 0;
let isOneHeld = false;

/** Some batches are in flight while their rules are replaced. They count statistics after that. */
function wait(): Promise<void> | undefined {
  if (batches++ % 2 === 0) return undefined;
  if (isOneHeld) return nextTurn();
  isOneHeld = true;
  return rulesReplaced().finally(() => {
    isOneHeld = false;
  });
}

const store: CounterStore = {
  name: 'slow',
  increment: batch => {
    counters.increment(batch);
    return wait();
  },
  incrementHoldingBack: batch => counters.incrementHoldingBack(batch),
  start: async () => {},
  stop: async () => {},
};
const decisions = new Decisions({ store, rules: null, generations: new RulesSubscriber(job.feed) });

async function ask(): Promise<void> {
  const published = Atomics.load(publications, 0);
  Atomics.add(tally, TALLY.asked, 1);
  const { statuses } = await decisions.ask(request('d', `thread=${job.index}`));
  const limit = statuses[0].currentLimit?.requestsPerUnit ?? 0;
  if (limit < published) Atomics.add(tally, TALLY.tooOld, 1);
  Atomics.add(tally, TALLY.answered, 1);
}

while (Atomics.load(job.end, 0) === 0) {
  const asked = [ask(), ask(), ask()];
  await nextTurn();
  // Some batches overlap with those of the next turns.
  if (batches % 8 === 0) await Promise.all(asked);
}
await decisions.batcher.drained();
await nextTurn();
parentPort!.postMessage('done');
