import { copyFileSync, existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import type { Test } from 'tap';
import t from 'tap';
import { nodeSqlite } from '../../../../../src/tasks/store/sqlite/file/open-file.ts';
import { MIGRATIONS, migrate } from '../../../../../src/tasks/store/sqlite/file/schema.ts';
import type { TaskStore } from '../../../../../src/tasks/store/task-store.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { Factory, taskQuery } from '../../../../support/tasks/factories.ts';
import { sameThreadSqliteStore } from '../../../../support/tasks/same-thread-store.ts';
import { storePath } from '../../../../support/tasks/sqlite-files.ts';

const clock = new ManualClock(Date.UTC(2026, 2, 1));

function storeOf(path: string, file: { busyTimeoutMs?: number } = {}): TaskStore {
  return sameThreadSqliteStore({ path, ...file }, clock);
}

function database(path: string) {
  return new (nodeSqlite().DatabaseSync)(path);
}

/** Makes a file with so many tasks; the number of bytes that it has then. */
async function fill(path: string, tasks: number): Promise<number> {
  const make = new Factory(clock);
  const worker = make.worker();
  const store = storeOf(path);
  await store.start();
  await store.apply('acme', [worker]);
  const body = { payload: JSON.stringify('x'.repeat(900)), headers: {} };
  for (let made = 0; made < tasks; made += 500) {
    const some = Array.from({ length: 500 }, () => make.newTask(worker, {}, { body }));
    await store.create('acme', make.createRequest(some));
  }
  await store.stop();
  return statSync(path).size;
}

async function isRefused(t: Test, path: string, reason: RegExp): Promise<void> {
  const before = readFileSync(path);
  await t.rejects(storeOf(path).start(), { code: 'store_failed', message: reason });
  t.ok(readFileSync(path).equals(before), 'and the file is as it was');
}

t.test('a file that is not there is made', async t => {
  const path = storePath(t);
  const store = storeOf(path);
  await store.start();
  await store.ping();
  await store.stop();
  const db = database(path);
  t.strictSame({ ...db.prepare('PRAGMA user_version').get() }, { user_version: MIGRATIONS.length });
  t.strictSame({ ...db.prepare('PRAGMA journal_mode').get() }, { journal_mode: 'wal' });
  db.close();
  t.notOk(existsSync(`${path}-wal`), 'the WAL is gone with the last one who uses it');
});

t.test('an empty file is taken as a new one', async t => {
  const path = storePath(t);
  writeFileSync(path, '');
  const store = storeOf(path);
  await store.start();
  await store.stop();
  t.pass();
});

t.test('a file that is no database is refused', async t => {
  const path = storePath(t);
  writeFileSync(path, 'a text of somebody\n'.repeat(50));
  await isRefused(t, path, /tasks\.db is not opened: it is not an SQLite database/);
});

t.test('the database of another program is refused', async t => {
  const path = storePath(t);
  const db = database(path);
  db.exec('CREATE TABLE recipe (name TEXT)');
  db.close();
  await isRefused(t, path, /the database of another program; use another file/);
});

t.test('a layout of a newer version is refused', async t => {
  const path = storePath(t);
  await fill(path, 0);
  const db = database(path);
  db.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
  db.close();
  await isRefused(
    t,
    path,
    /its layout is \d+, this version knows layouts up to \d+; run the version that wrote it/,
  );
});

t.test('a path that cannot be opened is reported', async t => {
  const store = storeOf(`${storePath(t)}/no/such/tasks.db`);
  await t.rejects(store.start(), {
    code: 'store_failed',
    message: /the file cannot be opened: check the path/,
  });
});

t.test('a torn copy is refused', async t => {
  const path = storePath(t);
  const bytes = await fill(path, 1_000);
  for (const left of [bytes - 4_096, Math.floor(bytes / 2), 5_000]) {
    const copy = storePath(t);
    copyFileSync(path, copy);
    truncateSync(copy, left);
    await isRefused(t, copy, /is damaged: restore it from a backup/);
  }
});

t.test('a damaged page of a small file is found at the start', async t => {
  const path = storePath(t);
  await fill(path, 500);
  const bytes = readFileSync(path);
  bytes.fill(0xa5, 20 * 4_096, 22 * 4_096);
  writeFileSync(path, bytes);
  await isRefused(t, path, /is damaged/);
});

t.test('a large file is opened without reading all of it', async t => {
  const path = storePath(t);
  const bytes = await fill(path, 12_000);
  t.ok(bytes > 16 * 1024 * 1024, `${bytes} bytes`);
  const copy = storePath(t);
  copyFileSync(path, copy);
  truncateSync(copy, bytes - 40 * 4_096);
  await isRefused(t, copy, /is damaged/);
  const store = storeOf(path);
  await store.start();
  t.equal((await store.list('acme', taskQuery({ limit: 3 }))).length, 3);
  await store.stop();
});

t.test('layouts are brought up to date step by step', async t => {
  const path = storePath(t);
  const steps = [
    'CREATE TABLE one (a INTEGER)',
    'ALTER TABLE one ADD COLUMN b INTEGER',
    'CREATE TABLE two (c)',
  ];
  const db = database(path);
  t.teardown(() => db.close());
  migrate(db, path, steps.slice(0, 1));
  db.exec('INSERT INTO one (a) VALUES (7)');
  migrate(db, path, steps);
  t.strictSame({ ...db.prepare('SELECT a, b FROM one').get() }, { a: 7, b: null });
  t.strictSame({ ...db.prepare('PRAGMA user_version').get() }, { user_version: 3 });
  migrate(db, path, steps);
  t.pass('what is up to date stays');
});

t.test('a step that fails leaves the layout before it', async t => {
  const path = storePath(t);
  const db = database(path);
  t.teardown(() => db.close());
  t.throws(() => migrate(db, path, ['CREATE TABLE one (a)', 'CREATE TABLE two (b); CREATE TABLE one (a)']));
  t.strictSame({ ...db.prepare('PRAGMA user_version').get() }, { user_version: 1 });
  t.throws(() => db.prepare('SELECT * FROM two'), /no such table/);
});

t.test('two stores on one file see what the other has written', async t => {
  const path = storePath(t);
  const [one, other] = [storeOf(path), storeOf(path)];
  await one.start();
  await other.start();
  const make = new Factory(clock);
  const worker = make.worker();
  await one.apply('acme', [worker]);
  const item = make.newTask(worker);
  await other.create('acme', make.createRequest([item]));
  t.match(await one.get('acme', item.task.id), { id: item.task.id, workerId: worker.id });
  t.equal((await one.counts('acme', worker.id)).scheduled, 1);
  const { tasks } = await one.claim('acme', make.claimRequest(worker.id, 5));
  t.equal(tasks.length, 1);
  t.equal((await other.claim('acme', make.claimRequest(worker.id, 5))).tasks.length, 0, 'claimed once');
  await one.stop();
  await other.stop();
});
