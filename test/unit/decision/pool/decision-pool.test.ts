import t from 'tap';
import type { Fault } from '../../../../src/base/fault.ts';
import { DecisionBatch } from '../../../../src/decision/batch.ts';
import { Engine } from '../../../../src/decision/engine.ts';
import { DecisionPool } from '../../../../src/decision/pool/decision-pool.ts';
import { ThreadDecider } from '../../../../src/decision/pool/thread-decider.ts';
import type { DecideResult, DecideTask } from '../../../../src/decision/pool/thread-messages.ts';
import { RuleGeneration, RuleStatistics } from '../../../../src/decision/statistics/rule-statistics.ts';
import { encodeRateLimitRequest } from '../../../../src/messages/client-codec.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { engineCounters, PLAIN_OPTIONS, request } from '../../../support/decisions.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { embeddedStore, TEST_FINGERPRINT_KEY } from '../../../support/stores.ts';
import { compiled } from '../../rules/parse/rule-text.ts';

const RULES = 'domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 100}}]';

/** A pool whose one thread is a function: what crosses over is cloned, with its memory moved, as between threads. */
class Bench {
  readonly stats = new StatsRegistry();
  readonly logger = new KeepingLogger();
  readonly statistics = new RuleStatistics();
  readonly generation = new RuleGeneration(compiled(RULES));
  readonly tasks: DecideTask[] = [];
  readonly pool: DecisionPool;
  readonly decider: ThreadDecider;
  /** How the thread answers; by default as it should. */
  answer: (task: DecideTask) => Promise<DecideResult> = async task => this.#decide(task);

  constructor() {
    this.statistics.publish(this.generation);
    const store = embeddedStore();
    this.decider = new ThreadDecider({
      makeEngine: ({ counters, clock }) => ({
        engine: new Engine({
          options: PLAIN_OPTIONS,
          store,
          overLimit: null,
          counters,
          clock,
          logger: this.logger,
          random: () => 0,
          nowMs: null,
        }),
        overLimit: null,
      }),
      fingerprintKey: TEST_FINGERPRINT_KEY,
      threadId: 1,
    });
    this.pool = new DecisionPool({
      threads: {
        free: true,
        run: task => {
          const moved = structuredClone(task, { transfer: [task.requests, task.answers] });
          this.tasks.push(moved);
          return this.answer(moved);
        },
      },
      placement: { isForPool: () => true, decidedHere: () => {}, decidedInPool: () => {} },
      statistics: this.statistics,
      counters: engineCounters(this.stats),
      pooled: this.stats.counter('pooled'),
      overLimitChanged: () => {},
      clock: new ManualClock(1_700_000_000_000),
      nowMs: () => 0,
      logger: this.logger,
    });
  }

  newBatch(): DecisionBatch {
    return new DecisionBatch(TEST_FINGERPRINT_KEY, this.statistics);
  }

  /** Decides some requests in one batch; what each was told. */
  async ask(batch: DecisionBatch, replies: { gone: boolean }[]): Promise<string[]> {
    const told = replies.map(() => '');
    for (const [i, { gone }] of replies.entries()) {
      batch.add(encodeRateLimitRequest(request('d', 'a=x', 'b=y')), 'protobuf', {
        gone,
        answered: (_response, overLimit) => {
          told[i] += overLimit ? 'over' : 'ok';
        },
        refused: (fault: Fault) => {
          told[i] += fault.code;
        },
      });
    }
    await this.pool.run(batch, this.generation);
    batch.reset();
    return told;
  }

  counters(): Record<string, number> {
    const counted = [...this.stats.counters()];
    return Object.fromEntries(counted.map(([name, count]) => [name.replace(/^.*\./, ''), count]));
  }

  rule(stat: string): number {
    const name = `ratelimit.service.rate_limit.d.a.${stat}`;
    return new Map(this.statistics.totals()).get(name) ?? 0;
  }

  async #decide(task: DecideTask): Promise<DecideResult> {
    const result = await this.decider.decide(task);
    return structuredClone(result, { transfer: [result.requests, result.answers] });
  }
}

const calls = (count: number) => Array.from({ length: count }, () => ({ gone: false }));

t.test('a batch is decided elsewhere and answered here, with its statistics', async t => {
  const bench = new Bench();
  t.same(await bench.ask(bench.newBatch(), calls(3)), ['ok', 'ok', 'ok']);
  t.equal(bench.rule('total_hits'), 3);
  t.equal(bench.rule('within_limit'), 3);
  t.ok(bench.generation.isIdle);
  t.same(bench.counters(), { pooled: 3 });
});

t.test('who is gone when the batch leaves is not counted', async t => {
  const bench = new Bench();
  t.same(await bench.ask(bench.newBatch(), [{ gone: false }, { gone: true }, { gone: false }]), [
    'ok',
    'cancelled',
    'ok',
  ]);
  t.equal(bench.rule('total_hits'), 2);
  t.same(bench.counters(), { cancelled: 1, pooled: 3 });
});

t.test('a batch whose thread is lost is answered with an error, never with OK, and counted', async t => {
  const bench = new Bench();
  bench.answer = async task => {
    await bench.decider.decide(task);
    throw new Error('worker exited with code: 1');
  };
  const batch = bench.newBatch();
  t.same(await bench.ask(batch, calls(2)), ['internal', 'internal']);
  t.ok(bench.generation.isIdle, 'its rules may be let go of');
  t.match(bench.counters(), { service_error: 2 });
  t.match(bench.logger.lines, [{ level: 'error', fields: { error: /exited/, requests: 2 } }]);
  bench.answer = async task => structuredClone(await bench.decider.decide(task));
  t.same(await bench.ask(batch, calls(1)), ['ok'], 'the batch can be used again');
});

t.test('an answer that a thread could not write fails its batch', async t => {
  const bench = new Bench();
  const forgetful = new ThreadDecider({
    makeEngine: () => ({
      engine: { run: batch => batch.replies[0].answered(Buffer.from('one'), false) },
      overLimit: null,
    }),
    fingerprintKey: TEST_FINGERPRINT_KEY,
    threadId: 1,
  });
  bench.answer = async task => forgetful.decide(task);
  t.same(await bench.ask(bench.newBatch(), calls(2)), ['internal', 'internal']);
  t.match(bench.logger.lines, [{ fields: { error: /1 answers of a batch could not be written/ } }]);
});

t.test('memory goes back and forth: batch after batch takes no new one', async t => {
  const bench = new Bench();
  const batch = bench.newBatch();
  await bench.ask(batch, calls(8));
  const { byteLength } = batch.records.bytes;
  t.ok(byteLength > 0, 'the memory of the requests came back');
  for (let round = 0; round < 5; round++) await bench.ask(batch, calls(8));
  t.equal(batch.records.bytes.byteLength, byteLength);
  t.equal(new Set(bench.tasks.map(task => task.answers.byteLength)).size, 1);
});

t.test('a thread keeps the rules of the last generations, and no others', async t => {
  const bench = new Bench();
  const generations = Array.from({ length: 4 }, () => new RuleGeneration(compiled(RULES)));
  for (const generation of [...generations, ...generations]) {
    const batch = bench.newBatch();
    let answered = 0;
    batch.add(encodeRateLimitRequest(request('d', 'a=x')), 'protobuf', {
      gone: false,
      answered: () => {
        answered++;
      },
      refused: fault => t.fail(fault.message),
    });
    await bench.pool.run(batch, generation);
    t.equal(answered, 1);
  }
  t.equal(new Set(bench.tasks.map(task => task.generation)).size, 4);
});
