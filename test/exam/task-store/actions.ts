import { TASK_STATUSES } from '../../../src/tasks/model/task.ts';
import { USER } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME } from './scene.ts';

export const actions: Topic = test => {
  test('a paused task keeps its time and does not start', async (scene, t) => {
    const before = await scene.add();
    const paused = await scene.changed(before.id, 'pause');
    t.equal(paused.dueAt, before.dueAt);
    t.equal((await scene.lastEntry(before.id)).nextAttemptAt, before.dueAt);
    t.strictSame((await scene.claim(1)).tasks, []);
    const resumed = await scene.changed(before.id, 'resume');
    t.strictSame([resumed.status, resumed.dueAt], ['scheduled', before.dueAt]);
    t.equal((await scene.startOne()).task.id, before.id);
  });

  test('a task that has started is resumed to wait for its next attempt', async (scene, t) => {
    const before = await scene.taskIn('retry');
    await scene.changed(before.id, 'pause');
    const task = await scene.changed(before.id, 'resume');
    t.strictSame([task.status, task.dueAt, task.attempt], ['retry', before.dueAt, 1]);
  });

  test('also when none of its attempts counted', async (scene, t) => {
    const { id } = await scene.add();
    await scene.end((await scene.startOne()).leaseId, 'released');
    await scene.changed(id, 'pause');
    const task = await scene.changed(id, 'resume');
    t.strictSame([task.status, task.attempt], ['retry', 0]);
  });

  test('a task whose worker was deleted is not replayed', async (scene, t) => {
    const before = await scene.taskIn('failed');
    const { workerId: id } = before;
    await scene.store.apply(ACME, [{ op: 'delete', kind: 'worker', id, expect: 'any', noOpenTasksOf: id }]);
    const refused = { kind: 'refused', reason: 'status', task: before };
    t.strictSame(await scene.change(before.id, 'replay'), refused);
    t.strictSame(await scene.get(before.id), before);
  });

  test('a replayed task has not started', async (scene, t) => {
    const { id } = await scene.taskIn('failed');
    await scene.changed(id, 'replay');
    await scene.changed(id, 'pause');
    t.equal((await scene.changed(id, 'resume')).status, 'scheduled');
  });

  test('a task that waits is canceled at once', async (scene, t) => {
    const { id } = await scene.add();
    scene.clock.advance(1);
    const task = await scene.changed(id, 'cancel');
    t.strictSame(
      [task.status, task.dueAt, task.finishedAt, task.cancelRequestedAt],
      ['canceled', null, scene.now, null],
    );
    t.notOk('nextAttemptAt' in (await scene.lastEntry(id)));
    t.strictSame((await scene.claim(1)).tasks, []);
  });

  test('one that runs is asked to stop, once', async (scene, t) => {
    const { id } = await scene.taskIn('running');
    scene.clock.advance(1);
    const task = await scene.changed(id, 'cancel');
    t.strictSame([task.status, task.cancelRequestedAt, task.finishedAt], ['running', scene.now, null]);
    const { seq: _seq, ...entry } = await scene.lastEntry(id);
    t.strictSame(entry, {
      at: scene.now,
      event: 'cancel_requested',
      from: 'running',
      to: 'running',
      attempt: 1,
      actor: USER,
    });
    scene.clock.advance(1);
    t.strictSame(await scene.change(id, 'cancel'), { kind: 'unchanged', task });
  });

  test('one that succeeded although it was asked to stop cannot be canceled', async (scene, t) => {
    const { id } = await scene.add();
    const { leaseId } = await scene.startOne();
    await scene.changed(id, 'cancel');
    const task = await scene.end(leaseId, 'succeeded');
    t.strictSame(await scene.change(id, 'cancel'), { kind: 'refused', reason: 'status', task });
  });

  test('a task that is to run now is due, and keeps its time', async (scene, t) => {
    const { id, runAt } = await scene.add({ runAt: scene.now + 3_600_000 });
    scene.clock.advance(1);
    const task = await scene.changed(id, 'run');
    t.strictSame([task.dueAt, task.runAt], [scene.now, runAt]);
    const { changed, nextAttemptAt } = await scene.lastEntry(id);
    t.strictSame([changed, nextAttemptAt], [['run_at'], scene.now]);
    t.equal((await scene.startOne()).task.id, id);
  });

  test('a task expires when it has not started in time', async (scene, t) => {
    for (const status of TASK_STATUSES) {
      const expiresAt = scene.now + 10;
      await scene.clear();
      const before = await scene.taskIn(status, status === 'expired' ? {} : { expiresAt });
      const early = { kind: 'refused', reason: 'status', task: before };
      t.strictSame(await scene.change(before.id, 'expire'), early, `${status}, too early`);
      scene.clock.moveTo(expiresAt);
      const answer = await scene.change(before.id, 'expire');
      if (status !== 'scheduled' && status !== 'retry') {
        t.strictSame(answer, early, status);
        continue;
      }
      t.equal(answer.kind, 'done', status);
      const task = await scene.get(before.id);
      t.strictSame([task.status, task.dueAt, task.finishedAt], ['expired', null, scene.now], status);
      const { event, from, to } = await scene.lastEntry(before.id);
      t.strictSame([event, from, to], ['expired', status, 'expired']);
    }
    const never = await scene.add();
    t.equal((await scene.change(never.id, 'expire')).kind, 'refused', 'nor one that may start at any time');
  });
};
