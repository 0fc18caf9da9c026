import { settlement, taskChange } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

const LEASE = { lease: { mode: 'push', ms: 0 } } as const;

/** All that is overdue, in short: leases and ids, sorted. */
async function overdue(scene: Scene, max = 1_000) {
  const found = await scene.store.overdue(max);
  return {
    leases: found.flatMap(({ leases }) => leases.map(({ leaseId }) => leaseId)).sort(),
    expired: found.flatMap(({ expired }) => expired.map(({ id }) => id)).sort(),
  };
}

export const overdueTasks: Topic = test => {
  test('nothing is overdue at first', async (scene, t) => {
    await scene.taskIn('running');
    await scene.add();
    t.strictSame(await scene.store.overdue(10), []);
  });

  test('an attempt is overdue when its lease is over, until it is ended', async (scene, t) => {
    await scene.add({ timeoutMs: 1_000 });
    const { leaseId, leaseUntil, task } = await scene.startOne(LEASE);
    scene.clock.moveTo(leaseUntil - 1);
    t.strictSame(await scene.store.overdue(10), []);
    scene.clock.moveTo(leaseUntil);
    const found = [{ tenant: ACME, leases: [{ leaseId, task }], expired: [] }];
    t.strictSame(await scene.store.overdue(10), found);
    t.strictSame(await scene.store.overdue(10), found, 'asking changes nothing');
    await scene.end(leaseId, 'lease_expired');
    t.strictSame(await scene.store.overdue(10), []);
  });

  test('a task is overdue when it has not started in time, until it has expired', async (scene, t) => {
    const expiresAt = scene.now + 1_000;
    const { id: scheduled } = await scene.add({ expiresAt, runAt: scene.now + 60_000 });
    const { id: retry } = await scene.taskIn('retry', { expiresAt });
    const { id: holder } = await scene.taskIn('running', { expiresAt, timeoutMs: 60_000 });
    const { id: held } = await scene.add({ expiresAt, heldBy: holder });
    await scene.taskIn('paused', { expiresAt });
    await scene.taskIn('canceled', { expiresAt });
    scene.clock.moveTo(expiresAt - 1);
    t.strictSame(await scene.store.overdue(10), []);
    scene.clock.moveTo(expiresAt);
    t.strictSame(await overdue(scene), { leases: [], expired: [scheduled, retry, held].sort() });
    const [{ expired }] = await scene.store.overdue(10);
    t.strictSame(
      expired.find(({ id }) => id === retry),
      await scene.get(retry),
    );
    for (const id of [scheduled, retry, held]) await scene.changed(id, 'expire');
    t.strictSame(await scene.store.overdue(10), []);
  });

  test('a new time to start by counts', async (scene, t) => {
    const { id } = await scene.add({ expiresAt: scene.now + 1_000 });
    await scene.changed(id, 'update', { expiresAt: scene.now + 5_000 });
    scene.clock.advance(1_000);
    t.strictSame((await overdue(scene)).expired, []);
    scene.clock.advance(4_000);
    t.strictSame((await overdue(scene)).expired, [id]);
    await scene.changed(id, 'update', { expiresAt: null });
    t.strictSame((await overdue(scene)).expired, []);
  });

  test('a paused task is overdue once it is resumed, a removed one never', async (scene, t) => {
    const expiresAt = scene.now + 1_000;
    const paused = await scene.taskIn('paused', { expiresAt });
    const removed = await scene.add({ expiresAt });
    await scene.store.remove(ACME, removed.id, null);
    scene.clock.advance(1_000);
    t.strictSame((await overdue(scene)).expired, []);
    await scene.changed(paused.id, 'resume');
    t.strictSame((await overdue(scene)).expired, [paused.id]);
  });

  test('all tenants are looked at, and no more is told than was asked for', async (scene, t) => {
    const tenants = [ACME, 'globex', 'initech'];
    const ids: string[] = [];
    const leaseIds: string[] = [];
    for (const tenant of tenants) {
      if (tenant !== ACME) await scene.store.apply(tenant, [scene.make.account(tenant), scene.mailer]);
      const attempt = scene.newTask({ timeoutMs: 1_000 });
      await scene.store.create(tenant, scene.make.createRequest([attempt]));
      const request = scene.make.claimRequest(scene.mailer.id, 1, LEASE);
      leaseIds.push((await scene.store.claim(tenant, request)).tasks[0].leaseId);
      const late = scene.newTask({ expiresAt: scene.now + 1_000 });
      await scene.store.create(tenant, scene.make.createRequest([late]));
      ids.push(late.task.id);
    }
    scene.clock.advance(1_000);
    t.strictSame(await overdue(scene), { leases: [...leaseIds].sort(), expired: [...ids].sort() });
    const found = await scene.store.overdue(1_000);
    t.strictSame(found.map(({ tenant }) => tenant).sort(), tenants);

    let ended = 0;
    for (let round = 0; round < 20 && ended < 6; round++) {
      const part = await scene.store.overdue(2);
      const size = part.reduce((sum, { leases, expired }) => sum + leases.length + expired.length, 0);
      t.ok(size >= 1 && size <= 2, 'some of them, no more than two');
      for (const { tenant, leases, expired } of part) {
        for (const { leaseId } of leases) {
          const end = settlement(leaseId, 'lease_expired', { delayMs: 60_000 });
          ended += (await scene.store.settle(tenant, [end])).length;
        }
        for (const { id } of expired) {
          ended += (await scene.store.change(tenant, id, taskChange('expire'))).kind === 'done' ? 1 : 0;
        }
      }
    }
    t.equal(ended, 6);
    t.strictSame(await scene.store.overdue(10), []);
  });
};
