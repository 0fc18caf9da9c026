import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import t from 'tap';
import { systemClock } from '../../../../../src/base/clock.ts';
import { threadedSqliteStore } from '../../../../../src/tasks/store/sqlite/engine/thread-operator.ts';
import { nodeSqlite } from '../../../../../src/tasks/store/sqlite/file/open-file.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { fillDisk, smallDisk } from '../../../../support/small-disk.ts';
import { storePath } from '../../../../support/tasks/sqlite-files.ts';
import { withWorker } from '../../../../support/tasks/store-with-worker.ts';

/** A store on a thread of its own, with a worker. */
async function open(t: Test, path: string, file: { busyTimeoutMs?: number } = {}) {
  const { store } = threadedSqliteStore({ path, ...file }, new KeepingLogger());
  const { add } = await withWorker(t, store, systemClock);
  return { store, create: add };
}

function lockOf(t: Test, path: string) {
  const other = new (nodeSqlite().DatabaseSync)(path);
  t.teardown(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  return other;
}

t.test('while another process holds the write lock reading goes on, and writing waits for it', async t => {
  const path = storePath(t);
  const { store, create } = await open(t, path);
  const before = await create();
  const other = lockOf(t, path);
  const order: string[] = [];
  const written = create().then(() => order.push('written'));
  for (let i = 0; i < 5; i++) t.match(await store.get('acme', before), { id: before });
  order.push('read');
  other.exec('ROLLBACK');
  await written;
  t.strictSame(order, ['read', 'written'], 'nobody who reads has waited for the lock');
});

t.test('a lock that is held for too long is the reason, at once from then on', async t => {
  const path = storePath(t);
  const { store, create } = await open(t, path, { busyTimeoutMs: 1_000 });
  const other = lockOf(t, path);
  const failed = { code: 'store_failed', trouble: 'file_locked' };
  await t.rejects(store.ping(), { ...failed, message: /another process holds the write lock/ });
  const startMs = performance.now();
  await t.rejects(create(), failed);
  t.ok(performance.now() - startMs < 900, 'the next one does not wait as long again');
  other.exec('ROLLBACK');
  await store.ping();
  t.match(await create(), /^tsk_/);
});

t.test('a full disk is the reason, also while small writes still go well', async t => {
  const directory = smallDisk(t, '4m');
  if (directory === null) return t.comment('this process may not mount a file system');
  const { store, create } = await open(t, join(directory, 'tasks.db'));
  const filler = fillDisk(directory);
  const full = { code: 'store_failed', trouble: 'disk_full', message: /the disk is full: free some space/ };
  await t.rejects(create('x'.repeat(100_000)), full);
  for (let i = 0; i < 3; i++) await t.rejects(store.ping(), full);
  rmSync(filler);
  await store.ping();
  t.match(await create('x'.repeat(100_000)), /^tsk_/);
});

t.test('a file on a full disk is not opened, whether it is new or not, and the reason is said', async t => {
  const directory = smallDisk(t, '1m');
  if (directory === null) return t.comment('this process may not mount a file system');
  const path = join(directory, 'tasks.db');
  const full = { code: 'store_failed', trouble: 'disk_full', message: /the disk is full: free some space/ };
  const filler = fillDisk(directory);
  await t.rejects(open(t, path), full, 'a new one');
  rmSync(filler);
  rmSync(path, { force: true });
  const { store } = await open(t, path);
  await store.stop();
  fillDisk(directory);
  await t.rejects(store.start(), full, 'one that was there');
});

t.test('nothing is written to a file that was moved away, until it is back', async t => {
  const path = storePath(t);
  const { store, create } = await open(t, path);
  const kept = await create();
  const elsewhere = join(dirname(path), 'moved.db');
  renameSync(path, elsewhere);
  const moved = { code: 'store_failed', trouble: 'file_moved', message: /was moved away or deleted/ };
  await t.rejects(store.ping(), moved);
  await t.rejects(create(), moved, 'it would be lost with the next start');
  t.match(await store.get('acme', kept), { id: kept }, 'reading goes on');
  renameSync(elsewhere, path);
  await store.ping();
  t.match(await create(), /^tsk_/);
});

t.test('nor where another file is in its place, or the WAL is gone', async t => {
  const path = storePath(t);
  const { store, create } = await open(t, path);
  const copy = join(dirname(path), 'copy.db');
  copyFileSync(path, copy);
  renameSync(copy, path);
  const failed = { code: 'store_failed', trouble: 'file_moved' };
  await t.rejects(store.ping(), { ...failed, message: /tasks\.db was replaced by another file/ });
  await t.rejects(create(), failed);

  const other = storePath(t);
  const second = await open(t, other);
  rmSync(`${other}-wal`);
  await t.rejects(second.store.ping(), { ...failed, message: /-wal was moved away or deleted/ });
  await t.rejects(second.create(), failed);
});
