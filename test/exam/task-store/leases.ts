import { PULLER } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME } from './scene.ts';

const PUSH = { lease: { mode: 'push', ms: 15_000 } } as const;
const PULL = { lease: { mode: 'pull', ms: 60_000 } } as const;

export const leases: Topic = test => {
  test('a lease of a pushed task outlasts its timeout', async (scene, t) => {
    await scene.add({ timeoutMs: 30_000 });
    t.equal((await scene.startOne(PUSH)).leaseUntil, scene.now + 45_000);
  });

  test('a lease of a pulled task lasts as long as was asked for, at most its timeout', async (scene, t) => {
    await scene.add({ timeoutMs: 3_600_000 });
    await scene.add({ timeoutMs: 20_000 });
    t.equal((await scene.startOne(PULL)).leaseUntil, scene.now + 60_000);
    t.equal((await scene.startOne(PULL)).leaseUntil, scene.now + 20_000);
  });

  test('the task of a lease is found until the attempt has ended', async (scene, t) => {
    await scene.add();
    const { leaseId, leaseUntil, task } = await scene.startOne();
    t.strictSame(await scene.store.leased(ACME, leaseId), task);
    scene.clock.moveTo(leaseUntil + 1);
    t.strictSame(await scene.store.leased(ACME, leaseId), task, 'also when its time is over');
    await scene.end(leaseId, 'lease_expired');
    t.equal(await scene.store.leased(ACME, leaseId), null);
    t.equal(await scene.store.leased(ACME, scene.make.leaseId()), null);
  });

  test('a lease is extended from now, and never shortened', async (scene, t) => {
    await scene.add({ timeoutMs: 3_600_000 });
    const { leaseId, leaseUntil, task } = await scene.startOne(PULL);
    const extended = (until: number) => ({ kind: 'extended', until, cancelRequested: false });
    scene.clock.advance(10_000);
    t.strictSame(await scene.store.extend(ACME, leaseId, 20_000, null), extended(leaseUntil));
    t.strictSame(await scene.store.extend(ACME, leaseId, 90_000, null), extended(scene.now + 90_000));
    t.strictSame(await scene.store.extend(ACME, leaseId, null, null), extended(scene.now + 90_000));
    t.strictSame(await scene.get(task.id), task, 'which is no change of the task');
    t.strictSame(await scene.events(task.id), ['created', 'started'], 'and no event');
    scene.clock.moveTo(leaseUntil);
    t.strictSame(await scene.store.overdue(10), []);
    t.strictSame(await scene.settle(leaseId, 'lease_expired'), { kind: 'lost' });
  });

  test('a pulled task has no lease beyond its timeout', async (scene, t) => {
    await scene.add({ timeoutMs: 100_000 });
    const { leaseId } = await scene.startOne(PULL);
    const end = scene.now + 100_000;
    scene.clock.advance(50_000);
    t.match(await scene.store.extend(ACME, leaseId, 60_000, null), { until: end });
    t.match(await scene.store.extend(ACME, leaseId, 86_400_000, null), { until: end });
    scene.clock.moveTo(end);
    t.match(await scene.store.extend(ACME, leaseId, 60_000, null), { kind: 'extended', until: end });
    t.equal((await scene.store.overdue(10)).length, 1);
  });

  test('a pushed one none beyond what it began with', async (scene, t) => {
    await scene.add();
    const { leaseId, leaseUntil } = await scene.startOne(PUSH);
    scene.clock.advance(20_000);
    t.match(await scene.store.extend(ACME, leaseId, 60_000, null), { until: leaseUntil });
  });

  test('a lease past its time that nobody has ended is extended', async (scene, t) => {
    await scene.add({ timeoutMs: 3_600_000 });
    const { leaseId, leaseUntil } = await scene.startOne(PULL);
    scene.clock.moveTo(leaseUntil + 5_000);
    t.match(await scene.store.extend(ACME, leaseId, 10_000, null), {
      kind: 'extended',
      until: scene.now + 10_000,
    });
    t.strictSame(await scene.store.overdue(10), []);
  });

  test('a lease whose attempt has ended is lost', async (scene, t) => {
    const { id } = await scene.add();
    const { leaseId } = await scene.startOne(PULL);
    await scene.end(leaseId, 'released');
    const progress = { percent: 1, note: 'late', actor: PULLER };
    t.strictSame(await scene.store.extend(ACME, leaseId, 60_000, progress), { kind: 'lost' });
    t.strictSame(await scene.store.extend(ACME, scene.make.leaseId(), 60_000, null), { kind: 'lost' });
    t.equal((await scene.lastEntry(id)).event, 'released');
  });

  test('who extends it is told of a request to stop', async (scene, t) => {
    const { id } = await scene.add();
    const { leaseId } = await scene.startOne(PULL);
    await scene.changed(id, 'cancel');
    t.match(await scene.store.extend(ACME, leaseId, null, null), { kind: 'extended', cancelRequested: true });
  });

  test('progress is an event, and no change of the task', async (scene, t) => {
    await scene.add();
    const { leaseId, task } = await scene.startOne(PULL);
    scene.clock.advance(1_000);
    const actor = { type: 'user', id: 'usr_1' } as const;
    await scene.store.extend(ACME, leaseId, null, { percent: 40, note: 'half "way"', actor });
    await scene.store.extend(ACME, leaseId, null, { percent: 0, note: null, actor });
    await scene.store.extend(ACME, leaseId, null, { percent: null, note: '', actor });
    t.strictSame(await scene.get(task.id), task);
    const entry = {
      at: scene.now,
      event: 'heartbeat_progress',
      from: 'running',
      to: 'running',
      attempt: 1,
      actor,
    };
    t.strictSame((await scene.history(task.id)).slice(2), [
      { ...entry, seq: 3, progress: 40, note: 'half "way"' },
      { ...entry, seq: 4, progress: 0 },
      { ...entry, seq: 5, note: '' },
    ]);
    await scene.end(leaseId, 'succeeded');
    t.equal((await scene.lastEntry(task.id)).seq, 6);
  });
};
