import { TASK_STATUSES, type Task } from '../../../src/tasks/model/task.ts';
import type { TaskQuery } from '../../../src/tasks/store/requests.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { idsOf, taskQuery } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

function list(scene: Scene, query: Partial<TaskQuery> = {}): Promise<readonly Task[]> {
  return scene.store.list(ACME, taskQuery(query));
}

/** Two tasks in each status, of two workers and two schedules or none, a second apart; the oldest first. */
async function mixed(scene: Scene): Promise<Task[]> {
  const ids: string[] = [];
  const past = scene.now - 3_600_000;
  for (const [i, status] of [...TASK_STATUSES, ...TASK_STATUSES].entries()) {
    const scheduleId = [null, 'sch_1', 'sch_2'][i % 3];
    ids.push((await scene.taskIn(status, { scheduleId, runAt: past - i })).id);
    const item = scene.make.newTask(scene.reporter, { scheduleId });
    await scene.create([item]);
    ids.push(item.task.id);
    scene.clock.advance(1_000);
  }
  return Promise.all(ids.map(id => scene.get(id)));
}

/** What a list should hold. */
function scan(tasks: readonly Task[], query: TaskQuery): Task[] {
  const { workerId, statuses, scheduleId, createdFrom, createdBefore, after, limit, order } = query;
  const found = tasks.filter(
    task =>
      (workerId === null || workerId === task.workerId) &&
      (statuses === null || statuses.includes(task.status)) &&
      (scheduleId === null || scheduleId === task.scheduleId) &&
      (createdFrom === null || task.createdAt >= createdFrom) &&
      (createdBefore === null || task.createdAt < createdBefore) &&
      (after === null || (order === 'asc' ? task.id > after : task.id < after)),
  );
  return (order === 'asc' ? found : found.reverse()).slice(0, limit);
}

export const lists: Topic = test => {
  test('all tasks are listed as they were made, or the other way round', async (scene, t) => {
    t.strictSame(await list(scene), []);
    const tasks = await mixed(scene);
    t.strictSame(await list(scene), tasks);
    t.strictSame(await list(scene, { order: 'desc' }), [...tasks].reverse());
  });

  test('every filter finds what a look at each task would find, in pages of any size', async (scene, t) => {
    const tasks = await mixed(scene);
    const random = new SeededRandom(1);
    const times = tasks.flatMap(({ createdAt }) => [createdAt - 1, createdAt, createdAt + 1]);
    for (let i = 0; i < 150; i++) {
      const statuses = TASK_STATUSES.filter(() => random.below(3) === 0);
      const query = taskQuery({
        workerId: random.pick([null, scene.mailer.id, scene.reporter.id, 'wrk_nobody']),
        statuses: statuses.length === 0 ? null : statuses,
        scheduleId: random.pick([null, null, 'sch_1', 'sch_2', 'sch_none']),
        createdFrom: random.pick([null, random.pick(times)]),
        createdBefore: random.pick([null, random.pick(times)]),
        after: random.pick([null, random.pick(tasks).id]),
        limit: random.pick([1, 3, 1_000]),
        order: random.pick(['asc', 'desc']),
      });
      t.strictSame(
        idsOf(await scene.store.list(ACME, query)),
        idsOf(scan(tasks, query)),
        JSON.stringify(query),
      );
    }
  });

  test('a range holds its first moment, and not its last', async (scene, t) => {
    const first = await scene.add();
    scene.clock.advance(1_000);
    const second = await scene.add();
    const range = { createdFrom: first.createdAt, createdBefore: second.createdAt };
    t.strictSame(idsOf(await list(scene, range)), [first.id]);
    t.strictSame(idsOf(await list(scene, { createdFrom: first.createdAt + 1 })), [second.id]);
    t.strictSame(await list(scene, { createdFrom: second.createdAt, createdBefore: second.createdAt }), []);
    t.strictSame(await list(scene, { createdFrom: 0, createdBefore: first.createdAt }), []);
  });

  test('a task is listed in the status that it has, as it is', async (scene, t) => {
    const { id } = await scene.add();
    const inStatus = async () => {
      const found: string[] = [];
      for (const status of TASK_STATUSES) {
        for (const workerId of [null, scene.mailer.id]) {
          for (const task of await list(scene, { statuses: [status], workerId })) {
            t.strictSame(task, await scene.get(id));
            found.push(status);
          }
        }
      }
      return found;
    };
    t.strictSame(await inStatus(), ['scheduled', 'scheduled']);
    const { leaseId } = await scene.startOne();
    t.strictSame(await inStatus(), ['running', 'running']);
    await scene.end(leaseId, 'attempt_failed');
    t.strictSame(await inStatus(), ['retry', 'retry']);
    await scene.changed(id, 'pause');
    t.strictSame(await inStatus(), ['paused', 'paused']);
    await scene.changed(id, 'cancel');
    t.strictSame(await inStatus(), ['canceled', 'canceled']);
    await scene.store.remove(ACME, id, null);
    t.strictSame(await inStatus(), []);
  });

  for (const order of ['asc', 'desc'] as const) {
    test(`a walk (${order}) meets each task once, although others come, go and change`, async (scene, t) => {
      const tasks = (await scene.create(Array.from({ length: 40 }, () => scene.newTask()))).map(
        result => (result.kind === 'created' ? result.task : undefined)!,
      );
      const met: string[] = [];
      for (let after: string | null = null; ; ) {
        const page: readonly Task[] = await list(scene, { after, limit: 7, order });
        met.push(...idsOf(page));
        if (page.length < 7) break;
        after = page[6].id;
        scene.clock.advance(1);
        await scene.add();
        await scene.startOne();
        await scene.store.remove(ACME, after, null);
      }
      const stable = new Set(idsOf(tasks));
      t.equal(new Set(met).size, met.length, 'no task twice');
      t.strictSame(
        met.filter(id => stable.has(id)).sort(),
        [...stable].sort(),
        'and none that was there at first is missed',
      );
    });
  }

  test('a cursor is a place, not a task: it may be of any', async (scene, t) => {
    const [a, b, c] = [await scene.add(), await scene.add(), await scene.add()];
    await scene.store.remove(ACME, b.id, null);
    t.strictSame(idsOf(await list(scene, { after: b.id })), [c.id]);
    t.strictSame(idsOf(await list(scene, { after: b.id, order: 'desc' })), [a.id]);
    t.strictSame(await list(scene, { after: c.id }), []);
  });

  test('open tasks of a schedule are found, the oldest first', async (scene, t) => {
    const tasks = (await mixed(scene)).filter(
      ({ scheduleId, status }) =>
        scheduleId === 'sch_1' && ['scheduled', 'running', 'retry', 'paused'].includes(status),
    );
    t.ok(tasks.length >= 4);
    const { store } = scene;
    t.strictSame(await store.openOfSchedule(ACME, 'sch_1', 100), idsOf(tasks));
    t.strictSame(await store.openOfSchedule(ACME, 'sch_1', 2), idsOf(tasks.slice(0, 2)));
    t.strictSame(await store.openOfSchedule(ACME, 'sch_none', 100), []);
  });

  test('a replayed task is open again', async (scene, t) => {
    const { id } = await scene.taskIn('canceled', { scheduleId: 'sch_1' });
    t.strictSame(await scene.store.openOfSchedule(ACME, 'sch_1', 10), []);
    await scene.changed(id, 'replay');
    t.strictSame(await scene.store.openOfSchedule(ACME, 'sch_1', 10), [id]);
  });
};
