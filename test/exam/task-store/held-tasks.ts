import type { Test } from 'tap';
import { FINAL_STATUSES, type Task } from '../../../src/tasks/model/task.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

/** A running task, its lease, and one that it holds. */
async function pair(scene: Scene, held: Parameters<Scene['add']>[0] = {}) {
  await scene.add();
  const { task, leaseId } = await scene.startOne();
  return { holder: task, leaseId, held: await scene.add({ heldBy: task.id, ...held }) };
}

export const heldTasks: Topic = test => {
  test('a held task is not due', async (scene, t) => {
    const { holder, held } = await pair(scene);
    t.strictSame([held.status, held.heldBy, held.dueAt], ['scheduled', holder.id, null]);
    t.notOk('nextAttemptAt' in (await scene.lastEntry(held.id)));
    t.strictSame(await scene.claim(1), { tasks: [], now: scene.now, nextAt: null, blocked: null });
  });

  test('a holder that is missing or has ended holds nobody', async (scene, t) => {
    for (const status of FINAL_STATUSES) {
      await scene.clear();
      const { id } = await scene.taskIn(status);
      const task = await scene.add({ heldBy: id });
      t.strictSame([task.heldBy, task.dueAt], [null, task.runAt], status);
    }
    t.equal((await scene.add({ heldBy: 'tsk_nobody' })).heldBy, null);
  });

  test('a task of the same request can be the holder', async (scene, t) => {
    const first = scene.newTask();
    const second = scene.newTask({ heldBy: first.task.id });
    await scene.create([first, second]);
    t.equal((await scene.get(second.task.id)).heldBy, first.task.id);
  });

  test('it can be changed, paused and resumed, and is held all the same', async (scene, t) => {
    const { holder, held } = await pair(scene);
    const runAt = scene.now + 5_000;
    const moved = await scene.changed(held.id, 'update', { runAt });
    t.strictSame([moved.runAt, moved.dueAt, moved.heldBy], [runAt, null, holder.id]);
    const paused = await scene.changed(held.id, 'pause');
    t.strictSame([paused.status, paused.dueAt], ['paused', null]);
    const resumed = await scene.changed(held.id, 'resume');
    t.strictSame([resumed.status, resumed.dueAt, resumed.heldBy], ['scheduled', null, holder.id]);
    t.strictSame(await scene.change(held.id, 'run'), { kind: 'refused', reason: 'status', task: resumed });
  });

  async function checkLetGo(t: Test, scene: Scene, before: Task, dueAt: number): Promise<void> {
    const after = {
      ...before,
      heldBy: null,
      dueAt,
      updatedAt: scene.now,
      version: before.version + 1,
    };
    t.strictSame(await scene.get(before.id), after);
    const { seq: _seq, ...entry } = await scene.lastEntry(before.id);
    t.strictSame(entry, {
      at: scene.now,
      event: 'updated',
      from: before.status,
      to: before.status,
      attempt: 0,
      actor: { type: 'system', id: 'store' },
      nextAttemptAt: dueAt,
      changed: ['held_by'],
    });
  }

  test('it is due now when its holder has ended', async (scene, t) => {
    const { leaseId, held } = await pair(scene);
    scene.clock.advance(700);
    await scene.end(leaseId, 'succeeded');
    await checkLetGo(t, scene, held, scene.now);
    t.equal((await scene.startOne()).task.id, held.id);
  });

  test('or at its own time, where that is later', async (scene, t) => {
    const runAt = scene.now + 60_000;
    const { leaseId, held } = await pair(scene, { runAt });
    scene.clock.advance(700);
    await scene.end(leaseId, 'no_retry');
    await checkLetGo(t, scene, held, runAt);
    t.equal((await scene.claim(1)).nextAt, runAt);
  });

  test('it waits on while the holder only waits for its next attempt', async (scene, t) => {
    const { leaseId, held } = await pair(scene);
    await scene.end(leaseId, 'attempt_failed');
    t.strictSame(await scene.get(held.id), held);
  });

  test('a paused one is due when it is resumed', async (scene, t) => {
    const { leaseId, held } = await pair(scene);
    const paused = await scene.changed(held.id, 'pause');
    scene.clock.advance(700);
    await scene.end(leaseId, 'succeeded');
    await checkLetGo(t, scene, paused, scene.now);
    t.strictSame((await scene.claim(1)).tasks, []);
    await scene.changed(held.id, 'resume');
    t.equal((await scene.startOne()).task.id, held.id);
  });

  const ends: Readonly<Record<string, (scene: Scene, id: string) => Promise<unknown>>> = {
    canceled: (scene, id) => scene.changed(id, 'cancel'),
    expired: (scene, id) => scene.changed(id, 'expire'),
    removed: (scene, id) => scene.store.remove(ACME, id, null),
  };
  for (const [end, act] of Object.entries(ends)) {
    test(`it is let go when its holder is ${end}`, async (scene, t) => {
      const holder = await scene.add({ expiresAt: scene.now + 1 });
      const held = await scene.add({ heldBy: holder.id });
      scene.clock.advance(1);
      await act(scene, holder.id);
      await checkLetGo(t, scene, held, scene.now);
    });
  }

  test('all that one task holds are let go, of whatever worker', async (scene, t) => {
    const { holder, leaseId, held } = await pair(scene);
    const another = await scene.add({ heldBy: holder.id });
    const item = scene.make.newTask(scene.reporter, { heldBy: holder.id });
    await scene.create([item]);
    const elsewhere = await scene.get(item.task.id);
    await scene.end(leaseId, 'succeeded');
    for (const task of [held, another, elsewhere]) await checkLetGo(t, scene, task, task.runAt);
  });

  test('a held task that ends is held no more', async (scene, t) => {
    const { leaseId, held } = await pair(scene, { expiresAt: scene.now });
    const expired = await scene.changed(held.id, 'expire');
    t.strictSame([expired.status, expired.heldBy, expired.dueAt], ['expired', null, null]);
    await scene.end(leaseId, 'succeeded');
    t.strictSame(await scene.get(held.id), expired, 'the end of its holder is nothing to it');
  });

  test('replayed, it does not wait', async (scene, t) => {
    const { held } = await pair(scene);
    await scene.changed(held.id, 'cancel');
    await scene.changed(held.id, 'replay');
    t.equal((await scene.startOne()).task.id, held.id);
  });

  test('a held task holds others in turn', async (scene, t) => {
    const { leaseId, held } = await pair(scene);
    const last = await scene.add({ heldBy: held.id });
    await scene.end(leaseId, 'succeeded');
    t.strictSame(await scene.get(last.id), last);
    await scene.end((await scene.startOne()).leaseId, 'succeeded');
    t.equal((await scene.startOne()).task.id, last.id);
  });
};
