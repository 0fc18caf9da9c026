import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { count } from '../../../support/counting.ts';

/** A thread that holds every lock of a table. */
async function lockedTable(t: Test): Promise<{ table: CounterTable; thread: Worker; threadId: number }> {
  const table = CounterTable.create(1_024);
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const thread = new Worker(new URL(`./locking-thread.${extension}`, import.meta.url), {
    workerData: table.buffer,
  });
  t.teardown(() => thread.terminate());
  await once(thread, 'message');
  return { table, thread, threadId: thread.threadId };
}

/** The holder of each region, as the layout of the buffer has it. */
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
