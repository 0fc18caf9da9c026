import t from 'tap';
import { Fault } from '../../../../../src/base/fault.ts';
import { StatsRegistry } from '../../../../../src/stats/registry.ts';
import { TaskStatistics } from '../../../../../src/tasks/model/task-statistics.ts';
import { KeyCheck } from '../../../../../src/tasks/scheduler/health/key-check.ts';
import { StoreOutage } from '../../../../../src/tasks/scheduler/health/store-outage.ts';
import { type NotReady, Troubles } from '../../../../../src/tasks/scheduler/health/troubles.ts';
import { StoreFault } from '../../../../../src/tasks/store/trouble.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { NOON } from '../../../../support/tasks/engine-scene.ts';
import { Factory } from '../../../../support/tasks/factories.ts';
import { MemoryStore } from '../../../../support/tasks/memory-store.ts';

/** Troubles of a store in a file, and all that comes of them. */
function scene() {
  const clock = new ManualClock(NOON);
  const logger = new KeepingLogger();
  const stats = new StatsRegistry();
  const told: (NotReady['cause'] | null)[] = [];
  const troubles = new Troubles({
    store: { name: 'sqlite' },
    statistics: new TaskStatistics(stats),
    notReady: (_part, notReady) => told.push(notReady?.cause ?? null),
    clock,
    logger,
  });
  const gauge = (cause: string) => stats.gauges().get(`tasks.not_ready.${cause}`);
  const lines = () => logger.lines.map(({ message, fields }) => [message, fields?.['cause']]);
  return { clock, logger, troubles, told, gauge, lines };
}

function watched() {
  const { clock, ...rest } = scene();
  const store = { answer: (): Promise<void> => Promise.resolve(), asked: 0 };
  const ping = () => {
    store.asked++;
    return store.answer();
  };
  const outage = new StoreOutage({ store: { ping }, clock, random: () => 0.5, troubles: rest.troubles });
  outage.start();
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 100) {
      clock.advance(100);
      await new Promise(setImmediate);
    }
  };
  const end = () => {
    outage.stop();
    rest.troubles.stop();
  };
  return { ...rest, clock, store, outage, pass, end };
}

const BEGAN = 'The task store is unavailable; no task starts until it answers';
const OVER = 'The task store is available again';

t.test('a fault of the store is noticed although nobody calls it, and its end', async t => {
  const { store, outage, pass, told, gauge, lines, logger, clock, end } = watched();
  await pass(30_000);
  t.ok(store.asked >= 10 && store.asked <= 12, `it was asked ${store.asked} times in 30 s`);
  t.same(told, []);
  t.equal(gauge('disk_full'), 0, 'it is known before it happens');

  store.answer = () => Promise.reject(new StoreFault('disk_full', 'the disk is full'));
  await pass(3_000);
  t.ok(outage.down);
  t.same(told, ['disk_full']);
  t.equal(gauge('disk_full'), 1);
  t.match(logger.lines[0], {
    level: 'error',
    message: BEGAN,
    fields: { cause: 'disk_full', reason: 'the disk is full', advice: /^free space/ },
  });
  await pass(10_000);
  t.same(lines(), [[BEGAN, 'disk_full']], 'one line, however often it fails');

  store.answer = async () => {};
  await pass(3_000);
  t.notOk(outage.down);
  t.same(told, ['disk_full', null]);
  t.equal(gauge('disk_full'), 0);
  t.same(lines().slice(1), [[OVER, 'disk_full']]);
  const before = store.asked;
  await pass(30_000);
  t.ok(store.asked - before <= 12, 'and it is watched as before');
  end();
  t.equal(clock.pending, 0);
});

t.test('another reason is reported as well, and all are cleared when the store works', async t => {
  const { store, pass, told, gauge, lines, end } = watched();
  store.answer = () => Promise.reject(new StoreFault('file_failed', 'it cannot be read'));
  await pass(3_000);
  store.answer = () => Promise.reject(new StoreFault('file_moved', 'it was moved'));
  await pass(3_000);
  t.same([gauge('file_failed'), gauge('file_moved')], [0, 1]);
  store.answer = async () => {};
  await pass(3_000);
  t.same(told, ['file_failed', 'file_moved', null]);
  t.same(lines(), [
    [BEGAN, 'file_failed'],
    [BEGAN, 'file_moved'],
    [OVER, 'file_failed'],
    [OVER, 'file_moved'],
  ]);
  end();
});

t.test('a store that does not answer is not asked twice, and its late answer counts', async t => {
  const { store, pass, told, outage, end } = watched();
  const late = Promise.withResolvers<void>();
  store.answer = () => late.promise;
  await pass(30_000);
  t.same(told, ['no_answer']);
  t.equal(store.asked, 1);
  store.answer = async () => {};
  late.resolve();
  await pass(3_000);
  t.notOk(outage.down);
  t.same(told, ['no_answer', null]);
  end();
});

t.test('a full queue is no outage', async t => {
  const { store, pass, told, end } = watched();
  store.answer = () => Promise.reject(new Fault('overloaded', 'try again later'));
  await pass(10_000);
  t.same(told, []);
  end();
});

t.test('accounts whose secrets need another master key are found, wherever they are', async t => {
  const { clock, troubles, told, logger, gauge } = scene();
  const store = new MemoryStore(clock);
  const make = new Factory(clock);
  const account = (tenant: string, masterKeyId: string | null) => {
    const dataKey = masterKeyId === null ? null : { masterKeyId, wrapped: '' };
    const made = make.account(tenant);
    return { ...made, body: { ...made.body, dataKey } };
  };
  for (let i = 100; i < 350; i++) await store.apply(`t${i}`, [account(`t${i}`, i % 2 === 0 ? 'ours' : null)]);
  await store.apply('t349-last', [account('t349-last', 'theirs')]);
  const keys = new Set(['ours']);
  const check = new KeyCheck({ store, sealer: { knows: id => keys.has(id) }, troubles });
  const look = () => check.look(() => false);
  await look();
  t.same(told, ['wrong_master_key'], 'the first look is at all of them');
  t.equal(gauge('wrong_master_key'), 1);
  t.match(logger.lines[0].fields, { cause: 'wrong_master_key', reason: /master key theirs/ });
  await look();
  t.equal(told.length, 1, 'nothing new');

  keys.add('theirs');
  await look();
  t.same(told.slice(1), [null]);
  await store.apply('t200-new', [account('t200-new', 'of another process')]);
  for (let i = 0; i < 3; i++) await look();
  t.same(told.slice(2), ['wrong_master_key'], 'later looks are at a page each');
  troubles.stop();
});
