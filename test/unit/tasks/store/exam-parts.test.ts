import { isDeepStrictEqual } from 'node:util';
import type { Test } from 'tap';
import t from 'tap';
import type { HistoryEntry, Task } from '../../../../src/tasks/model/task.ts';
import type { TaskStore } from '../../../../src/tasks/store/task-store.ts';
import { type Expectations, violationsOf } from '../../../exam/task-store/invariants.ts';
import { codeOf, differenceIn } from '../../../exam/task-store/random.ts';
import { randomSteps, type Step } from '../../../exam/task-store/random-steps.ts';
import { ACME, type Backend, Scene } from '../../../exam/task-store/scene.ts';
import { shortest } from '../../../exam/task-store/shortest.ts';
import type { ManualClock } from '../../../support/manual-clock.ts';
import { taskQuery } from '../../../support/tasks/factories.ts';
import { MemoryStore } from '../../../support/tasks/memory-store.ts';
import { testsOf } from '../../../support/tests-of.ts';

const test = testsOf(work);

/** The model with other answers in place of some of its own. */
function lying(store: TaskStore, lies: Partial<TaskStore>): TaskStore {
  return new Proxy(store, {
    get(target, name) {
      const found = lies[name as keyof TaskStore] ?? target[name as keyof TaskStore];
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}

function backendOf(lies: (store: TaskStore) => Partial<TaskStore>): Backend {
  return {
    name: 'lying',
    async open(clock: ManualClock) {
      const store = new MemoryStore(clock);
      return { store: lying(store, lies(store)), close: () => store.stop() };
    },
  };
}

const EVERYTHING = taskQuery();
const honest = backendOf(() => ({}));

t.test('random sequences follow from their seed', async t => {
  const steps = await randomSteps(7, 100);
  t.ok(isDeepStrictEqual(await randomSteps(7, 100), steps));
  t.notOk(isDeepStrictEqual(await randomSteps(8, 100), steps));
});

t.test('a defect is found, and reduced to a few steps', async t => {
  const defective = backendOf(store => ({
    settle: (tenant, settlements) =>
      store.settle(
        tenant,
        settlements.map(end => (end.event === 'deferred' ? { ...end, event: 'attempt_failed' } : end)),
      ),
  }));
  // Not every sequence defers a task whose attempts are not used up.
  let steps: readonly Step[] = [];
  let difference: Awaited<ReturnType<typeof differenceIn>> = null;
  for (let seed = 1; difference === null && seed < 20; seed++) {
    steps = await randomSteps(seed, 300);
    t.equal(await differenceIn(honest, steps), null);
    difference = await differenceIn(defective, steps);
  }
  t.match(difference?.text, /^settle answered otherwise than the model/);
  const differs = async (part: readonly Step[]) => (await differenceIn(defective, part)) !== null;
  const few = await shortest(steps.slice(0, difference!.steps), differs, 300);
  t.ok(few.length <= 12, `${few.length} steps`);
  const code = few.map(codeOf).join('\n');
  t.match(code, /await store\.claim\('\w+', \{/);
  t.match(code, "event: 'deferred'");
});

t.test('a sequence is shortened to what is needed', async t => {
  const all = Array.from({ length: 100 }, (_, i) => i);
  let asked = 0;
  const fails = async (part: readonly number[]) => {
    asked++;
    return part.includes(3) && part.includes(64) && part.includes(65);
  };
  t.strictSame(await shortest(all, fails, 1_000), [3, 64, 65]);
  asked = 0;
  t.ok((await shortest(all, fails, 10)).length < 100);
  t.equal(asked, 10, 'and no longer than was said');
});

/** What is violated when the store answers so: the numbers of the invariants. */
async function violated(
  scene: Scene,
  lies: Partial<TaskStore>,
  expectations: Expectations = {},
): Promise<string[]> {
  const found = await violationsOf(lying(scene.store, lies), expectations);
  return [...new Set(found.map(text => text.slice(0, text.indexOf(':'))))].sort();
}

/** Two tasks that ran after one another, one that runs, and one that has expired and is not told so yet. */
async function work(t: Test): Promise<Scene> {
  const scene = await Scene.open(t, honest);
  await scene.add({ scheduleId: 'sch_1', scheduledFor: 1 });
  await scene.end((await scene.startOne()).leaseId, 'timed_out', { delayMs: 5_000 });
  scene.clock.advance(5_000);
  await scene.end((await scene.startOne()).leaseId, 'succeeded');
  await scene.add({ priority: 'bulk' });
  const urgent = await scene.add({ priority: 'critical', runAt: scene.now + 1_000 });
  scene.clock.advance(1_001);
  if ((await scene.startOne()).task.id !== urgent.id) throw new Error('the urgent task is not the first');
  scene.clock.advance(1);
  await scene.startOne();
  await scene.add({ expiresAt: scene.now });
  return scene;
}

test('the invariants hold for the model', async (scene, t) => {
  const known = (await scene.store.list(ACME, EVERYTHING)).map(({ id }) => id);
  const bounds = {
    inFlight: 2,
    perSecond: 2,
    workers: new Map([[scene.mailer.id, { concurrency: 2, rate: { limit: 1, perMs: 1_000, burst: 2 } }]]),
  };
  const expectations = { created: new Map([[ACME, known]]), bounds: new Map([[ACME, bounds]]) };
  t.strictSame(await violated(scene, {}, expectations), []);
});

test('what is known from elsewhere is looked for', async (scene, t) => {
  const rate = { limit: 1, perMs: 60_000, burst: 1 };
  const bounds = (inFlight: number, concurrency: number | null, slow: boolean) => {
    const workers = new Map([[scene.mailer.id, { concurrency, rate: slow ? rate : null }]]);
    return { bounds: new Map([[ACME, { inFlight, perSecond: 100, workers }]]) };
  };
  t.strictSame(await violated(scene, {}, { created: new Map([[ACME, ['tsk_gone']]]) }), ['1']);
  t.strictSame(await violated(scene, {}, { finished: true }), ['2']);
  t.strictSame(await violated(scene, {}, bounds(1, null, false)), ['6']);
  t.strictSame(await violated(scene, {}, bounds(9, 1, false)), ['6']);
  t.strictSame(await violated(scene, {}, bounds(9, null, true)), ['6']);
});

test('two tasks of one nominal time violate an invariant', async (scene, t) => {
  await scene.add({ scheduleId: 'sch_1', scheduledFor: 1 });
  t.strictSame(await violated(scene, {}), ['8']);
});

test('a store that contradicts itself is found out', async (scene, t) => {
  const { store } = scene;
  const histories = (
    change: (entries: readonly HistoryEntry[]) => readonly HistoryEntry[],
  ): Partial<TaskStore> => ({
    history: async (tenant, id, query) => {
      const entries = await store.history(tenant, id, query);
      return entries === null ? null : change(entries);
    },
  });
  const tasks = (change: (task: Task) => Task): Partial<TaskStore> => ({
    list: async (tenant, query) => (await store.list(tenant, query)).map(change),
    get: async (tenant, id) => {
      const task = await store.get(tenant, id);
      return task === null ? null : change(task);
    },
  });
  const lies: Readonly<Record<string, readonly [Partial<TaskStore>, readonly string[]]>> = {
    'the last entry is missing': [histories(entries => entries.slice(0, -1)), ['4']],
    'an entry is missing': [histories(entries => entries.filter(({ seq }) => seq !== 2)), ['4', '7']],
    'an attempt has another lease': [
      histories(entries =>
        entries.map(entry => (entry.seq === 2 ? { ...entry, leaseIdSuffix: 'abcd' } : entry)),
      ),
      ['7'],
    ],
    'an attempt has no end': [
      histories(entries => entries.filter(({ event }) => event !== 'timed_out')),
      ['3', '4'],
    ],
    'a task starts too early': [
      histories(entries =>
        entries.map(entry =>
          entry.event === 'timed_out' ? { ...entry, nextAttemptAt: entry.at + 9_000 } : entry,
        ),
      ),
      ['5'],
    ],
    'an attempt is not counted': [tasks(task => ({ ...task, attempt: 1 })), ['4']],
    'a task has ended and is due': [
      tasks(task => (task.status === 'succeeded' ? { ...task, dueAt: task.createdAt } : task)),
      ['4'],
    ],
    'two live tasks have one key': [tasks(task => ({ ...task, key: 'k' })), ['9']],
    'a list lacks a task': [
      { list: async (tenant, query) => (query.statuses === null ? store.list(tenant, query) : []) },
      ['10'],
    ],
    'open tasks of a schedule hold one that has ended': [
      {
        openOfSchedule: async tenant =>
          (await store.list(tenant, EVERYTHING)).slice(0, 1).map(({ id }) => id),
      },
      ['10'],
    ],
    'what has expired is not told': [{ overdue: async () => [] }, ['10']],
    'a counter is one too high': [
      {
        counts: async (tenant, workerId) => {
          const counts = await store.counts(tenant, workerId);
          return { ...counts, running: counts.running + 1 };
        },
      },
      ['11'],
    ],
    'a task is that of two tenants': [{ tenants: async () => [ACME, 'globex'], ...both(store) }, ['12']],
    'a task was overtaken': [tasks(task => ({ ...task, priority: 'critical' })), ['13']],
  };
  for (const [name, [lie, numbers]] of Object.entries(lies)) {
    const found = await violated(scene, lie);
    t.ok(
      numbers.every(number => found.includes(number)),
      `${name}: ${found}`,
    );
  }
});

/** Everything of the first tenant is that of the second as well. */
function both(store: TaskStore): Partial<TaskStore> {
  return {
    list: (_tenant, query) => store.list(ACME, query),
    get: (_tenant, id) => store.get(ACME, id),
    bodies: (_tenant, ids) => store.bodies(ACME, ids),
    history: (_tenant, id, query) => store.history(ACME, id, query),
    counts: (_tenant, workerId) => store.counts(ACME, workerId),
    openOfSchedule: (_tenant, id, limit) => store.openOfSchedule(ACME, id, limit),
  };
}
