import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { RulesPublisher } from '../../../../src/decision/generations/rules-publisher.ts';
import { RuleGeneration, RuleStatistics } from '../../../../src/decision/statistics/rule-statistics.ts';
import { until } from '../../../support/until.ts';
import { compiled } from '../../rules/parse/rule-text.ts';
import { type AskingJob, PUBLICATIONS, TALLY } from './asking-job.ts';

const THREADS = 4;

/** A thread that is terminated in the middle of its work, after this many publications. */
const TERMINATED = 3;
const TERMINATED_AFTER = 100;

/** Rules for all threads with the number of their publication as limit. Rules move to other places with each load. */
function generation(publication: number): RuleGeneration {
  const others = Array.from(
    { length: publication % 3 },
    (_, i) => `{key: other${i}, rate_limit: {unit: day}}`,
  );
  const own = Array.from({ length: THREADS }, (_, index) => (index + publication) % THREADS).map(
    index => `{key: thread, value: '${index}', rate_limit: {unit: day, requests_per_unit: ${publication}}}`,
  );
  const text = `domain: d\ndescriptors: [${[...others, ...own].join(', ')}]`;
  return new RuleGeneration(compiled(text));
}

t.test('under load, no batch uses rules older than those published, and no hit is lost', async t => {
  const publisher = new RulesPublisher();
  const statistics = new RuleStatistics();
  const generations: RuleGeneration[] = [];
  const shared = (): Int32Array => new Int32Array(new SharedArrayBuffer(16));
  const publications = shared();
  const end = shared();
  const counters = CounterTable.create(1_024).buffer;
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const threads = Array.from({ length: THREADS }, (_, index) => {
    const tally = shared();
    // Not the number of the thread, which is known only when the port has been transferred.
    const feed = publisher.attach(index);
    const job: AskingJob = { index, feed, counters, publications, tally, end };
    const worker = new Worker(new URL(`./asking-thread.${extension}`, import.meta.url), {
      workerData: job,
      transferList: [feed.port],
    });
    return { index, tally, worker };
  });
  t.teardown(() => Promise.all(threads.map(({ worker }) => worker.terminate())));
  const asked = (index: number): number => Atomics.load(threads[index].tally, TALLY.asked);
  const answered = (index: number): number => Atomics.load(threads[index].tally, TALLY.answered);

  const publish = (): void => {
    const rules = generation(generations.length + 1);
    const replaced = generations.at(-1);
    generations.push(rules);
    statistics.publish(rules);
    publisher.publish(rules);
    Atomics.add(publications, 0, 1);
    replaced?.replaced(() => {});
  };
  const survivors = threads.filter(({ index }) => index !== TERMINATED);
  const terminated = threads[TERMINATED];
  publish();
  await until(() => threads.every(({ index }) => answered(index) > 0));
  while (generations.length < PUBLICATIONS) {
    publish();
    for (const _pause of statistics.carryOver()) await nextTurn();
    if (generations.length === TERMINATED_AFTER) {
      await terminated.worker.terminate();
      publisher.detach(TERMINATED);
    }
  }
  await until(() => generations.slice(0, -1).every(({ isIdle }) => isIdle));
  t.pass('every replaced generation is released');
  const done = Promise.all(survivors.map(({ worker }) => once(worker, 'message')));
  Atomics.store(end, 0, 1);
  await done;

  for (const { index, tally } of threads) t.equal(tally[TALLY.tooOld], 0, `thread ${index}`);
  const totals = new Map(statistics.totals());
  const total = (index: number, stat: string): number =>
    totals.get(`ratelimit.service.rate_limit.d.thread_${index}.${stat}`) ?? 0;
  /** Hits of answered batches. They are counted after the store has answered. */
  const evaluated = (index: number): number => total(index, 'within_limit') + total(index, 'over_limit');
  for (const { index } of survivors) {
    t.equal(asked(index), answered(index));
    t.equal(total(index, 'total_hits'), answered(index), `hits of thread ${index}`);
    t.equal(evaluated(index), answered(index), `evaluated hits of thread ${index}`);
  }
  for (const counted of [total(TERMINATED, 'total_hits'), evaluated(TERMINATED)]) {
    t.ok(
      counted >= answered(TERMINATED),
      `${counted} hits of the terminated thread; no answered one is missing`,
    );
    t.ok(counted <= asked(TERMINATED), 'and none is counted twice');
  }
  for (const { index } of threads) publisher.detach(index);
  t.ok(generations.at(-1)!.isIdle);
});
