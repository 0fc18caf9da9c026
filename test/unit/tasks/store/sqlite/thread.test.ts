import { chmodSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Worker } from 'node:worker_threads';
import type { Test } from 'tap';
import t from 'tap';
import { systemClock } from '../../../../../src/base/clock.ts';
import { storeOf } from '../../../../../src/tasks/store/operations.ts';
import {
  spawnStoreThread,
  ThreadOperator,
} from '../../../../../src/tasks/store/sqlite/engine/thread-operator.ts';
import type { TaskStore } from '../../../../../src/tasks/store/task-store.ts';
import { each } from '../../../../support/each.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { Factory, settlement, taskQuery } from '../../../../support/tasks/factories.ts';
import { storePath } from '../../../../support/tasks/sqlite-files.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(t => Setting.open(t));

const make = new Factory(systemClock);
const worker = make.worker();
const STORE_FAILED = { name: 'Fault', code: 'store_failed' };

/** A store on a thread, and what a test does to it from below. */
class Setting {
  readonly threads: Worker[] = [];
  /** Each resolves when its thread has ended, which may be before anybody waits for it. */
  readonly ends: Promise<unknown>[] = [];
  readonly messages: unknown[] = [];
  readonly logger = new KeepingLogger();
  path: string;
  nowMs = 0;
  readonly operator: ThreadOperator;
  readonly store: TaskStore;

  constructor(t: Test) {
    this.path = storePath(t);
    const started = (thread: Worker): void => {
      this.threads.push(thread);
      this.ends.push(new Promise(resolve => thread.once('exit', resolve)));
    };
    process.on('worker', started);
    t.teardown(() => process.off('worker', started));
    this.operator = new ThreadOperator(
      owner => this.#spawn(owner),
      () => this.nowMs,
      this.logger,
    );
    this.store = storeOf('sqlite', this.operator);
    t.teardown(() => this.store.stop());
  }

  /** If set, no thread can be started, for this reason. */
  noThread: Error | null = null;

  #spawn(owner: Parameters<typeof spawnStoreThread>[2]): ReturnType<typeof spawnStoreThread> {
    if (this.noThread !== null) throw this.noThread;
    const thread = spawnStoreThread({ path: this.path }, this.logger, owner);
    const post = thread.post.bind(thread);
    thread.post = (message, transfer) => {
      this.messages.push(message);
      post(message, transfer);
    };
    return thread;
  }

  static async open(t: Test): Promise<Setting> {
    const setting = new Setting(t);
    await setting.store.start();
    await setting.store.apply('acme', [make.account('acme'), worker]);
    setting.messages.length = 0;
    return setting;
  }

  create(payload: string | null = null): Promise<unknown> {
    return this.store.create(
      'acme',
      make.createRequest([make.newTask(worker, {}, { body: { payload, headers: {} } })]),
    );
  }
}

t.test('the file and what belongs to it are only for their owner in any directory', async t => {
  const modes = (path: string) => ['', '-wal', '-shm'].map(end => statSync(path + end).mode & 0o777);
  const before = process.umask(0o022);
  t.teardown(() => process.umask(before));
  const created = new Setting(t);
  chmodSync(dirname(created.path), 0o755);
  await created.store.start();
  t.same(modes(created.path), [0o600, 0o600, 0o600]);
  t.same(created.logger.lines, []);

  // Files of an earlier version, which another process has opened.
  for (const end of ['', '-wal', '-shm']) chmodSync(created.path + end, 0o644);
  const later = new Setting(t);
  later.path = created.path;
  await later.store.start();
  t.same(modes(created.path), [0o600, 0o600, 0o600]);
  t.match(later.logger.lines, [{ level: 'warning', fields: { path: created.path, mode: '644, 644, 644' } }]);
  t.equal(later.logger.lines.length, 1);
});

test('what the thread answers is what the engine answers', async ({ store }, t) => {
  const [a, b] = [make.newTask(worker, { tags: ['x'] }), make.newTask(worker, { metadata: { k: 'v' } })];
  const held = make.newTask(worker, { heldBy: a.task.id });
  const created = await store.create('acme', make.createRequest([a, b, held]));
  for (const [i, item] of [a, b, held].entries()) {
    const task = await store.get('acme', item.task.id);
    t.match(created, { kind: 'done', results: { [i]: { kind: 'created' } } });
    t.strictSame(created.kind === 'done' && created.results[i], { kind: 'created', task });
  }
  const { tasks } = await store.claim('acme', make.claimRequest(worker.id, 1));
  const [settled] = await store.settle('acme', [settlement(tasks[0].leaseId, 'succeeded', { result: '1' })]);
  t.match(settled, { kind: 'settled', task: { id: a.task.id, status: 'succeeded' } });
  const bodies = await store.bodies('acme', [a.task.id]);
  t.match(bodies.get(a.task.id), { result: '1' });
  t.equal(await store.get('acme', 'tsk_none'), null);
  t.ok(Math.abs((await store.now()) - Date.now()) < 60_000);
});

test('what is asked in one turn goes in one message', async (setting, t) => {
  await Promise.all(Array.from({ length: 300 }, () => setting.create()));
  t.equal(setting.messages.length, 1);
  t.equal((await setting.store.counts('acme', null)).scheduled, 300);
});

test('a read sees what was acknowledged before', async ({ store }, t) => {
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      const item = make.newTask(worker);
      await store.create('acme', make.createRequest([item]));
      t.match(await store.get('acme', item.task.id), { id: item.task.id });
    }),
  );
});

test('more than may wait is refused, and what waits is done', async (setting, t) => {
  const asked = Array.from({ length: 9_000 }, () => setting.store.ping());
  const ends = await Promise.allSettled(asked);
  const refused = ends.filter(({ status }) => status === 'rejected');
  t.equal(refused.length, 9_000 - 2_816, 'one that asks alone may have a third of 8192');
  t.match(refused[0], {
    reason: {
      code: 'overloaded',
      message: /2816 operations are waiting for the task store; try again later/,
    },
  });
  await setting.store.ping();
  t.equal(setting.operator.waiting, 0);
});

test('the memory of what waits is bounded as well', async (setting, t) => {
  const large = JSON.stringify('x'.repeat(7 * 1024 * 1024));
  const ends = await Promise.allSettled([1, 2, 3, 4, 5].map(() => setting.create(large)));
  t.strictSame(each(ends, 'status'), ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected']);
  const larger = JSON.stringify('x'.repeat(80 * 1024 * 1024));
  await t.resolves(setting.create(larger), 'one by itself may be larger than what all may have');
});

test('a thread that is lost fails what it was asked, and is replaced', async (setting, t) => {
  const creating = setting.create();
  const ends = Promise.allSettled([creating]);
  await new Promise(setImmediate);
  await setting.threads[0].terminate();
  await setting.ends[0];
  const [end] = await ends;
  if (end.status === 'rejected') {
    t.match(end.reason, {
      ...STORE_FAILED,
      message: /was lost; the operation may or may not have been done/,
    });
  }
  await setting.create();
  t.equal(setting.threads.length, 2);
  t.match(setting.logger.lines, [{ level: 'error', message: /Store thread lost; starting another/ }]);
  const { scheduled } = await setting.store.counts('acme', null);
  t.ok(scheduled === 1 || scheduled === 2, 'the first one was made or not');
});

test('what was not sent yet when the thread was lost is done by the next one', async (setting, t) => {
  await setting.threads[0].terminate();
  await setting.ends[0];
  await Promise.all([setting.create(), setting.create()]);
  t.equal((await setting.store.counts('acme', null)).scheduled, 2);
});

test('where a replacement cannot open the file calls fail at once, and it is tried again later', async (setting, t) => {
  const { path } = setting;
  setting.path = `${path}/no/such/file`;
  await setting.threads[0].terminate();
  await t.rejects(setting.create(), { ...STORE_FAILED, message: /cannot be opened/ });
  await setting.ends[1];
  await t.rejects(setting.create(), { ...STORE_FAILED, message: /cannot be opened/ });
  t.equal(setting.threads.length, 2, 'not yet');
  setting.path = path;
  setting.nowMs += 1_000;
  await setting.create();
  t.equal(setting.threads.length, 3);
});

test('where a replacement cannot be started calls fail at once, and it is tried again later', async (setting, t) => {
  setting.noThread = new Error('no memory');
  await setting.threads[0].terminate();
  await t.rejects(setting.create(), { ...STORE_FAILED, message: /could not start: no memory/ });
  t.match(setting.logger.lines.at(-1), { level: 'error', fields: { reason: 'no memory' } });
  setting.noThread = null;
  await t.rejects(setting.create(), STORE_FAILED, 'not yet');
  setting.nowMs += 1_000;
  await setting.create();
});

t.test('a start without a thread fails, and leaves nothing to stop', async t => {
  const setting = new Setting(t);
  setting.noThread = new Error('no memory');
  await t.rejects(setting.store.start(), { message: 'no memory' });
  await setting.store.stop();
});

test('a stop waits for what was asked; nothing is done after it', async (setting, t) => {
  const creating = Promise.all([setting.create(), setting.create()]);
  await setting.store.stop();
  await creating;
  await t.rejects(setting.create(), { ...STORE_FAILED, message: /is stopped/ });
  await setting.store.stop();
  await setting.store.start();
  t.equal((await setting.store.list('acme', taskQuery())).length, 2);
});

t.test('a stop without a start is harmless', async t => {
  const setting = new Setting(t);
  await setting.store.stop();
  t.equal(setting.threads.length, 0);
});

t.test('a start that fails says why, and leaves no thread', async t => {
  const setting = new Setting(t);
  setting.path += '/no/such/file';
  await t.rejects(setting.store.start(), { ...STORE_FAILED, message: /cannot be opened: check the path/ });
  t.equal(setting.threads[0].threadId, -1, 'it has ended');
});

t.test('the warning that SQLite is experimental is left out, others are not', async t => {
  const setting = new Setting(t);
  const said: string[] = [];
  const listen = (warning: Error) => said.push(warning.message);
  process.on('warning', listen);
  t.teardown(() => process.off('warning', listen));
  await setting.store.start();
  process.emitWarning('something else', 'ExperimentalWarning');
  await new Promise(setImmediate);
  t.strictSame(said, ['something else']);
});
