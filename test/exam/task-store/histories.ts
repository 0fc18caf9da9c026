import type { HistoryEntry } from '../../../src/tasks/model/task.ts';
import { historyQuery, PULLER } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

/** Makes the history of a task longer, up to so many entries. */
async function fill(scene: Scene, id: string, leaseId: string, length: number): Promise<void> {
  const [last] = (await scene.store.history(ACME, id, historyQuery({ limit: 1, order: 'desc' })))!;
  for (let seq = last.seq + 1; seq <= length; seq++) {
    await scene.store.extend(ACME, leaseId, null, {
      percent: seq % 100,
      note: `entry ${seq}`,
      actor: PULLER,
    });
  }
}

async function running(scene: Scene) {
  await scene.add();
  const { task, leaseId } = await scene.startOne({ lease: { mode: 'pull', ms: 60_000 } });
  return { id: task.id, leaseId };
}

function seqs(entries: readonly HistoryEntry[] | null): number[] {
  return (entries ?? []).map(({ seq }) => seq);
}

export const histories: Topic = test => {
  test('the history of a task has every step', async (scene, t) => {
    const { id } = await scene.add();
    await scene.end((await scene.startOne()).leaseId, 'timed_out');
    await scene.changed(id, 'pause');
    await scene.changed(id, 'update', { tags: ['a'] });
    await scene.changed(id, 'resume');
    await scene.changed(id, 'run');
    const { leaseId } = await scene.startOne();
    await scene.changed(id, 'cancel');
    await scene.end(leaseId, 'deferred');
    await scene.changed(id, 'replay');
    t.strictSame(
      (await scene.history(id)).map(({ seq, event, from, to, attempt }) => [seq, event, from, to, attempt]),
      [
        [1, 'created', null, 'scheduled', 0],
        [2, 'started', 'scheduled', 'running', 1],
        [3, 'timed_out', 'running', 'retry', 1],
        [4, 'paused', 'retry', 'paused', 1],
        [5, 'updated', 'paused', 'paused', 1],
        [6, 'resumed', 'paused', 'retry', 1],
        [7, 'updated', 'retry', 'retry', 1],
        [8, 'started', 'retry', 'running', 2],
        [9, 'cancel_requested', 'running', 'running', 2],
        [10, 'canceled', 'running', 'canceled', 2],
        [11, 'replayed', 'canceled', 'scheduled', 0],
      ],
    );
  });

  test('a task that is not there has none', async (scene, t) => {
    t.equal(await scene.store.history(ACME, 'tsk_nobody', historyQuery()), null);
  });

  test('it is read in pages, from either end', async (scene, t) => {
    const { id, leaseId } = await running(scene);
    await fill(scene, id, leaseId, 9);
    const read = async (after: number | null, limit: number, order: 'asc' | 'desc') =>
      seqs(await scene.store.history(ACME, id, { after, limit, order }));
    t.strictSame(await read(null, 4, 'asc'), [1, 2, 3, 4]);
    t.strictSame(await read(4, 4, 'asc'), [5, 6, 7, 8]);
    t.strictSame(await read(8, 4, 'asc'), [9]);
    t.strictSame(await read(9, 4, 'asc'), []);
    t.strictSame(await read(null, 4, 'desc'), [9, 8, 7, 6]);
    t.strictSame(await read(6, 10, 'desc'), [5, 4, 3, 2, 1]);
    t.strictSame(await read(1, 10, 'desc'), []);
  });

  test('of a long history the first 50 and the last 950 entries are kept', async (scene, t) => {
    const { id, leaseId } = await running(scene);
    await fill(scene, id, leaseId, 50);
    scene.clock.advance(1_000);
    await fill(scene, id, leaseId, 1_000);
    const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
    t.strictSame(seqs(await scene.history(id)), numbers(1, 1_000), 'a thousand are kept');

    const [, , before] = (await scene.history(id)).slice(47, 50);
    t.equal(before.seq, 50);
    for (const [length, dropped] of [
      [1_001, 1],
      [1_037, 37],
    ]) {
      await fill(scene, id, leaseId, length);
      const entries = await scene.history(id);
      t.strictSame(seqs(entries), [...numbers(1, 51), ...numbers(51 + dropped, length)]);
      t.strictSame(entries[50], {
        seq: 51,
        at: before.at,
        event: 'gap',
        from: before.from,
        to: before.to,
        attempt: before.attempt,
        actor: { type: 'system', id: 'store' },
        dropped,
      });
      t.equal(entries[51].note, `entry ${51 + dropped}`);
    }

    const read = async (after: number | null, limit: number, order: 'asc' | 'desc') =>
      seqs(await scene.store.history(ACME, id, { after, limit, order }));
    t.strictSame(await read(49, 4, 'asc'), [50, 51, 88, 89], 'what is missing is one entry of a page');
    t.strictSame(await read(50, 2, 'asc'), [51, 88]);
    t.strictSame(await read(51, 2, 'asc'), [88, 89]);
    t.strictSame(await read(60, 2, 'asc'), [88, 89]);
    t.strictSame(await read(90, 4, 'desc'), [89, 88, 51, 50]);
    t.strictSame(await read(88, 1, 'desc'), [51]);
    t.strictSame(await read(60, 2, 'desc'), [51, 50]);
    t.strictSame(await read(51, 2, 'desc'), [50, 49]);
    t.strictSame(await read(null, 3, 'desc'), [1_037, 1_036, 1_035]);

    await scene.end(leaseId, 'succeeded');
    const { seq, event } = (await scene.history(id)).at(-1)!;
    t.strictSame([seq, event], [1_038, 'succeeded'], 'and it goes on');
  });
};
