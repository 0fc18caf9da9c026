import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { ThreadEvents } from '../../../../src/app/decision/thread-events.ts';
import { countedBeside } from '../../../../src/app/serving/serving-thread.ts';
import { OverLimitFigures } from '../../../../src/app/statistics/over-limit-figures.ts';
import { ThreadReports } from '../../../../src/app/statistics/thread-reports.ts';
import { StoreHealth } from '../../../../src/app/stores/store-health.ts';
import { Health } from '../../../../src/base/health.ts';
import { OutageLog } from '../../../../src/base/outage-log.ts';
import { Questions } from '../../../../src/base/threads/questions.ts';
import { OverLimitCache } from '../../../../src/decision/over-limit-cache.ts';
import type { ThreadMessage } from '../../../../src/decision/pool/thread-messages.ts';
import { RuleStatistics } from '../../../../src/decision/statistics/rule-statistics.ts';
import { addTotal } from '../../../../src/decision/statistics/shared-totals.ts';
import { NAMES_AT_ONCE, ThreadNames } from '../../../../src/decision/statistics/thread-names.ts';
import { RehearsalPublisher } from '../../../../src/rehearsal/rehearsal-channel.ts';
import { RULE_STAT } from '../../../../src/stats/names.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { StatsReporter } from '../../../../src/stats/thread-stats.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { until } from '../../../support/until.ts';
import type { ToCountingThread } from './counting-thread.ts';

const HITS = 'ratelimit.service.rate_limit.d.a.total_hits';

/** The statistics of the process, with reports of threads. */
class Process {
  readonly clock = new ManualClock(0);
  readonly stats = new StatsRegistry();
  readonly health = new Health();
  readonly events: ThreadEvents;
  /** The threads that accept messages, with the requests that each has not answered. */
  readonly threads = new Map<Asked, Questions<true>>();

  constructor() {
    const { stats, clock } = this;
    const statistics = new RuleStatistics();
    stats.addSource(statistics);
    const overLimit = new OverLimitFigures(new OverLimitCache(0, clock), stats);
    const log = new OutageLog({ clock, logger: new KeepingLogger() });
    const storeHealth = new StoreHealth(this.health, false, log);
    this.events = new ThreadEvents(
      { stats, statistics, rehearsal: new RehearsalPublisher() },
      { threadEnded: () => {} },
      storeHealth,
      overLimit,
      null,
    );
    const reports = new ThreadReports(
      () => this.threads.keys(),
      (thread: Asked) => this.threads.get(thread)!.ask(number => thread.ask(number)),
      clock,
    );
    stats.onCollect(() => reports.collect());
  }

  /** A message of a thread arrives. */
  heard(thread: Asked, message: Sent): void {
    if (message.kind !== 'answered') this.events.received(thread.threadId, message);
    else this.threads.get(thread)?.answered(message.number, [true, '']);
  }

  /** A thread has ended. */
  ended(thread: Asked): void {
    const questions = this.threads.get(thread);
    this.threads.delete(thread);
    questions?.lost('it has ended');
    this.events.ended(thread.threadId);
  }

  counter(name: string): number {
    return new Map(this.stats.counters()).get(name) ?? 0;
  }

  gauge(name: string): number | undefined {
    return this.stats.gauges().get(name);
  }
}

/** A thread that is asked for reports. */
interface Asked {
  readonly threadId: number;
  ask(number: number): void;
}

type Sent = ThreadMessage | { readonly kind: 'answered'; readonly number: number };

/** What a serving thread counts, in the thread of the test. Messages to and from it pass when the test says so. */
class Thread implements Asked {
  readonly threadId: number;
  readonly stats = new StatsRegistry();
  readonly names = new ThreadNames();
  readonly reporter: StatsReporter<ThreadMessage>;
  readonly cache: OverLimitCache;
  readonly sent: Sent[] = [];
  readonly asked: number[] = [];
  readonly #main: Process;

  constructor(threadId: number, main: Process) {
    this.threadId = threadId;
    this.#main = main;
    this.cache = new OverLimitCache(0, main.clock);
    this.reporter = new StatsReporter<ThreadMessage>(
      this.stats,
      main.clock,
      message => this.sent.push(message),
      countedBeside(this.names, this.cache),
    );
    main.threads.set(this, new Questions());
  }

  ask(number: number): void {
    this.asked.push(number);
  }

  /** Everything that the thread can count, once. */
  count(): void {
    this.stats.counter('c').add(1);
    this.stats.timer('t').record(3);
    this.cache.hits++;
    addTotal(this.names.rowFor('d.a'), RULE_STAT.totalHits, 1);
  }

  /** Requests arrive in the thread. */
  hear(): void {
    for (const number of this.asked.splice(0))
      this.reporter.requested(() => this.sent.push({ kind: 'answered', number }));
  }

  /** Resolves when the thread has answered. */
  answered(): Promise<void> {
    return until(() => this.sent.some(({ kind }) => kind === 'answered'));
  }

  /** Reports arrive in the primary thread. */
  deliver(): void {
    for (const message of this.sent.splice(0)) this.#main.heard(this, message);
  }
}

t.test('what threads count is added up every second', async t => {
  const main = new Process();
  const threads = [new Thread(1, main), new Thread(2, main)];
  for (const thread of threads) {
    thread.stats.gauge('g', () => 5);
    thread.reporter.start();
    thread.count();
  }
  main.clock.advance(999);
  for (const thread of threads) thread.deliver();
  t.equal(main.counter('c'), 0);
  t.equal(main.gauge('g'), 10);
  main.clock.advance(1);
  await nextTurn();
  for (const thread of threads) thread.deliver();
  t.equal(main.counter('c'), 2);
  t.equal(main.stats.timers().get('t')?.count, 2);
  t.equal(main.gauge('ratelimit.localcache.hitCount'), 2);
  t.equal(main.counter(HITS), 2);
  main.clock.advance(1_000);
  for (const thread of threads) t.same(thread.sent, [], 'nothing is sent while nothing changes');
});

t.test(
  'counters of threads exist from the start, because the first increment would not be seen otherwise',
  async t => {
    const main = new Process();
    const thread = new Thread(1, main);
    thread.stats.counter('failures');
    thread.reporter.start();
    thread.deliver();
    t.same([...main.stats.counterNames()], ['failures']);
    main.clock.advance(1_000);
    t.same(thread.sent, [], 'which is reported once');
    thread.reporter.stop();
  },
);

t.test('a reader sees everything that threads counted before it asked', async t => {
  const main = new Process();
  const threads = [new Thread(1, main), new Thread(2, main)];
  for (const thread of threads) thread.count();
  let isCollected = false;
  const collecting = main.stats.collect()!.then(() => {
    isCollected = true;
  });
  for (const thread of threads) {
    await nextTurn();
    t.notOk(isCollected);
    thread.hear();
    await thread.answered();
    thread.deliver();
  }
  await collecting;
  t.equal(main.counter('c'), 2);
  t.equal(main.counter(HITS), 2);
  t.equal(main.clock.pending, 0, 'no timer is left');
});

t.test('a report that was on its way when a reader asked is not the answer', async t => {
  const main = new Process();
  const thread = new Thread(1, main);
  thread.stats.counter('c').add(1);
  thread.reporter.start();
  thread.stats.counter('c').add(10);
  const collecting = main.stats.collect();
  thread.deliver();
  await nextTurn();
  t.equal(main.clock.pendingDelaysMs.length, 2, 'the reader still waits');
  thread.hear();
  thread.deliver();
  await collecting;
  t.equal(main.counter('c'), 11);
  thread.reporter.stop();
});

t.test(
  'a thread that does not answer delays one reader by a second, and later readers not at all',
  async t => {
    const main = new Process();
    const [slow, quick] = [new Thread(1, main), new Thread(2, main)];
    const collect = async (delayMs: number): Promise<void> => {
      for (const { stats } of [slow, quick]) stats.counter('c').add(1);
      const collecting = main.stats.collect();
      quick.hear();
      quick.deliver();
      await nextTurn();
      main.clock.advance(delayMs);
      await collecting;
    };
    await collect(1_000);
    t.equal(main.counter('c'), 1);
    await collect(0);
    t.equal(main.counter('c'), 2);
    t.equal(slow.asked.length, 1, 'requests do not pile up');
    slow.hear();
    slow.deliver();
    t.equal(main.counter('c'), 4);
    await nextTurn();
    const last = main.stats.collect();
    for (const thread of [slow, quick]) {
      thread.stats.counter('c').add(1);
      thread.hear();
      thread.deliver();
    }
    await last;
    t.equal(main.counter('c'), 6, 'it is asked again once it has answered');
  },
);

t.test('a thread that ends is not waited for; its counts stay, and its gauges go with it', async t => {
  const main = new Process();
  const thread = new Thread(1, main);
  thread.stats.gauge('g', () => 5);
  thread.count();
  thread.reporter.start();
  await nextTurn();
  thread.deliver();
  const collecting = main.stats.collect();
  main.ended(thread);
  await collecting;
  t.equal(main.counter('c'), 1);
  t.equal(main.gauge('g'), 0);
  await main.stats.collect();
  t.equal(thread.asked.length, 1);
  thread.reporter.stop();
});

t.test('the local cache and the outages of a thread that ends go with it', async t => {
  const main = new Process();
  const size = () => main.gauge('ratelimit.localcache.entryCount');
  const storeWorks = () => main.health.components.get('store')?.ok;
  const counts = { hits: 0, misses: 0, evicted: 0, expired: 0, overwritten: 0 };
  main.events.received(1, { kind: 'over_limit', overLimit: { threadId: 1, size: 3, ...counts } });
  const texts = { level: 'error', began: 'began', over: 'over', fields: {} } as const;
  const change = { kind: 'began', reason: 'no answer', atStart: false } as const;
  main.events.received(1, { kind: 'outage', texts, change });
  t.same([size(), storeWorks()], [3, false]);
  main.events.ended(1);
  t.same([size(), storeWorks()], [0, true]);
});

t.test('other work runs between many names; a request during a report is answered after it', async t => {
  const main = new Process();
  const thread = new Thread(1, main);
  const use = (): void => {
    for (let i = 0; i < 3 * NAMES_AT_ONCE; i++) {
      addTotal(thread.names.rowFor(`d.${i}`), RULE_STAT.totalHits, 1);
    }
  };
  use();
  thread.reporter.start();
  t.equal(thread.sent.length, 1);
  use();
  const collecting = main.stats.collect();
  thread.hear();
  t.equal(thread.sent.length, 1);
  await thread.answered();
  thread.deliver();
  await collecting;
  for (const i of [0, NAMES_AT_ONCE, 3 * NAMES_AT_ONCE - 1])
    t.equal(main.counter(HITS.replace('d.a', `d.${i}`)), 2);
  thread.reporter.stop();
});

t.test('the last report of a thread is complete at once, also in the middle of another', async t => {
  const main = new Process();
  const thread = new Thread(1, main);
  for (let i = 0; i < 3 * NAMES_AT_ONCE; i++) addTotal(thread.names.rowFor(`d.${i}`), RULE_STAT.totalHits, 1);
  thread.reporter.start();
  thread.count();
  thread.reporter.stop();
  thread.deliver();
  const hits = [...main.stats.counters()].filter(([name]) => name.endsWith('.total_hits'));
  t.equal(hits.length, 3 * NAMES_AT_ONCE + 1);
  t.same(new Set(hits.map(([, total]) => total)), new Set([1]));
  t.equal(main.counter('c'), 1);
  await nextTurn();
  t.same(thread.sent, []);
  t.equal(main.clock.pending, 0);
});

t.test('a caller that has its answer finds it counted, whichever thread has answered', async t => {
  const main = new Process();
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const threads = await Promise.all(
    [1, 2].map(async () => {
      const worker = new Worker(new URL(`./counting-thread.${extension}`, import.meta.url));
      const { threadId } = worker;
      await once(worker, 'message');
      const answers: (() => void)[] = [];
      const post = (message: ToCountingThread): void => worker.postMessage(message);
      const thread: Asked = { threadId, ask: number => post({ kind: 'report', number }) };
      worker.on('message', (message: Sent | 'answer') => {
        if (message === 'answer') answers.shift()?.();
        else main.heard(thread, message);
      });
      main.threads.set(thread, new Questions());
      t.teardown(() => worker.terminate());
      return {
        call: () =>
          new Promise<void>(resolve => {
            answers.push(resolve);
            post({ kind: 'call' });
          }),
      };
    }),
  );
  for (let round = 1; round <= 100; round++) {
    await Promise.all(threads.map(thread => thread.call()));
    await main.stats.collect();
    const totals = new Map(main.stats.counters());
    if (totals.get('calls') !== 2 * round || totals.get(HITS) !== 2 * round)
      t.fail(`round ${round}: ${totals.get('calls')} calls, ${totals.get(HITS)} hits`);
  }
  t.equal(main.counter('calls'), 200);
});
