import type { Task } from '../../../src/tasks/model/task.ts';
import { BAND_PENALTIES_MS, PRIORITIES } from '../../../src/tasks/model/task-content.ts';
import { each } from '../../support/each.ts';
import { DISPATCHER, idsOf } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

async function started(scene: Scene, max: number): Promise<string[]> {
  return idsOf((await scene.claim(max)).tasks.map(({ task }) => task));
}

export const claims: Topic = test => {
  test('a task that is due starts', async (scene, t) => {
    const body = { payload: '{"a":1}', headers: { a: 'b' } };
    const before = await scene.add({ timeoutMs: 20_000 }, { body });
    scene.clock.advance(500);
    const request = scene.make.claimRequest(scene.mailer.id, 1);
    const task = {
      ...before,
      status: 'running',
      attempt: 1,
      dueAt: null,
      startedAt: scene.now,
      updatedAt: scene.now,
      version: 2,
    };
    const [leaseId] = request.leaseIds;
    t.strictSame(await scene.store.claim(ACME, request), {
      tasks: [
        {
          task,
          body: { ...body, result: null },
          leaseId,
          leaseUntil: scene.now + 20_000 + 15_000,
          dueAt: before.dueAt,
        },
      ],
      now: scene.now,
      nextAt: null,
      blocked: null,
    });
    t.strictSame(await scene.get(before.id), task);
    t.strictSame(await scene.store.leased(ACME, leaseId), task);
    t.strictSame(await scene.lastEntry(before.id), {
      seq: 2,
      at: scene.now,
      event: 'started',
      from: 'scheduled',
      to: 'running',
      attempt: 1,
      actor: DISPATCHER,
      leaseIdSuffix: leaseId.slice(-4),
    });
  });

  test('its next attempt is one more, and the start stays that of the first', async (scene, t) => {
    const { id } = await scene.add();
    const first = await scene.startOne();
    await scene.end(first.leaseId, 'attempt_failed', { delayMs: 1_000 });
    scene.clock.advance(1_000);
    const { task, dueAt } = await scene.startOne();
    t.strictSame([task.id, task.attempt, task.startedAt, dueAt], [id, 2, first.task.startedAt, scene.now]);
    const { from, attempt } = await scene.lastEntry(id);
    t.strictSame([from, attempt], ['retry', 2]);
  });

  test('each lease is that of one task, in the order of both', async (scene, t) => {
    const ids = [await scene.add(), await scene.add(), await scene.add()].map(({ id }) => id);
    const request = scene.make.claimRequest(scene.mailer.id, 5);
    const { tasks } = await scene.store.claim(ACME, request);
    t.strictSame(idsOf(tasks.map(({ task }) => task)), ids);
    t.strictSame(each(tasks, 'leaseId'), request.leaseIds.slice(0, 3));
    for (const { leaseId, task } of tasks) t.strictSame(await scene.store.leased(ACME, leaseId), task);
  });

  test('nothing starts twice', async (scene, t) => {
    const items = Array.from({ length: 60 }, () => scene.newTask());
    await scene.create(items);
    const answers = await Promise.all(Array.from({ length: 12 }, () => scene.claim(7)));
    const ids = answers.flatMap(({ tasks }) => tasks.map(({ task }) => task.id));
    t.strictSame([...ids].sort(), idsOf(items.map(({ task }) => task)));
  });

  test('tasks start in the order of the times at which they are due', async (scene, t) => {
    const tasks: Task[] = [];
    for (const ago of [30, 10, 20, 0]) tasks.push(await scene.add({ runAt: scene.now - ago }));
    const [a, b, c, d] = idsOf(tasks);
    t.strictSame(await started(scene, 10), [a, c, b, d]);
  });

  test('those due at the same time in the order of their ids', async (scene, t) => {
    const [a, b, c] = Array.from({ length: 3 }, () => scene.newTask({ runAt: scene.now - 5 }));
    await scene.create([b, c, a]);
    t.strictSame(await started(scene, 10), idsOf([a, b, c].map(({ task }) => task)));
  });

  test('an urgent task comes before others, by no more than the penalty of their band', async (scene, t) => {
    for (const priority of PRIORITIES) {
      const penalty = BAND_PENALTIES_MS[priority];
      const due = scene.now;
      const later = await scene.add({ priority: 'critical', runAt: due + penalty + 1 });
      const same = await scene.add({ priority: 'critical', runAt: due + penalty });
      const sooner = await scene.add({ priority: 'critical', runAt: due + penalty - 1 });
      const task = await scene.add({ priority, runAt: due });
      scene.clock.moveTo(due + penalty + 1);
      const order = await started(scene, 4);
      t.strictSame(order, [sooner.id, ...[same.id, task.id].sort(), later.id], priority);
    }
  });

  test('ties between bands are decided by the id', async (scene, t) => {
    const due = scene.now - 600_000;
    const items = [...PRIORITIES, ...PRIORITIES].map(priority =>
      scene.newTask({ priority, runAt: due - BAND_PENALTIES_MS[priority] }),
    );
    await scene.create([...items].reverse());
    t.strictSame(await started(scene, 4), idsOf(items.slice(0, 4).map(({ task }) => task)));
    t.strictSame(await started(scene, 10), idsOf(items.slice(4).map(({ task }) => task)));
  });

  test('no task starts before its time, nor one of another worker', async (scene, t) => {
    const task = await scene.add({ runAt: scene.now + 1_000 });
    await scene.create([scene.make.newTask(scene.reporter)]);
    scene.clock.advance(999);
    t.strictSame(await started(scene, 10), []);
    scene.clock.advance(1);
    t.strictSame(await started(scene, 10), [task.id]);
  });

  test('no task starts once it has expired, although nobody has said so yet', async (scene, t) => {
    const { id } = await scene.add({ expiresAt: scene.now + 10 });
    const other = await scene.add({ expiresAt: scene.now + 11 });
    scene.clock.advance(10);
    t.strictSame(await started(scene, 10), [other.id]);
    t.equal((await scene.get(id)).status, 'scheduled');
  });

  test('expired tasks take no lease from those behind them', async (scene, t) => {
    await scene.create(Array.from({ length: 20 }, () => scene.newTask({ expiresAt: scene.now + 1 })));
    const { id } = await scene.add();
    scene.clock.advance(1);
    t.strictSame(await started(scene, 1), [id]);
  });

  test('a claim without leases starts nothing', async (scene, t) => {
    await scene.add();
    t.strictSame(await scene.claim(0), { tasks: [], now: scene.now, nextAt: scene.now, blocked: null });
  });

  test('at once when more tasks are due than there were leases', async (scene, t) => {
    await scene.create([scene.newTask(), scene.newTask()]);
    t.match(await scene.claim(1), { nextAt: scene.now, blocked: null });
    t.match(await scene.claim(1), { nextAt: null, blocked: null });
  });

  test('when the next task is due, whatever its priority', async (scene, t) => {
    await scene.add({ runAt: scene.now + 5_000, priority: 'critical' });
    await scene.add({ runAt: scene.now + 3_000, priority: 'bulk' });
    const paused = await scene.add({ runAt: scene.now + 1_000 });
    await scene.changed(paused.id, 'pause');
    await scene.create([scene.make.newTask(scene.reporter, { runAt: scene.now + 2_000 })]);
    t.equal((await scene.claim(1)).nextAt, scene.now + 3_000);
  });

  test('also when that is one that waits for its next attempt', async (scene, t) => {
    await scene.add();
    await scene.end((await scene.startOne()).leaseId, 'timed_out', { delayMs: 4_000 });
    await scene.add({ runAt: scene.now + 6_000 });
    t.equal((await scene.claim(1)).nextAt, scene.now + 4_000);
  });

  test('never for tasks that have expired', async (scene, t) => {
    await scene.add({ expiresAt: scene.now });
    await scene.add({ runAt: scene.now + 1_000, expiresAt: scene.now });
    t.equal((await scene.claim(1)).nextAt, null);
  });
};
