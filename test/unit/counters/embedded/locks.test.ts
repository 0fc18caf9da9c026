import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { Locks } from '../../../../src/counters/embedded/locks.ts';
import { count } from '../../../support/counting.ts';
import { SLEEPS, type WaitingJob } from './waiting-thread.ts';

const EXTENSION = import.meta.url.endsWith('.ts') ? 'ts' : 'js';

/** A thread that holds every lock of a table. */
async function lockedTable(t: Test): Promise<{ table: CounterTable; thread: Worker; threadId: number }> {
  const table = CounterTable.create(1_024);
  const thread = new Worker(new URL(`./locking-thread.${EXTENSION}`, import.meta.url), {
    workerData: table.buffer,
  });
  t.teardown(() => thread.terminate());
  await once(thread, 'message');
  return { table, thread, threadId: thread.threadId };
}

/** Threads that take the first of some locks. While they wait for it, they sleep until they are woken. */
class WaitingThreads {
  readonly #threads: readonly Worker[];
  readonly #totals = new Int32Array(new SharedArrayBuffer(8));
  readonly #done: readonly Promise<unknown>[];

  constructor(t: Test, count: number, job: Partial<WaitingJob> & Pick<WaitingJob, 'words'>) {
    const workerData = { rounds: 1, handsOver: false, totals: this.#totals, ...job } satisfies WaitingJob;
    const url = new URL(`./waiting-thread.${EXTENSION}`, import.meta.url);
    this.#threads = Array.from({ length: count }, () => new Worker(url, { workerData }));
    this.#done = this.#threads.map(thread => once(thread, 'message'));
    t.teardown(() => this.kill());
  }

  /** Resolves when all threads wait for the lock. */
  async waiting(): Promise<void> {
    while (Atomics.load(this.#totals, SLEEPS) < this.#threads.length) await nextTurn();
  }

  /** Resolves when all threads have had the lock. */
  async done(): Promise<void> {
    await Promise.all(this.#done);
  }

  async kill(): Promise<void> {
    await Promise.all(this.#threads.map(thread => thread.terminate()));
  }
}

function freeLock(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(4));
}

/** The lock words of all regions, as the layout of the buffer has them. */
function lockWords(table: CounterTable): number[] {
  return [...new Int32Array(table.buffer, 64, table.regionCount)];
}

t.test('a lock names the thread that holds it', async t => {
  const { table, threadId } = await lockedTable(t);
  t.same(lockWords(table), [threadId + 1, threadId + 1]);
});

t.test('the locks of a killed thread are released, and counting continues at once', async t => {
  const { table, thread, threadId } = await lockedTable(t);
  await thread.terminate();
  table.releaseLocksOf(threadId);
  t.same(lockWords(table), [0, 0]);
  t.same(await count(new EmbeddedCounterStore(table), [{ key: 'a', hits: 1 }]), [1]);
});

t.test('only those: a lock of another thread stays', async t => {
  const { table, threadId } = await lockedTable(t);
  table.releaseLocksOf(threadId + 1);
  t.same(lockWords(table), [threadId + 1, threadId + 1]);
  table.unlock(0);
  t.equal(lockWords(table)[0], threadId + 1, 'nor does one let go of what another one holds');
});

t.test('a thread that waits for the lock of a killed thread takes it over', async t => {
  const { table, thread } = await lockedTable(t);
  await thread.terminate();
  t.same(await count(new EmbeddedCounterStore(table), [{ key: 'a', hits: 2 }]), [2]);
});

t.test('two threads that need one lock all the time wake each other', async t => {
  const words = freeLock();
  await new WaitingThreads(t, 2, { words, rounds: 100, handsOver: true }).done();
  t.equal(words[0], 0);
});

t.test('after competition, a lock is taken without the mark again', async t => {
  const words = freeLock();
  const locks = new Locks(words);
  locks.lock(0);
  const [word] = words;
  const others = new WaitingThreads(t, 1, { words });
  await others.waiting();
  t.equal(words[0], -word);
  locks.unlock(0);
  await others.done();
  t.equal(words[0], 0);
  locks.lock(0);
  t.equal(words[0], word);
});

t.test('all threads that wait for a killed thread continue when its locks are released', async t => {
  const { table, thread, threadId } = await lockedTable(t);
  const words = new Int32Array(table.buffer, 64, table.regionCount);
  const others = new WaitingThreads(t, 3, { words });
  await others.waiting();
  await thread.terminate();
  table.releaseLocksOf(threadId);
  await others.done();
  t.same(lockWords(table), [0, 0]);
});

t.test('the other threads that wait for a lock continue when one of them is killed', async t => {
  const words = freeLock();
  const locks = new Locks(words);
  locks.lock(0);
  const killed = new WaitingThreads(t, 1, { words });
  await killed.waiting();
  const others = new WaitingThreads(t, 2, { words });
  await others.waiting();
  await killed.kill();
  locks.unlock(0);
  await others.done();
  t.equal(words[0], 0);
});

t.test('a marked lock stays with its thread when another thread unlocks it', async t => {
  const { table, threadId } = await lockedTable(t);
  const words = new Int32Array(table.buffer, 64, table.regionCount);
  await new WaitingThreads(t, 1, { words }).waiting();
  table.unlock(0);
  t.equal(words[0], -threadId - 1);
});
