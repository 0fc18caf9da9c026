import t from 'tap';
import type { Fault } from '../../../../src/base/fault.ts';
import { Batcher } from '../../../../src/decision/batching/batcher.ts';
import { Engine } from '../../../../src/decision/engine.ts';
import { type DecidingThreads, DecisionPool } from '../../../../src/decision/pool/decision-pool.ts';
import { ThreadDecider } from '../../../../src/decision/pool/thread-decider.ts';
import type { DecideResult, DecideTask } from '../../../../src/decision/pool/thread-messages.ts';
import { RuleGeneration, RuleStatistics } from '../../../../src/decision/statistics/rule-statistics.ts';
import { decodeRateLimitResponse, encodeRateLimitRequest } from '../../../../src/messages/client-codec.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { engineCounters, PLAIN_OPTIONS, request } from '../../../support/decisions.ts';
import { GatedStore } from '../../../support/gated-store.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { TEST_FINGERPRINT_KEY } from '../../../support/stores.ts';
import { compiled } from '../../rules/parse/rule-text.ts';

const LIMIT = 1_000_000;
const RULES = compiled(
  `domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: ${LIMIT}}}]\n`,
);
const CALLS = 'ratelimit.service.call.should_rate_limit';
const KEYS = 4;
const MAX_QUEUED = 60;

const turn = () => new Promise(resolve => setImmediate(resolve));

/** One call, and all that it was told. */
class Call {
  readonly key: number;
  readonly told: string[] = [];
  gone = false;

  constructor(key: number) {
    this.key = key;
  }

  answered(response: Uint8Array): void {
    this.told.push(`ok ${LIMIT - decodeRateLimitResponse(response).statuses[0].limitRemaining}`);
  }

  refused({ code }: Fault): void {
    this.told.push(code);
  }
}

/** Batcher, pool and engines as in the service; threads are functions that may die, and everything waits to be let go. */
class Machine implements DecidingThreads {
  readonly #random: SeededRandom;
  readonly store = new GatedStore();
  readonly stats = new StatsRegistry();
  readonly calls: Call[] = [];
  readonly generations: RuleGeneration[] = [];
  readonly batcher: Batcher;
  readonly #statistics = new RuleStatistics();
  #windowEnd: (() => void) | null = null;
  /** Of each thread: what ends each of its batches with an error; null while it is dead. */
  readonly #threads: (Set<() => void> | null)[] = [new Set(), new Set()];

  constructor(random: SeededRandom) {
    this.#random = random;
    const logger = new KeepingLogger();
    const counters = engineCounters(this.stats);
    const clock = new ManualClock(1_700_000_000_000);
    const engine = {
      options: PLAIN_OPTIONS,
      store: this.store,
      overLimit: null,
      logger,
      random: () => 0,
      nowMs: null,
    };
    this.#deciders = this.#threads.map(
      (_, threadId) =>
        new ThreadDecider({
          makeEngine: parts => ({ engine: new Engine({ ...engine, ...parts }), overLimit: null }),
          fingerprintKey: TEST_FINGERPRINT_KEY,
          threadId,
        }),
    );
    this.batcher = new Batcher({
      engine: new Engine({ ...engine, counters, clock }),
      pool: new DecisionPool({
        threads: this,
        placement: { isForPool: () => random.below(2) === 0, decidedHere: () => {}, decidedInPool: () => {} },
        statistics: this.#statistics,
        counters,
        pooled: this.stats.counter('pooled'),
        overLimitChanged: () => {},
        clock,
        nowMs: () => 0,
        logger,
      }),
      named: this.#statistics,
      fingerprintKey: TEST_FINGERPRINT_KEY,
      maxQueued: MAX_QUEUED,
      window: this.#openWindow(),
      earlyRequests: 64,
      serviceError: counters.serviceError,
      batchSizes: this.stats.timer('ratelimit.batch.requests'),
    });
    this.publish();
  }

  readonly #deciders: readonly ThreadDecider[];

  get free(): boolean {
    return this.#threads.some(batches => batches !== null && batches.size < 2);
  }

  async run(task: DecideTask): Promise<DecideResult> {
    const place = this.#threads.findIndex(batches => batches !== null && batches.size < 2);
    const batches = this.#threads[place]!;
    const died = Promise.withResolvers<never>();
    const die = () => died.reject(new Error('the thread was ended'));
    batches.add(die);
    const moved = structuredClone(task, { transfer: [task.requests, task.answers] });
    try {
      return await Promise.race([this.#deciders[place].decide(moved), died.promise]);
    } finally {
      batches.delete(die);
    }
  }

  publish(): void {
    const generation = new RuleGeneration(RULES);
    this.generations.push(generation);
    this.#statistics.publish(generation);
    this.batcher.use(generation);
  }

  ask(): void {
    const call = new Call(this.#random.below(KEYS));
    this.calls.push(call);
    const message = encodeRateLimitRequest(request('d', `a=${call.key}`));
    this.batcher.decide(this.#random.below(20) === 0 ? Buffer.from('x') : message, 'protobuf', call);
  }

  cancel(): void {
    const call = this.calls.at(-1 - this.#random.below(30));
    if (call !== undefined && call.told.length === 0) call.gone = true;
  }

  settleBatch(how: 'pass' | 'fail'): void {
    const { waiting } = this.store;
    const [batch] = waiting.splice(this.#random.below(Math.max(waiting.length, 1)), 1);
    batch?.[how]();
  }

  killThread(): void {
    const place = this.#random.below(this.#threads.length);
    for (const die of this.#threads[place] ?? []) die();
    this.#threads[place] = null;
  }

  replaceThreads(): void {
    for (const [place, batches] of this.#threads.entries()) this.#threads[place] = batches ?? new Set();
  }

  endWindow(): void {
    const end = this.#windowEnd;
    this.#windowEnd = null;
    end?.();
  }

  #openWindow() {
    if (this.#random.below(3) > 0) return null;
    return {
      open: (run: () => void) => {
        this.#windowEnd = run;
      },
      shut: () => {
        this.#windowEnd = null;
      },
    };
  }

  async step(): Promise<void> {
    const dice = this.#random.below(100);
    if (dice < 40) for (let count = this.#random.below(12); count >= 0; count--) this.ask();
    else if (dice < 50) this.cancel();
    else if (dice < 70) this.settleBatch('pass');
    else if (dice < 74) this.settleBatch('fail');
    else if (dice < 78) this.killThread();
    else if (dice < 82) this.replaceThreads();
    else if (dice < 84) this.publish();
    else if (dice < 90) this.endWindow();
    else await turn();
  }

  async finish(): Promise<void> {
    while (this.batcher.pending > 0) {
      this.endWindow();
      this.settleBatch('pass');
      await turn();
    }
    await this.batcher.drained();
    // Batches of dead threads that the store still counts.
    while (this.store.waiting.length > 0) this.settleBatch('pass');
    await turn();
  }
}

t.test('whatever the order of deaths, reloads, cancels and failures, each call is answered once', async t => {
  const codes = new Map<string, number>();
  for (let seed = 1; seed <= 60; seed++) {
    const machine = new Machine(new SeededRandom(seed));
    for (let step = 0; step < 250; step++) await machine.step();
    await machine.finish();
    const { calls, batcher, generations, stats } = machine;
    const faults: string[] = [];
    for (const { told } of calls) {
      if (told.length !== 1) faults.push(`a call was told ${told.join(', ') || 'nothing'}`);
      const code = told[0]?.replace(/ .*/, '') ?? '';
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    for (const { isIdle, number } of generations)
      if (!isIdle) faults.push(`generation ${number} still has batches`);
    if (batcher.pending !== 0) faults.push(`${batcher.pending} requests are pending`);
    for (let key = 0; key < KEYS; key++) {
      const own = calls.filter(call => call.key === key).map(({ told }) => told[0]);
      const ok = own.filter(told => told.startsWith('ok'));
      if (new Set(ok).size !== ok.length) faults.push('two calls were given the same count');
      const unsure = own.filter(told => told === 'internal').length;
      const highest = Math.max(0, ...ok.map(told => Number(told.slice(3))));
      if (highest > ok.length + unsure) faults.push(`${highest} counted of ${ok.length} and ${unsure}`);
    }
    const counted = Object.fromEntries([...stats.counters()]);
    const expected = (code: string) => calls.filter(({ told }) => told[0] === code).length;
    if ((counted[`${CALLS}.redis_error`] ?? 0) !== expected('store_failed'))
      faults.push('store errors are miscounted');
    if ((counted[`${CALLS}.service_error`] ?? 0) !== expected('internal') + expected('overloaded'))
      faults.push('service errors are miscounted');
    t.same(faults, [], `seed ${seed}`);
  }
  for (const code of ['ok', 'cancelled', 'internal', 'store_failed', 'overloaded', 'unparseable'])
    t.ok((codes.get(code) ?? 0) > 10, `${codes.get(code)} ${code}`);
});
