import t, { type Test } from 'tap';
import { RuleCompiler } from '../../../../src/app/rules/rule-compiler.ts';
import { RuleLoader } from '../../../../src/app/rules/rule-loader.ts';
import { Health } from '../../../../src/base/health.ts';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { RulesPublisher } from '../../../../src/decision/generations/rules-publisher.ts';
import { RulesSubscriber } from '../../../../src/decision/generations/rules-subscriber.ts';
import { RuleStatistics } from '../../../../src/decision/statistics/rule-statistics.ts';
import type { RuleFile } from '../../../../src/rules/rule-set.ts';
import { RuleLoads } from '../../../../src/rules/words/rule-loads.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { type CounterTotal, StatsRegistry } from '../../../../src/stats/registry.ts';
import { Decisions } from '../../../support/decisions.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { until } from '../../../support/until.ts';

interface Options {
  readonly compiler?: Pick<RuleCompiler, 'compile'>;
  readonly publisher?: RulesPublisher;
  readonly env?: Readonly<Record<string, string>>;
}

/** A loader on a compile thread of its own, or on `compiler`. */
async function freshLoader(t: Test, { compiler, publisher, env = {} }: Options = {}) {
  const logger = new KeepingLogger();
  const health = new Health();
  const recorded = new RuleLoads(new ManualClock(0));
  const statistics = new WatchedStatistics();
  const thread = new RuleCompiler();
  await thread.start();
  t.teardown(() => thread.stop());
  const store = new EmbeddedCounterStore(CounterTable.create(1_024));
  const stats = new StatsRegistry();
  const primary = { settings: loadSettings(env), stats, health, clock: new ManualClock(0), logger };
  const loader = new RuleLoader(primary, compiler ?? thread, statistics, recorded);
  const { batcher } = new Decisions({ store, rules: null });
  loader.publishTo(generation => {
    batcher.use(generation);
    publisher?.publish(generation);
  });
  const counted = (name: string) => new Map(stats.counters()).get(`ratelimit.service.config_${name}`) ?? 0;
  const loads = {
    get good() {
      return counted('load_success');
    },
    get bad() {
      return counted('load_error');
    },
  };
  return { loader, logger, thread, loads, recorded, statistics, health };
}

/** Statistics that tell how often they were carried over to the end. */
class WatchedStatistics extends RuleStatistics {
  carriedOver = 0;

  override *carryOver(): Iterable<CounterTotal> {
    yield* super.carryOver();
    this.carriedOver++;
  }
}

function file(text: string): RuleFile {
  return { name: 'a.yaml', content: Buffer.from(text) };
}

t.test('what a stop cuts off is no fault of the rules: nothing is logged or counted', async t => {
  const { loader, logger, thread, loads } = await freshLoader(t);
  void loader.load([file('domain: d\ndescriptors: []\n')]);
  await thread.stop();
  await loader.settled();
  void loader.load([file('domain: e\ndescriptors: []\n')]);
  await loader.settled();
  t.same(logger.lines, []);
  t.same(loads, { good: 0, bad: 0 });
  t.equal(loader.current, null);
});

t.test('the compiler refuses what memcached cannot count if the counters are there', async t => {
  const rule = '{key: k, rate_limit: {unit: day, requests_per_unit: 1, algorithm: sliding_window}}';
  const files = [file(`domain: d\ndescriptors: [${rule}]\n`)];
  const { loader, logger } = await freshLoader(t, {
    env: { BACKEND_TYPE: 'memcache', MEMCACHE_HOST_PORT: 'localhost:11211' },
  });
  t.match(await loader.load(files), {
    kind: 'refused',
    reasons: [/^a\.yaml:2:81: d\.k: memcached cannot count `algorithm: sliding_window`/],
  });
  t.equal(logger.messages('error').at(-1), 'Rules not loaded; no rules are active yet');
  const elsewhere = await freshLoader(t);
  t.match(await elsewhere.loader.load(files), { kind: 'active' });
});

t.test('a failure of the compiler thread is not reported as a fault of the files', async t => {
  let failing = true;
  const thread = new RuleCompiler();
  await thread.start();
  t.teardown(() => thread.stop());
  const { loader, logger, loads } = await freshLoader(t, {
    compiler: {
      compile: (files, settings) =>
        failing ? Promise.reject(new Error('no memory left')) : thread.compile(files, settings),
    },
  });
  const good = [file('domain: d\ndescriptors: []\n')];
  void loader.load(good);
  await loader.settled();
  t.same(logger.messages('error'), ['Rules not compiled; no rules are active yet']);
  failing = false;
  void loader.load(good);
  await loader.settled();
  failing = true;
  void loader.load(good);
  await loader.settled();
  t.equal(logger.messages('error')[1], 'Rules not compiled; the previous rules stay active');
  t.match(logger.lines.at(-1), { fields: { reason: 'no memory left' } });
  t.same(loads, { good: 1, bad: 2 });
});

t.test('faults of the files are logged one by one, and counted once', async t => {
  const { loader, logger, loads, recorded } = await freshLoader(t);
  void loader.load([file('domain: d\ndescriptors: [{key: 1.5}, {kez: b}]\n')]);
  await loader.settled();
  const errors = logger.lines.filter(line => line.level === 'error');
  t.ok(errors.length > 2);
  for (const line of errors.slice(0, -1)) {
    t.match(line, { message: 'Fault in the rules', fields: { fault: /^a\.yaml:2:\d+: / } });
  }
  t.match(errors.at(-1), {
    message: 'Rules not loaded; no rules are active yet',
    fields: { faults: errors.length - 1 },
  });
  t.match(recorded.all, [{ outcome: 'refused', faults: [{ file: 'a.yaml', line: 2 }] }]);
  t.same(loads, { good: 0, bad: 1 });
});

t.test('warnings about rules are logged, and once only while they stay the same', async t => {
  const { loader, logger, loads } = await freshLoader(t);
  const text = 'domain: d\ndescriptors:\n- key: a\n  rate_limit: {unit: hour}\n';
  const warnings = (): number => logger.messages('warning').length;
  for (const [content, logged] of [
    [text, 1],
    [`${text}- key: b\n`, 1],
    [text.replace('hour', 'day'), 2],
    ['domain: d\n', 2],
    [text, 3],
  ] as const) {
    void loader.load([file(content)]);
    await loader.settled();
    t.equal(warnings(), logged, content);
  }
  t.match(
    logger.lines.find(line => line.level === 'warning'),
    {
      message: 'Suspicious rule',
      fields: {
        file: 'a.yaml',
        line: 4,
        column: 15,
        rule: 'd.a',
        reason: /0 per hour and rejects every request/,
      },
    },
  );
  t.equal(loads.good, 5);
});

t.test('the statistics of replaced rules are carried over before other rules are loaded', async t => {
  const { loader, statistics } = await freshLoader(t);
  for (let load = 1; load <= 2; load++) {
    void loader.load([file('domain: d\ndescriptors: [{key: a, rate_limit: {unit: day}}]\n')]);
    await loader.settled();
    t.equal(statistics.carriedOver, load);
  }
});

t.test(
  'rules are published to other threads, and carried over when the last thread has released them',
  async t => {
    const publisher = new RulesPublisher();
    const feed = publisher.attach(1);
    t.teardown(() => publisher.detach(1));
    const { loader, statistics } = await freshLoader(t, { publisher });
    const load = async (): Promise<void> => {
      void loader.load([file('domain: d\ndescriptors: [{key: a, rate_limit: {unit: day}}]\n')]);
      await loader.settled();
    };
    await load();
    const subscriber = new RulesSubscriber(feed);
    const first = subscriber.current();
    first!.begin();
    await load();
    t.not(subscriber.current()?.number, first!.number);
    t.equal(statistics.carriedOver, 2);
    first!.end();
    await until(() => statistics.carriedOver === 3);
  },
);

t.test('the source of a rule set receives the outcome of the load', async t => {
  const { loader, thread } = await freshLoader(t);
  t.same(await loader.load([file('domain: d\n')]), { kind: 'active' });
  t.match(await loader.load([file('domain: ""\n')]), {
    kind: 'refused',
    reasons: [/^a\.yaml:1:9: the file has no domain/],
  });
  await loader.settled();
  const [first, second, third] = [loader.load([]), loader.load([]), loader.load([])];
  t.same(await Promise.all([first, second, third]), [
    { kind: 'active' },
    { kind: 'dropped' },
    { kind: 'active' },
  ]);
  await thread.stop();
  t.same(await loader.load([file('domain: d\n')]), { kind: 'dropped' });
});

t.test('a set that arrives as soon as the previous one is active is loaded too', async t => {
  const { loader, loads } = await freshLoader(t);
  for (let load = 1; load <= 20; load++) {
    t.same(await loader.load([file(`domain: d${load}\n`)]), { kind: 'active' });
  }
  t.same(loads, { good: 20, bad: 0 });
});

t.test('a set that could not even be tried is counted as one that was refused', async t => {
  const { loader, loads, logger } = await freshLoader(t);
  loader.refuse(['resources[0]: another type']);
  t.same(loads, { good: 0, bad: 1 });
  t.match(logger.lines, [
    { level: 'error', message: 'Fault in the rules', fields: { fault: 'resources[0]: another type' } },
    { level: 'error', message: 'Rules not loaded; no rules are active yet', fields: { faults: 1 } },
  ]);
});

for (const decides of [false, true]) {
  t.test(
    `the health tells whether a domain is loaded, and ${decides ? 'follows it' : 'does not follow it'}`,
    async t => {
      const { loader, health } = await freshLoader(t, {
        env: { HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: String(decides) },
      });
      const config = () => health.components.get('config');
      t.same(config(), { ok: false, decides, note: 'no domain is loaded' });
      t.equal(health.healthy, !decides);
      void loader.load([file('domain: d\ndescriptors: []\n')]);
      await loader.settled();
      t.same(config(), { ok: true, decides, note: null });
      t.ok(health.healthy);
      void loader.load([file('domain: ""\n')]);
      await loader.settled();
      t.match(config(), { ok: true, decides, note: /latest rules could not be loaded/ });
      void loader.load([]);
      await loader.settled();
      t.same(config(), { ok: false, decides, note: 'no domain is loaded' });
    },
  );
}
