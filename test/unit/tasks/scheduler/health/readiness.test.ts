import t from 'tap';
import { Fault } from '../../../../../src/base/fault.ts';
import { StatsRegistry } from '../../../../../src/stats/registry.ts';
import { TaskStatistics } from '../../../../../src/tasks/model/task-statistics.ts';
import { KeyCheck } from '../../../../../src/tasks/scheduler/health/key-check.ts';
import { StoreOutage } from '../../../../../src/tasks/scheduler/health/store-outage.ts';
import { type NotReady, Troubles } from '../../../../../src/tasks/scheduler/health/troubles.ts';
import { SERVICE } from '../../../../../src/tasks/store/documents.ts';
import { StoreFault } from '../../../../../src/tasks/store/trouble.ts';
import { each } from '../../../../support/each.ts';
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
  const thread = { store: { name: 'sqlite' as const }, statistics: new TaskStatistics(stats), clock, logger };
  const troubles = new Troubles(thread, (_part, notReady) => told.push(notReady?.cause ?? null));
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
  const outage = new StoreOutage({ store: { ping }, clock, random: () => 0.5 }, rest.troubles);
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

t.test('a single failure is no trouble: only the next one is reported', async t => {
  const { store, outage, pass, told, lines, end } = watched();
  const { answer } = store;
  store.answer = () => {
    store.answer = answer;
    return Promise.reject(new StoreFault('file_failed', 'it cannot be read'));
  };
  await pass(10_000);
  outage.failed();
  t.ok(outage.down, 'nothing is claimed until the store has answered');
  await pass(1_000);
  t.notOk(outage.down);
  t.same([told, lines()], [[], []]);
  store.answer = () => Promise.reject(new StoreFault('file_failed', 'it cannot be read'));
  outage.failed();
  await pass(1_000);
  t.same(told, ['file_failed']);
  end();
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
  const sealer = { currentKeyId: 'ours', keyIds: ['ours'], knows: (id: string) => keys.has(id) };
  const check = new KeyCheck({ store, sealer }, troubles);
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

t.test('the key of the store is that of its first process, also before there is a secret', async t => {
  const { clock, troubles, told, gauge, logger } = scene();
  const store = new MemoryStore(clock);
  await process(store, ['first']).check.begin();

  const other = process(store, ['other']);
  const wrong = new KeyCheck({ store, sealer: other.sealer }, troubles);
  await wrong.begin();
  t.same(told, ['wrong_master_key'], 'it is known before the first call is served');
  t.equal(gauge('wrong_master_key'), 1);
  t.match(logger.lines[0].fields, {
    reason:
      /used with master key first, .* set SECRETS_MASTER_KEY to it, or add it to SECRETS_PREVIOUS_MASTER_KEYS/,
  });
  await wrong.look(() => false);
  t.equal(told.length, 1);
  t.same((await recordOf(store)).ids, ['first'], 'a wrong key never becomes a key of the store');
  troubles.stop();
});

t.test('of two processes that start together with different keys, one is wrong', async t => {
  const store = new MemoryStore(new ManualClock(NOON));
  const processes = [process(store, ['a']), process(store, ['b'])];
  await Promise.all(processes.map(({ check }) => check.begin()));
  const [winner] = (await recordOf(store)).ids;
  t.same(each(processes, 'told'), winner === 'a' ? [[], ['wrong_master_key']] : [['wrong_master_key'], []]);
});

t.test('keys are replaced one process at a time, and previous keys can be removed later', async t => {
  const store = new MemoryStore(new ManualClock(NOON));
  const old = process(store, ['k1']);
  await old.check.begin();
  // The current key is the last one.
  const next = process(store, ['k1', 'k2']);
  await next.check.begin();
  await next.check.look(() => false);
  await old.check.look(() => false);
  const later = process(store, ['k2']);
  await later.check.begin();
  t.same([old.told, next.told, later.told], [[], [], []]);
  t.same((await recordOf(store)).ids, ['k1', 'k2']);
  for (let n = 3; n <= 30; n++) await process(store, [`k${n - 1}`, `k${n}`]).check.look(() => false);
  const { ids } = await recordOf(store);
  t.same([ids.length, ids.at(-1)], [16, 'k30'], 'old ones are forgotten in the end');
});

t.test('a store of an earlier version gets its record from a process that opens all secrets', async t => {
  const clock = new ManualClock(NOON);
  const store = new MemoryStore(clock);
  const made = new Factory(clock).account('acme');
  const dataKey = { masterKeyId: 'k1', wrapped: '' };
  await store.apply('acme', [{ ...made, body: { ...made.body, dataKey } }]);
  const wrong = process(store, ['k0']);
  await wrong.check.begin();
  t.same(wrong.told, ['wrong_master_key']);
  const right = process(store, ['k1', 'k2']);
  await right.check.begin();
  t.same(right.told, []);
  t.same((await recordOf(store)).ids, ['k1', 'k2']);
});

/** A process with these keys, the current one last. */
function process(store: MemoryStore, keyIds: readonly string[]) {
  const { troubles, told } = scene();
  const sealer = { currentKeyId: keyIds.at(-1)!, keyIds, knows: (id: string) => keyIds.includes(id) };
  return { told, sealer, check: new KeyCheck({ store, sealer }, troubles) };
}

async function recordOf(store: MemoryStore) {
  return (await store.getDocument(SERVICE, 'master_keys', 'master_keys'))!.body;
}
