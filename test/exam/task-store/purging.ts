import { FINAL_STATUSES, TASK_STATUSES } from '../../../src/tasks/model/task.ts';
import type { PurgeAnswer } from '../../../src/tasks/store/requests.ts';
import { idempotency, idsOf, taskQuery } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME } from './scene.ts';

const KEEP = { succeededMs: 1_000, otherMs: 5_000 };

export const purging: Topic = test => {
  test('tasks that ended are kept for their time, those that succeeded for another', async (scene, t) => {
    for (const [i, status] of TASK_STATUSES.entries()) await scene.taskIn(status, { runAt: scene.now - i });
    const statuses = async () => {
      const tasks = await scene.store.list(ACME, taskQuery());
      return FINAL_STATUSES.filter(status => tasks.some(task => task.status === status));
    };
    scene.clock.advance(1_000);
    t.equal((await scene.store.purge(ACME, KEEP, 100)).tasks, 0);
    scene.clock.advance(1);
    t.equal((await scene.store.purge(ACME, KEEP, 100)).tasks, 1);
    t.strictSame(await statuses(), ['failed', 'canceled', 'expired']);
    scene.clock.advance(3_999);
    t.equal((await scene.store.purge(ACME, KEEP, 100)).tasks, 0);
    scene.clock.advance(1);
    t.equal((await scene.store.purge(ACME, KEEP, 100)).tasks, 3);
    t.strictSame(await statuses(), []);
    scene.clock.advance(366 * 86_400_000);
    t.equal((await scene.store.purge(ACME, KEEP, 100)).tasks, 0);
    const left = await scene.store.list(ACME, taskQuery());
    t.strictSame(left.map(({ status }) => status).sort(), ['paused', 'retry', 'running', 'scheduled']);
  });

  test('a purged task is gone with all that belongs to it', async (scene, t) => {
    const { id } = await scene.taskIn('succeeded', { scheduleId: 'sch_1' });
    scene.clock.advance(1_001);
    await scene.store.purge(ACME, KEEP, 100);
    t.equal(await scene.store.getWhole(ACME, id), null);
    t.equal(await scene.store.history(ACME, id, { after: null, limit: 10, order: 'asc' }), null);
    t.strictSame(await scene.store.bodies(ACME, [id]), new Map([[id, null]]));
    for (const query of [
      {},
      { workerId: scene.mailer.id },
      { statuses: ['succeeded'] as const },
      { scheduleId: 'sch_1' },
    ]) {
      t.strictSame(await scene.store.list(ACME, taskQuery(query)), []);
    }
    t.equal((await scene.store.counts(ACME, null)).succeeded, 0);
    t.equal((await scene.store.counts(ACME, scene.mailer.id)).succeeded, 0);
  });

  test('it leaves its key, although that was to be kept for longer', async (scene, t) => {
    await scene.taskIn('succeeded', { key: 'k', keyTtlMs: 3_600_000 });
    scene.clock.advance(1_001);
    t.equal((await scene.result(scene.newTask({ key: 'k' }))).kind, 'existing');
    await scene.store.purge(ACME, KEEP, 100);
    t.equal((await scene.result(scene.newTask({ key: 'k' }))).kind, 'created');
  });

  test('a replayed task is not purged, and its time begins again when it ends', async (scene, t) => {
    const { id } = await scene.taskIn('succeeded');
    scene.clock.advance(900);
    await scene.changed(id, 'replay');
    scene.clock.advance(5_000);
    t.equal((await scene.store.purge(ACME, KEEP, 100)).tasks, 0);
    await scene.end((await scene.startOne()).leaseId, 'succeeded');
    scene.clock.advance(1_000);
    t.equal((await scene.store.purge(ACME, KEEP, 100)).tasks, 0);
    scene.clock.advance(1);
    t.equal((await scene.store.purge(ACME, KEEP, 100)).tasks, 1);
  });

  test('no more is removed at once than was asked for', async (scene, t) => {
    await scene.create(Array.from({ length: 7 }, () => scene.newTask()));
    for (const { leaseId } of (await scene.claim(7)).tasks) await scene.end(leaseId, 'succeeded');
    const { id } = await scene.taskIn('failed');
    scene.clock.advance(1_001);
    const answers: PurgeAnswer[] = [];
    for (let round = 0; round < 4; round++) answers.push(await scene.store.purge(ACME, KEEP, 3));
    t.strictSame(answers, [
      { tasks: 3, more: true },
      { tasks: 3, more: true },
      { tasks: 1, more: false },
      { tasks: 0, more: false },
    ]);
    t.strictSame(idsOf(await scene.store.list(ACME, taskQuery())), [id]);
  });

  test('all that is over goes, however often that has to be asked for', async (scene, t) => {
    for (let i = 0; i < 5; i++) await scene.store.remember(ACME, idempotency(`i${i}`, { keepMs: 1_000 }));
    const keys = Array.from({ length: 5 }, (_, i) => scene.newTask({ key: `k${i}`, keyTtlMs: 2_000 }));
    await scene.create(keys);
    for (const { leaseId } of (await scene.claim(5)).tasks) await scene.end(leaseId, 'no_retry');
    const purgeAll = async () => {
      let rounds = 1;
      while ((await scene.store.purge(ACME, KEEP, 2)).more) rounds++;
      t.ok(rounds <= 3, `${rounds} rounds`);
      t.strictSame(await scene.store.purge(ACME, KEEP, 2), { tasks: 0, more: false });
    };
    for (let round = 0; round < 6; round++) {
      scene.clock.advance(1_000);
      await purgeAll();
    }
    t.strictSame(await scene.store.list(ACME, taskQuery()), []);
  });

  test('what is remembered, and keys that are kept, stay until their time is over', async (scene, t) => {
    await scene.store.remember(ACME, idempotency('short', { keepMs: 1_000 }));
    await scene.store.remember(ACME, idempotency('long', { keepMs: 60_000 }));
    await scene.taskIn('failed', { key: 'k', keyTtlMs: 2_000 });
    scene.clock.advance(1_000);
    await scene.store.purge(ACME, KEEP, 100);
    t.equal((await scene.store.recall(ACME, idempotency('short'))).kind, 'new');
    t.equal((await scene.store.recall(ACME, idempotency('long'))).kind, 'replayed');
    t.equal((await scene.result(scene.newTask({ key: 'k' }))).kind, 'existing');
    scene.clock.advance(1_000);
    await scene.store.purge(ACME, KEEP, 100);
    t.equal((await scene.result(scene.newTask({ key: 'k' }))).kind, 'created');
  });
};
