import { execFileSync } from 'node:child_process';
import fs, { rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import type { Test } from 'tap';
import t from 'tap';
import type { Operation } from '../../../../../src/tasks/store/operations.ts';
import { boundWal, nodeSqlite } from '../../../../../src/tasks/store/sqlite/file/open-file.ts';
import { each } from '../../../../support/each.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { fillDisk, smallDisk } from '../../../../support/small-disk.ts';
import { Factory, taskQuery } from '../../../../support/tasks/factories.ts';
import { openedEngine, sameThreadSqliteStore } from '../../../../support/tasks/same-thread-store.ts';
import { storePath } from '../../../../support/tasks/sqlite-files.ts';
import { withWorker } from '../../../../support/tasks/store-with-worker.ts';

const clock = new ManualClock(Date.UTC(2026, 2, 1));
const STORE_FAILED = { name: 'Fault', code: 'store_failed' };

async function open(t: Test, path: string, file: { busyTimeoutMs?: number } = {}) {
  const { store, add } = await withWorker(t, sameThreadSqliteStore({ path, ...file }, clock), clock);
  return { store, create: (payloadBytes = 10) => add(JSON.stringify('x'.repeat(payloadBytes))) };
}

const NO_MOUNT = 'this process may not mount a file system';

t.test('on a full disk tasks are refused whole, until there is room again', async t => {
  const directory = smallDisk(t, '2m');
  if (directory === null) return t.comment(NO_MOUNT);
  const { store, create } = await open(t, join(directory, 'tasks.db'));
  const ballast = join(directory, 'ballast');
  writeFileSync(ballast, Buffer.alloc(1_000_000));
  const made: string[] = [];
  const fill = async () => {
    for (let i = 0; i < 1_000; i++) made.push(await create(3_000));
  };
  await t.rejects(fill(), { ...STORE_FAILED, message: /the disk is full: free some space/ });
  t.ok(made.length > 10, `${made.length} tasks fit`);

  const query = taskQuery({ limit: 1_000 });
  t.strictSame(each(await store.list('acme', query), 'id'), made, 'reading goes on');
  t.equal((await store.counts('acme', null)).scheduled, made.length);
  fillDisk(directory);
  // What the failed transaction had allocated still takes a few small writes.
  const probe = async () => {
    for (let i = 0; i < 20; i++) {
      clock.advance(5_000);
      await store.ping();
    }
  };
  await t.rejects(probe(), { ...STORE_FAILED, message: /the disk is full/ }, 'it says what is wrong');
  await t.rejects(store.ping(), STORE_FAILED, 'each time that it is asked from then on');
  rmSync(ballast);
  await store.ping();
  made.push(await create());
  t.equal((await store.list('acme', query)).length, made.length);
});

t.test('a file that can only be read is refused at the start, and opened once it can be written', async t => {
  const directory = smallDisk(t, '2m');
  if (directory === null) return t.comment(NO_MOUNT);
  const path = join(directory, 'tasks.db');
  const { store } = await open(t, path);
  await store.stop();
  const remount = (how: string) => execFileSync('mount', ['-o', `remount,${how}`, directory]);
  remount('ro');
  await t.rejects(store.start(), STORE_FAILED);
  remount('rw');
  await store.start();
  await store.ping();
});

t.test('while another process holds the write lock, writing fails and reading does not', async t => {
  const path = storePath(t);
  const { store, create } = await open(t, path, { busyTimeoutMs: 20 });
  const before = await create();
  const other = new (nodeSqlite().DatabaseSync)(path);
  t.teardown(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  await t.rejects(create(), {
    ...STORE_FAILED,
    message: /another process holds the write lock for too long/,
  });
  t.match(await store.get('acme', before), { id: before });
  await t.rejects(store.ping(), { ...STORE_FAILED, message: /holds the write lock/ }, 'and it says so');
  other.exec('ROLLBACK');
  await store.ping();
  const after = await create();
  t.strictSame(each(await store.list('acme', taskQuery()), 'id'), [before, after]);
});

t.test('a row that cannot be read fails what needs it, and nothing else', async t => {
  const path = storePath(t);
  const { store, create } = await open(t, path);
  const id = await create();
  const other = new (nodeSqlite().DatabaseSync)(path);
  other.exec(`UPDATE task SET retry = '{' WHERE id = '${id}'`);
  other.close();
  await t.rejects(store.get('acme', id), STORE_FAILED);
  t.equal((await store.counts('acme', null)).scheduled, 1);
});

t.test('an operation that fails by itself fails alone in its group', async t => {
  const { engine, make, worker } = openEngine(t);
  const create = (...items: ReturnType<Factory['newTask']>[]): Operation => ({
    name: 'create',
    args: ['acme', make.createRequest(items)],
  });
  const [a, b, c] = Array.from({ length: 3 }, () => make.newTask(worker));
  const outcomes = engine.write([create(a), create(b, a), create(c)]);
  t.strictSame(each(outcomes, 'ok'), [true, false, true], 'one gave an id twice');
  const [list] = engine.read([{ name: 'list', args: ['acme', taskQuery()] }]);
  t.match(list, { ok: true, answer: [{ id: a.task.id }, { id: c.task.id }] });
  const [counts] = engine.read([{ name: 'counts', args: ['acme', worker.id] }]);
  t.match(counts, { answer: { scheduled: 2 } });
});

/** An engine with a worker, and what makes one task. */
function openEngine(t: Test) {
  const make = new Factory(clock);
  const worker = make.worker();
  const engine = openedEngine(t, { path: storePath(t), synchronous: 'normal', busyTimeoutMs: 100 }, clock);
  engine.write([{ name: 'apply', args: ['acme', [worker]] }]);
  const create = (): Operation => ({
    name: 'create',
    args: ['acme', make.createRequest([make.newTask(worker)])],
  });
  return { engine, make, worker, create };
}

t.test('what is on the disk is answered so, although the WAL cannot be looked at', async t => {
  const { engine, create } = openEngine(t);
  const { statSync } = fs;
  const restore = () => {
    Object.assign(fs, { statSync });
    syncBuiltinESMExports();
  };
  t.teardown(restore);
  Object.assign(fs, {
    statSync: () => {
      throw new Error('EACCES: permission denied');
    },
  });
  syncBuiltinESMExports();
  const outcomes = Array.from({ length: 200 }, () => engine.write([create()])[0]);
  restore();
  t.strictSame(
    outcomes.filter(({ ok }) => !ok),
    [],
  );
  t.match(engine.read([{ name: 'counts', args: ['acme', null] }]), [{ answer: { scheduled: 200 } }]);
});

t.test('a read that fails tells why, also where SQLite has ended its transaction', async t => {
  const { engine } = openEngine(t);
  const counts: Operation = { name: 'counts', args: ['acme', null] };
  engine.read([counts]);
  const { StatementSync } = nodeSqlite();
  const { get } = StatementSync.prototype;
  t.teardown(() => Object.assign(StatementSync.prototype, { get }));
  const { DatabaseSync } = nodeSqlite();
  const { prepare } = DatabaseSync.prototype;
  t.teardown(() => Object.assign(DatabaseSync.prototype, { prepare }));
  let failing: InstanceType<typeof DatabaseSync> | null = null;
  Object.assign(DatabaseSync.prototype, {
    prepare(this: InstanceType<typeof DatabaseSync>, sql: string) {
      failing = this;
      return prepare.call(this, sql);
    },
  });
  Object.assign(StatementSync.prototype, {
    get() {
      failing?.exec('ROLLBACK');
      throw Object.assign(new Error('disk I/O error'), { errcode: 10 });
    },
  });
  const [outcome] = engine.read([{ name: 'get', args: ['acme', 'tsk_1'] }]);
  Object.assign(StatementSync.prototype, { get });
  t.match(outcome, { ok: false, fault: { message: /disk I\/O error/ } });
  t.match(engine.read([counts]), [{ ok: true }], 'and the connection is another one');
});

t.test('the WAL stays small while another process reads the same state for long, and after', async t => {
  const path = storePath(t);
  const { create } = await open(t, path, { busyTimeoutMs: 100 });
  const reader = new (nodeSqlite().DatabaseSync)(path);
  t.teardown(() => reader.close());
  const size = () => statSync(`${path}-wal`).size;
  const write = async (times: number) => {
    for (let i = 0; i < times; i++) await create(50_000);
  };
  // Readers that overlap, so that there is no moment without one.
  for (let round = 0; round < 12; round++) {
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM tenant').get();
    await write(100);
    reader.exec('COMMIT');
    await write(20);
  }
  t.ok(size() < 40 * 1024 * 1024, `${size()} bytes after 70 MB were written`);
});

t.test('a WAL that has grown too long is emptied, and one that is read is left as it is', async t => {
  const path = storePath(t);
  const { create } = await open(t, path);
  const file = { path, synchronous: 'normal', busyTimeoutMs: 1_000 } as const;
  const [db, reader] = [0, 1].map(() => new (nodeSqlite().DatabaseSync)(path));
  t.teardown(() => {
    for (const each of [db, reader]) each.close();
  });
  const size = () => statSync(`${path}-wal`).size;
  db.exec('PRAGMA busy_timeout = 1000');
  await create(50_000);
  boundWal(db, file);
  t.ok(size() > 50_000, 'it may be that long');

  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM task').get();
  await create(50_000);
  boundWal(db, file, { maxBytes: 10_000, patienceMs: 1 });
  t.ok(size() > 100_000, 'somebody reads');
  t.strictSame({ ...db.prepare('PRAGMA busy_timeout').get() }, { timeout: 1_000 }, 'patience is what it was');

  reader.exec('COMMIT');
  boundWal(db, file, { maxBytes: 10_000, patienceMs: 1 });
  t.equal(size(), 0);
});
