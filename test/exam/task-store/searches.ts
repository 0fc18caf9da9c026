import { TASK_STATUSES, type Task } from '../../../src/tasks/model/task.ts';
import type { TaskSearch } from '../../../src/tasks/store/requests.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { idsOf, taskSearch } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

async function search(scene: Scene, wanted: Partial<TaskSearch>): Promise<string[]> {
  return idsOf((await scene.store.search(ACME, taskSearch(wanted))).tasks);
}

/** Every page of a search. */
async function walk(scene: Scene, wanted: Partial<TaskSearch>): Promise<string[]> {
  const { limit, by } = taskSearch(wanted);
  const found: string[] = [];
  for (let after: string | null = null; ; ) {
    const page = await scene.store.search(ACME, taskSearch({ ...wanted, after }));
    found.push(...idsOf(page.tasks));
    const last = page.tasks.at(-1);
    if (page.behind !== null) after = page.behind;
    else if (page.tasks.length < limit || last === undefined) return found;
    else after = by === 'run_at' ? `${last.dueAt} ${last.id}` : last.id;
  }
}

export const searches: Topic = test => {
  test('tasks are found by key, whether they hold it or not, and of any worker', async (scene, t) => {
    const ended = await scene.taskIn('succeeded', { key: 'order-1' });
    scene.clock.advance(1_000);
    const live = await scene.add({ key: 'order-1' });
    const other = scene.make.newTask(scene.reporter, { key: 'order-1' });
    await scene.create([other, scene.newTask({ key: 'order-10' }), scene.newTask({ key: 'order' })]);
    t.strictSame(await search(scene, { key: 'order-1' }), [ended.id, live.id, other.task.id]);
    t.strictSame(await search(scene, { key: 'order-1', order: 'desc', limit: 1 }), [other.task.id]);
    t.strictSame(await search(scene, { key: 'order-1', after: ended.id, limit: 1 }), [live.id]);
    t.strictSame(await search(scene, { key: 'order-1', createdFrom: live.createdAt, limit: 1 }), [live.id]);
    t.strictSame(await search(scene, { key: 'order-1', createdBefore: live.createdAt }), [ended.id]);
    t.strictSame(await search(scene, { key: 'order-1', workerId: scene.reporter.id }), [other.task.id]);
    t.strictSame(await search(scene, { key: 'order-1', statuses: ['succeeded'] }), [ended.id]);
    t.strictSame(await search(scene, { key: 'none' }), []);
    await scene.store.remove(ACME, live.id, null);
    t.strictSame(await search(scene, { key: 'order-1' }), [ended.id, other.task.id]);
  });

  test('tasks are found by type, by one of their tags, and by part of the last error', async (scene, t) => {
    const plain = await scene.add();
    const typed = await scene.add({ type: 'email.welcome', tags: ['a,b', 'ü"'] });
    const failed = await scene.add({ type: 'email', runAt: scene.now - 60_000 });
    const { leaseId } = await scene.startOne();
    await scene.end(leaseId, 'attempt_failed', {
      error: { code: 'http_5xx', message: '503 from Mailer 100%' },
    });
    t.strictSame(await search(scene, { type: 'email' }), [failed.id], 'the whole type');
    t.strictSame(await search(scene, { tag: 'a,b' }), [typed.id]);
    t.strictSame(await search(scene, { tag: 'ü"' }), [typed.id]);
    t.strictSame(await search(scene, { tag: 'a' }), []);
    for (const error of ['http_5', '503', 'mailer 100%']) {
      t.strictSame(await search(scene, { error }), [failed.id], error);
    }
    t.strictSame(await search(scene, { error: 'h%x' }), [], 'no pattern');
    t.strictSame(await search(scene, { type: 'email', tag: 'a,b' }), [], 'all filters together');
    t.strictSame(await search(scene, {}), [plain.id, typed.id, failed.id]);
  });

  test('tasks are found by their group, of one worker or of all, whatever their status', async (scene, t) => {
    const ended = await scene.taskIn('succeeded', { group: 'a' });
    const live = await scene.add({ group: 'a', runAt: scene.now + 5 });
    await scene.add({ group: 'a:b' });
    await scene.add();
    const other = scene.make.newTask(scene.reporter, { group: 'a' });
    await scene.create([other]);
    t.strictSame(await search(scene, { group: 'a' }), [ended.id, live.id, other.task.id]);
    t.strictSame(await walk(scene, { group: 'a', limit: 1 }), [ended.id, live.id, other.task.id]);
    t.strictSame(await search(scene, { group: 'a', workerId: scene.reporter.id }), [other.task.id]);
    t.strictSame(await search(scene, { group: 'a', statuses: ['succeeded'] }), [ended.id]);
    const due = { by: 'run_at', workerId: scene.mailer.id } as const;
    t.strictSame(await search(scene, { ...due, group: 'a' }), [live.id]);
    t.strictSame(await search(scene, { group: 'b' }), []);
  });

  test('what is changed is found by what it has now', async (scene, t) => {
    const { id } = await scene.add({ type: 'a', tags: ['x'] });
    await scene.changed(id, 'update', { type: 'b', tags: ['y'] });
    t.strictSame(await search(scene, { type: 'a' }), []);
    t.strictSame(await search(scene, { type: 'b', tag: 'y' }), [id]);
  });

  /** Waiting tasks of the mailer: few due times, all priorities. In the order in which they are due. */
  const waiting = async (scene: Scene): Promise<Task[]> => {
    const random = new SeededRandom(2);
    const tasks: Task[] = [];
    for (let i = 0; i < 40; i++) {
      const priority = random.pick(['critical', 'high', 'normal', 'low', 'bulk'] as const);
      tasks.push(await scene.add({ priority, runAt: scene.now + 1_000 * random.below(5) }));
    }
    return tasks.sort((a, b) => a.dueAt! - b.dueAt! || (a.id < b.id ? -1 : 1));
  };

  test('waiting tasks of a worker are found in the order in which they are due', async (scene, t) => {
    for (const status of TASK_STATUSES) {
      if (status !== 'scheduled' && status !== 'retry') await scene.taskIn(status, { runAt: scene.now - 5 });
    }
    const tasks = await waiting(scene);
    await scene.add({ heldBy: tasks[0].id });
    await scene.create([scene.make.newTask(scene.reporter, {})]);
    const by = { by: 'run_at', workerId: scene.mailer.id } as const;
    t.strictSame(await search(scene, by), idsOf(tasks));
    t.strictSame(await search(scene, { ...by, order: 'desc' }), idsOf(tasks).reverse());
    for (const order of ['asc', 'desc'] as const) {
      for (const limit of [1, 3, 7]) {
        const expected = order === 'asc' ? idsOf(tasks) : idsOf(tasks).reverse();
        t.strictSame(await walk(scene, { ...by, order, limit }), expected, `${order}, pages of ${limit}`);
      }
      const range = { createdFrom: tasks[0].dueAt! + 1_000, createdBefore: tasks[0].dueAt! + 3_000 };
      const inRange = tasks.filter(
        ({ dueAt }) => dueAt! >= range.createdFrom && dueAt! < range.createdBefore,
      );
      const expected = order === 'asc' ? idsOf(inRange) : idsOf(inRange).reverse();
      t.strictSame(await walk(scene, { ...by, ...range, order, limit: 4 }), expected, 'a range of due times');
    }
    t.strictSame(await search(scene, { ...by, workerId: 'wrk_nobody' }), []);
  });

  test('a task that waits for another attempt is found by the time of that', async (scene, t) => {
    const soon = await scene.add({ runAt: scene.now + 60_000 });
    const { id } = await scene.add({ type: 'again' });
    const { leaseId } = await scene.startOne();
    await scene.end(leaseId, 'attempt_failed', { delayMs: 120_000 });
    const by = { by: 'run_at', workerId: scene.mailer.id } as const;
    t.strictSame(await search(scene, by), [soon.id, id]);
    t.strictSame(await search(scene, { ...by, statuses: ['retry'] }), [id]);
    t.strictSame(await search(scene, { ...by, type: 'again' }), [id]);
  });

  test('what has expired waits no more, whether a claim has met it or not', async (scene, t) => {
    await scene.add({ expiresAt: scene.now + 1_000 });
    const left = await scene.add({ runAt: scene.now + 60_000 });
    const by = { by: 'run_at', workerId: scene.mailer.id } as const;
    scene.clock.advance(1_000);
    t.strictSame(await search(scene, by), [left.id]);
    await scene.claim(1);
    t.strictSame(await search(scene, by), [left.id]);
  });

  test('a search looks at a bounded number of tasks, and goes on where it stopped', async (scene, t) => {
    const wanted: string[] = [];
    for (let made = 0; made < 2_500; made += 500) {
      const items = Array.from({ length: 500 }, (_, i) =>
        scene.newTask({ type: i === 7 ? 'rare' : 'common', key: `k${made + i}`, scheduleId: 'sch_1' }),
      );
      wanted.push(items[7].task.id);
      await scene.create(items);
      scene.clock.advance(1_000);
    }
    const workerId = scene.mailer.id;
    for (const way of [
      {},
      { workerId },
      { workerId, scheduleId: 'sch_1' },
      { workerId, by: 'run_at' },
    ] as const) {
      for (const order of ['asc', 'desc'] as const) {
        const first = await scene.store.search(ACME, taskSearch({ ...way, order, type: 'none' }));
        t.strictSame(first.tasks, []);
        t.type(first.behind, 'string', 'it has not seen all');
        const expected = order === 'asc' ? wanted : [...wanted].reverse();
        t.strictSame(await walk(scene, { ...way, order, type: 'rare', limit: 2 }), expected);
      }
    }
  });
};
