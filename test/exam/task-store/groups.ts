import type { ClaimAnswer, ClaimRequest, NewTask } from '../../../src/tasks/store/requests.ts';
import { idsOf } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

const ONE = { groups: { concurrency: 1, fifo: false } };
const TWO = { groups: { concurrency: 2, fifo: false } };
const FIFO = { groups: { concurrency: 1, fifo: true } };

/** Adds a task of the mailer in this group. */
async function addTo(scene: Scene, group: string | null, task: Partial<NewTask['task']> = {}) {
  return (await scene.add({ group, ...task })).id;
}

/** The tasks that a claim started. */
const tasksOf = ({ tasks }: Pick<ClaimAnswer, 'tasks'>) => idsOf(tasks.map(({ task }) => task));

/** What a claim answers: the groups of the tasks that it started, and how long until the next one. */
async function claimed(scene: Scene, max: number, rest: Partial<ClaimRequest>) {
  const { tasks, now, nextAt, blocked } = await scene.claim(max, rest);
  const started = tasks.map(({ task }) => task.group);
  return { started, in: nextAt === null ? null : nextAt - now, blocked };
}

export const groups: Topic = test => {
  test('a group has no more attempts at once than its limit, and others go on', async (scene, t) => {
    for (const group of ['a', 'a', 'a', 'b', null, null]) await addTo(scene, group);
    t.strictSame(await claimed(scene, 10, TWO), {
      started: ['a', 'a', 'b', null, null],
      in: 1_000,
      blocked: 'group',
    });
    t.strictSame(await claimed(scene, 10, TWO), { started: [], in: 1_000, blocked: 'group' });
    await addTo(scene, 'b');
    t.strictSame((await claimed(scene, 10, TWO)).started, ['b']);
  });

  test('groups of one name on two workers are two groups', async (scene, t) => {
    await addTo(scene, 'a');
    await scene.create([scene.make.newTask(scene.reporter, { group: 'a' })]);
    t.equal((await scene.claim(5, ONE)).tasks.length, 1);
    const request = scene.make.claimRequest(scene.reporter.id, 5, ONE);
    t.equal((await scene.store.claim(ACME, request)).tasks.length, 1);
  });

  for (const event of ['succeeded', 'attempt_failed', 'released', 'no_retry', 'canceled'] as const) {
    test(`an attempt that ends as ${event} makes room in its group`, async (scene, t) => {
      await addTo(scene, 'a');
      const second = await addTo(scene, 'a');
      const [first] = (await scene.claim(5, ONE)).tasks;
      t.strictSame(await claimed(scene, 5, ONE), { started: [], in: 1_000, blocked: 'group' });
      await scene.end(first.leaseId, event, { delayMs: 60_000 });
      const { tasks } = await scene.claim(5, ONE);
      t.strictSame(tasksOf({ tasks }), [second]);
    });
  }

  test('another limit, or none, holds from the next claim on', async (scene, t) => {
    for (let i = 0; i < 6; i++) await addTo(scene, 'a');
    t.equal((await claimed(scene, 10, ONE)).started.length, 1);
    t.equal((await claimed(scene, 10, TWO)).started.length, 1);
    t.strictSame(await claimed(scene, 10, ONE), { started: [], in: 1_000, blocked: 'group' });
    t.equal((await claimed(scene, 10, { groups: { concurrency: 5, fifo: false } })).started.length, 3);
    t.strictSame(await claimed(scene, 10, {}), { started: ['a'], in: null, blocked: null });
  });

  test('a blocked group that loses its due tasks blocks no more', async (scene, t) => {
    await addTo(scene, 'a');
    const second = await addTo(scene, 'a');
    t.equal((await claimed(scene, 5, ONE)).blocked, 'group');
    await scene.changed(second, 'pause');
    t.strictSame(await claimed(scene, 5, ONE), { started: [], in: null, blocked: null });
    await scene.changed(second, 'resume');
    t.equal((await claimed(scene, 5, ONE)).blocked, 'group');
    await scene.store.remove(ACME, second, null);
    t.strictSame(await claimed(scene, 5, ONE), { started: [], in: null, blocked: null });
  });

  test('a task of another group that is due within the second is not late', async (scene, t) => {
    for (const group of ['a', 'a']) await addTo(scene, group);
    await addTo(scene, 'b', { runAt: scene.now + 300 });
    t.strictSame(await claimed(scene, 5, ONE), { started: ['a'], in: 300, blocked: 'group' });
  });

  test('priorities order the tasks within a group', async (scene, t) => {
    const low = await addTo(scene, 'a', { priority: 'low' });
    const high = await addTo(scene, 'a', { priority: 'high' });
    const first = await scene.claim(5, ONE);
    t.strictSame(tasksOf(first), [high]);
    await scene.end(first.tasks[0].leaseId, 'succeeded');
    const second = await scene.claim(5, ONE);
    t.strictSame(tasksOf(second), [low]);
  });

  test('thousands of tasks of a blocked group keep nobody waiting', async (scene, t) => {
    for (let i = 0; i < 6; i++) {
      await scene.create(Array.from({ length: 500 }, () => scene.newTask({ group: 'a' })));
    }
    await addTo(scene, 'b');
    t.strictSame((await claimed(scene, 10, ONE)).started, ['a', 'b']);
    await addTo(scene, 'b');
    await addTo(scene, null);
    t.strictSame((await claimed(scene, 10, ONE)).started, [null]);
  });

  test('all of more groups than one claim looks at are served', async (scene, t) => {
    const names = Array.from({ length: 100 }, (_, i) => `g${i}`);
    await scene.create(names.flatMap(group => [scene.newTask({ group }), scene.newTask({ group })]));
    const served = new Map<string | null, number>();
    for (let i = 0; i < 200; i++) {
      const [{ task, leaseId }] = (await scene.claim(1, ONE)).tasks;
      served.set(task.group, (served.get(task.group) ?? 0) + 1);
      await scene.end(leaseId, 'succeeded');
    }
    t.strictSame(
      [...served.values()],
      Array.from({ length: 100 }, () => 2),
    );
    t.strictSame(await claimed(scene, 1, ONE), { started: [], in: null, blocked: null });
  });

  test('one claim starts tasks of many blocked and free groups', async (scene, t) => {
    const names = Array.from({ length: 60 }, (_, i) => `g${i}`);
    await scene.create(names.flatMap(group => [scene.newTask({ group }), scene.newTask({ group })]));
    let started = 0;
    for (let i = 0; i < 10; i++) started += (await scene.claim(100, ONE)).tasks.length;
    t.equal(started, 60);
    t.equal((await scene.claim(100, ONE)).blocked, 'group');
  });

  test('in a group of fifo, a task that waits for its next attempt holds up those behind it', async (scene, t) => {
    const first = await addTo(scene, 'a');
    const second = await addTo(scene, 'a', { priority: 'critical' });
    const start = await scene.claim(5, FIFO);
    t.strictSame(tasksOf(start), [first]);
    t.equal(start.blocked, 'group');
    await scene.end(start.tasks[0].leaseId, 'attempt_failed', { delayMs: 60_000 });
    t.strictSame(await claimed(scene, 5, FIFO), { started: [], in: 60_000, blocked: null });
    scene.clock.advance(60_000);
    const again = await scene.claim(5, FIFO);
    t.strictSame(tasksOf(again), [first]);
    await scene.end(again.tasks[0].leaseId, 'succeeded');
    const { tasks } = await scene.claim(5, FIFO);
    t.strictSame(tasksOf({ tasks }), [second]);
  });

  test('in a group of fifo, tasks are ordered by run_at, and one for later holds nothing up', async (scene, t) => {
    const later = await addTo(scene, 'a', { runAt: scene.now + 60_000 });
    const second = await addTo(scene, 'a', { runAt: scene.now - 1_000 });
    const first = await addTo(scene, 'a', { runAt: scene.now - 2_000 });
    for (const id of [first, second]) {
      const { tasks } = await scene.claim(5, FIFO);
      t.strictSame(tasksOf({ tasks }), [id]);
      await scene.end(tasks[0].leaseId, 'succeeded');
    }
    t.strictSame(await claimed(scene, 5, FIFO), { started: [], in: 60_000, blocked: null });
    scene.clock.advance(60_000);
    t.strictSame(tasksOf(await scene.claim(5, FIFO)), [later]);
  });

  for (const action of ['pause', 'cancel'] as const) {
    test(`in a group of fifo, the next task starts when the first is asked to ${action}`, async (scene, t) => {
      const first = await addTo(scene, 'a');
      const second = await addTo(scene, 'a');
      const [{ leaseId }] = (await scene.claim(5, FIFO)).tasks;
      await scene.end(leaseId, 'attempt_failed', { delayMs: 60_000 });
      t.equal((await claimed(scene, 5, FIFO)).started.length, 0);
      await scene.changed(first, action);
      t.strictSame(tasksOf(await scene.claim(5, FIFO)), [second]);
    });
  }

  test('in a group of fifo, a first task that expires before it is due lets the next one start', async (scene, t) => {
    await addTo(scene, 'a', { expiresAt: scene.now + 10_000 });
    const second = await addTo(scene, 'a');
    const [{ leaseId }] = (await scene.claim(5, FIFO)).tasks;
    await scene.end(leaseId, 'attempt_failed', { delayMs: 60_000 });
    t.equal((await claimed(scene, 5, FIFO)).in, 60_000);
    scene.clock.advance(10_000);
    t.strictSame(tasksOf(await scene.claim(5, FIFO)), [second]);
  });
};
