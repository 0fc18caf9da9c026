import { idempotency, retryPolicy } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME } from './scene.ts';
import { snapshotOf } from './snapshot.ts';

export const restarts: Topic = test => {
  test('the store answers, and tells the time', async (scene, t) => {
    await scene.store.ping();
    t.equal(await scene.store.now(), scene.now);
    scene.clock.advance(1_234);
    t.equal(await scene.store.now(), scene.now);
  });

  test('a clock that was set back meanwhile empties no bucket', async (scene, t) => {
    const bound = { rate: { limit: 1, perMs: 60_000, burst: 3 }, tenantPerSecond: 3 };
    await scene.create(Array.from({ length: 4 }, () => scene.newTask({ runAt: scene.now - 7_200_000 })));
    t.equal((await scene.claim(1, bound)).tasks.length, 1);
    await scene.reopen();
    scene.clock.advance(-3_600_000);
    t.match(await scene.claim(3, bound), { tasks: { length: 2 }, blocked: 'rate' });
    // A store may let its time pass at half speed until the clock has caught up.
    scene.clock.advance(120_000);
    t.match(await scene.claim(3, bound), { tasks: { length: 1 }, blocked: null });
  });

  test('a store that is opened again has all that it had', async (scene, t) => {
    const bound = { rate: { limit: 1, perMs: 60_000, burst: 3 }, concurrency: 5 };
    await scene.add({ key: 'k', runAt: scene.now + 30_000 }, { wake: true });
    await scene.taskIn('succeeded', { key: 'l', keyTtlMs: 60_000 });
    await scene.add({ retry: retryPolicy({ maxAttempts: 3 }), timeoutMs: 1_000 });
    const kept = await scene.startOne({ ...bound, lease: { mode: 'push', ms: 0 } });
    const held = await scene.add({ heldBy: kept.task.id });
    await scene.create([scene.newTask(), scene.newTask(), scene.newTask(), scene.newTask()], {
      idempotency: idempotency('i', { note: 'kept' }),
      documents: [scene.make.user(), scene.make.schedule(scene.mailer, { nextAt: scene.now })],
    });
    const ended = await scene.startOne(bound);
    await scene.end(ended.leaseId, 'released', { delayMs: 5_000 });
    await scene.store.setWakeup(ACME, scene.mailer.id, scene.now + 77);
    const before = await snapshotOf(scene.store);

    if (!(await scene.reopen())) return t.pass('this one cannot be opened again');
    t.strictSame(await snapshotOf(scene.store), before);
    t.strictSame(await scene.store.wakeups(scene.now + 77, 10), [
      { tenant: ACME, workerId: scene.mailer.id, at: scene.now + 77 },
    ]);
    t.strictSame(await scene.store.recall(ACME, idempotency('i')), { kind: 'replayed', note: 'kept' });
    t.match(await scene.store.findDocument(ACME, 'name:worker:mailer'), { id: scene.mailer.id });
    t.equal((await scene.result(scene.newTask({ key: 'k' }))).kind, 'existing', 'keys');
    t.equal(
      (await scene.result(scene.newTask({ key: 'l' }))).kind,
      'existing',
      'keys of tasks that have ended',
    );
    t.equal((await scene.settle(ended.leaseId, 'released')).kind, 'already', 'how attempts ended');
    const claimed = await scene.claim(5, bound);
    t.strictSame([claimed.tasks.length, claimed.blocked], [1, 'rate'], 'buckets');
    scene.clock.advance(1_000);
    t.match(await scene.store.overdue(10), [{ leases: [{ leaseId: kept.leaseId }] }], 'leases');
    await scene.end(kept.leaseId, 'no_retry');
    t.equal((await scene.get(held.id)).heldBy, null, 'who holds whom');
    t.equal((await scene.store.dueDocuments(10)).length, 1, 'what is due');
  });
};
