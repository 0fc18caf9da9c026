import { TASK_STATUSES, type TaskStatus } from '../../../src/tasks/model/task.ts';
import type { Topic } from './exam.ts';
import { ACME } from './scene.ts';

const NONE = Object.fromEntries(TASK_STATUSES.map(status => [status, 0])) as Record<TaskStatus, number>;

export const counts: Topic = test => {
  test('there are none of any status at first', async (scene, t) => {
    t.strictSame(await scene.store.counts(ACME, null), NONE);
    t.strictSame(await scene.store.counts(ACME, scene.mailer.id), NONE);
    t.strictSame(await scene.store.counts(ACME, 'wrk_nobody'), NONE);
  });

  test('tasks are counted by status, of a worker and of all', async (scene, t) => {
    for (const [i, status] of TASK_STATUSES.entries()) await scene.taskIn(status, { runAt: scene.now - i });
    await scene.create([scene.make.newTask(scene.reporter), scene.make.newTask(scene.reporter)]);
    const ofMailer = Object.fromEntries(TASK_STATUSES.map(status => [status, 1]));
    t.strictSame(await scene.store.counts(ACME, scene.mailer.id), ofMailer);
    t.strictSame(await scene.store.counts(ACME, scene.reporter.id), { ...NONE, scheduled: 2 });
    t.strictSame(await scene.store.counts(ACME, null), { ...ofMailer, scheduled: 3 });
  });

  test('every way from one status to another is counted', async (scene, t) => {
    const { id } = await scene.add({ key: 'k', expiresAt: scene.now + 60_000 });
    const only = async (status: TaskStatus) => {
      const expected = { ...NONE, [status]: 1 };
      t.strictSame(await scene.store.counts(ACME, null), expected, status);
      t.strictSame(await scene.store.counts(ACME, scene.mailer.id), expected, status);
    };
    const attempt = async (event: Parameters<typeof scene.end>[1]) => {
      const { leaseId } = await scene.startOne();
      await only('running');
      await scene.end(leaseId, event);
    };
    await only('scheduled');
    await attempt('attempt_failed');
    await only('retry');
    await attempt('released');
    await only('retry');
    await scene.changed(id, 'pause');
    await only('paused');
    await scene.changed(id, 'resume');
    await only('retry');
    await attempt('no_retry');
    await only('failed');
    await scene.changed(id, 'replay');
    await only('scheduled');
    await attempt('succeeded');
    await only('succeeded');
    await scene.changed(id, 'replay');
    await attempt('canceled');
    await only('canceled');
    await scene.changed(id, 'replay');
    await scene.add({ key: 'k', expiresAt: scene.now }, { onConflict: 'replace' });
    await only('scheduled');
    await scene.changed(id, 'expire');
    await only('expired');
    await scene.store.remove(ACME, id, null);
    t.strictSame(await scene.store.counts(ACME, null), NONE);
  });

  test('what is refused is not counted', async (scene, t) => {
    await scene.add({ key: 'k' });
    await scene.create([scene.newTask({ key: 'k' }), scene.newTask({ workerId: 'wrk_nobody' })]);
    await scene.create([scene.newTask(), scene.newTask()], { atomic: true, maxOpen: 2 });
    t.strictSame(await scene.store.counts(ACME, null), { ...NONE, scheduled: 1 });
  });
};
