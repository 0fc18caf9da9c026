import { join } from 'node:path';
import type { Test } from 'tap';
import t from 'tap';
import type { HistoryEntry, Task } from '../../../../src/tasks/model/task.ts';
import { violationsOf } from '../../../exam/task-store/invariants.ts';
import { Child, type ChildEnd } from '../../../support/child-process.ts';
import { each } from '../../../support/each.ts';
import { headerOf, type PushWorker, reply, startPushWorker } from '../../../support/push-workers.ts';
import { startRedis } from '../../../support/redis-server.ts';
import {
  CRASH_DOMAIN,
  CRASH_LEASE_MS,
  type CrashNews,
  type CrashPlan,
  type CrashPoint,
} from '../../../support/tasks/crashes/crash-plan.ts';
import { storeOfPlan } from '../../../support/tasks/crashes/crash-store.ts';
import { historyQuery, taskQuery } from '../../../support/tasks/factories.ts';
import { TASK_SERVER_ARGS } from '../../../support/tasks/redis-backend.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';

const PROGRAM = new URL(
  `../../../support/tasks/crashes/crashing-process.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`,
  import.meta.url,
).pathname;
const PATIENCE_MS = 60_000;

const ONCE = ['created', 'started', 'succeeded'];
const TWICE = ['created', 'started', 'lease_expired', 'started', 'succeeded'];

/** A row of the table in specification 4.4. */
interface Row {
  readonly crash: string;
  readonly outcome: string;
  /** Null: the process is killed while the worker has the request. */
  readonly point: CrashPoint | null;
  readonly work: CrashPlan['work'];
  /** What happened to the one task in the end. */
  readonly events: readonly string[];
  /** The attempts that the worker was sent. */
  readonly sent: readonly number[];
  /** Of the request that made the task and was repeated; null where there is none. */
  readonly replayed: boolean | null;
  /** True where nothing depends on what keeps the tasks: one store shows it. */
  readonly anyStore?: true;
}

const PUSH = { work: 'push', replayed: true } as const;
const SCHEDULE = { work: 'schedule', replayed: null } as const;

const ROWS: readonly Row[] = [
  {
    crash: 'after the commit of a task, before the answer',
    outcome: 'the request again finds the task',
    point: { operation: 'create', when: 'after' },
    ...PUSH,
    events: ONCE,
    sent: [1],
  },
  {
    crash: 'after the claim, before its answer is known',
    outcome: 'the lease ends, and the task is tried again',
    point: { operation: 'claim', when: 'after' },
    ...PUSH,
    events: TWICE,
    sent: [2],
  },
  {
    crash: 'after the claim, before the call',
    outcome: 'the lease ends, and the task is tried again',
    point: { operation: 'deliver', when: 'before' },
    ...PUSH,
    events: TWICE,
    sent: [2],
    anyStore: true,
  },
  {
    crash: 'during the call',
    outcome: 'the worker sees the task again, with the same id and a higher attempt',
    point: null,
    ...PUSH,
    events: TWICE,
    sent: [1, 2],
    anyStore: true,
  },
  {
    crash: 'after the answer of the worker, before the store is told',
    outcome: 'it runs again',
    point: { operation: 'settle', when: 'before' },
    ...PUSH,
    events: TWICE,
    sent: [1, 2],
  },
  {
    crash: 'after the store was told, before it has answered',
    outcome: 'it has succeeded',
    point: { operation: 'settle', when: 'after' },
    ...PUSH,
    events: ONCE,
    sent: [1],
  },
  {
    crash: 'after the commit of what a schedule makes',
    outcome: 'there is one task, and the schedule has moved on',
    point: { operation: 'create', when: 'after' },
    ...SCHEDULE,
    events: ONCE,
    sent: [1],
  },
  {
    crash: 'of a pull worker that has leased a task',
    outcome: 'the lease ends, and the task is leased again',
    point: null,
    work: 'pull',
    replayed: true,
    events: TWICE,
    sent: [],
  },
];

/** Only in SQLite is there anything between the writes and the commit. */
const COMMIT_ROWS: readonly Row[] = [
  {
    crash: 'before the commit of a task',
    outcome: 'there is none, and the request again makes it',
    point: { operation: 'create', when: 'commit' },
    ...PUSH,
    replayed: false,
    events: ONCE,
    sent: [1],
  },
  {
    crash: 'before the commit of a claim',
    outcome: 'it was not claimed',
    point: { operation: 'claim', when: 'commit' },
    ...PUSH,
    events: ONCE,
    sent: [1],
  },
  {
    crash: 'before the commit of an outcome',
    outcome: 'it runs again',
    point: { operation: 'settle', when: 'commit' },
    ...PUSH,
    events: TWICE,
    sent: [1, 2],
  },
  {
    crash: 'before the commit of what a schedule makes',
    outcome: 'the schedule is still due, and fires once',
    point: { operation: 'create', when: 'commit' },
    ...SCHEDULE,
    events: ONCE,
    sent: [1],
  },
];

/** One run of the service. */
class Run {
  readonly ended: Promise<ChildEnd>;
  readonly news: CrashNews[] = [];
  readonly #child: Child;

  constructor(plan: CrashPlan) {
    this.#child = new Child({
      command: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', PROGRAM, JSON.stringify(plan)],
      env: process.env,
    });
    this.#child.onLine(line => {
      if (line.startsWith('{')) this.news.push(JSON.parse(line));
    });
    this.ended = this.#child.ended;
  }

  get output(): string {
    return this.#child.output;
  }

  /** What it says of this. */
  of<N extends keyof CrashNews>(name: N): CrashNews[N] | undefined {
    return this.news.find(news => news[name] !== undefined)?.[name];
  }

  async says(name: keyof CrashNews): Promise<void> {
    if (this.of(name) !== undefined) return;
    await this.#child.line(() => (this.of(name) === undefined ? undefined : true), PATIENCE_MS);
  }

  kill(): void {
    this.#child.signal('SIGKILL');
  }
}

type PlanOfStore = CrashPlan['store'];

/** A run that is killed, a second one on the same data that comes to its end, and what is left then. */
async function crashAndGoOn(t: Test, store: PlanOfStore, row: Row): Promise<void> {
  const worker = await startPushWorker(t, reply(200));
  const plan: CrashPlan = {
    store,
    point: row.point ?? { operation: 'deliver', when: 'after' },
    work: row.work,
    url: worker.url(),
    token: null,
    oldLease: null,
  };
  const first = await crash(worker, plan, row);
  t.equal((await first.ended).signal, 'SIGKILL', first.output);

  const token = first.of('token')!;
  const second = new Run({ ...plan, point: null, token, oldLease: first.of('lease') ?? null });
  t.strictSame(await second.ended, { status: 0, signal: null }, second.output);
  t.ok(second.of('ended'));

  const { tasks, histories } = await leftIn(t, store);
  t.equal(tasks.length, 1, 'there is one task');
  t.strictSame(each(histories[0], 'event'), row.events);
  t.strictSame(
    worker.requests.map(request => [
      headerOf(request, 'webhook-id'),
      Number(headerOf(request, 'task-attempt')),
    ]),
    row.sent.map(attempt => [tasks[0].id, attempt]),
  );
  t.equal(second.of('created')?.replayed ?? null, row.replayed);
  if (row.replayed !== null) t.match(second.of('created'), { status: 201, id: tasks[0].id });
  const [lost, ended] = histories[0].filter(({ event }) => event === 'started' || event === 'lease_expired');
  if (ended !== undefined) t.ok(ended.at >= lost.at + CRASH_LEASE_MS, 'the lease did not end early');
  if (row.work === 'pull') t.equal(second.of('oldLease'), 409, 'the lease that is over is good for nothing');
}

async function crash(worker: PushWorker, plan: CrashPlan, row: Row): Promise<Run> {
  if (row.point !== null) return new Run(plan);
  // Nobody answers: the process is killed from outside.
  if (row.work === 'push') worker.answer = () => {};
  const run = new Run(plan);
  await (row.work === 'push' ? worker.received(1) : run.says('lease'));
  run.kill();
  await run.ended;
  worker.answer = reply(200);
  return run;
}

async function leftIn(
  t: Test,
  plan: PlanOfStore,
): Promise<{ readonly tasks: readonly Task[]; readonly histories: readonly (readonly HistoryEntry[])[] }> {
  const store = storeOfPlan(plan);
  await store.start();
  t.strictSame(await violationsOf(store, { finished: true }), []);
  const tasks = await store.list(CRASH_DOMAIN, taskQuery());
  const histories = await Promise.all(
    tasks.map(async ({ id }) => (await store.history(CRASH_DOMAIN, id, historyQuery())) ?? []),
  );
  const schedules = await store.listDocuments(CRASH_DOMAIN, {
    kind: 'schedule',
    after: null,
    limit: 10,
    order: 'asc',
  });
  for (const { body } of schedules) {
    const { fired, lastRun, nextAt } = body as { fired: number; lastRun: unknown; nextAt: number };
    t.match({ fired, lastRun }, { fired: 1, lastRun: { taskId: tasks[0].id } });
    t.ok(nextAt > tasks[0].createdAt);
  }
  await store.stop();
  return { tasks, histories };
}

t.test('a crash of a process with SQLite', t => {
  t.jobs = 3;
  for (const row of [...ROWS, ...COMMIT_ROWS]) {
    t.test(`${row.crash}: ${row.outcome}`, { buffered: true }, t =>
      crashAndGoOn(
        t,
        {
          kind: 'sqlite',
          path: join(tempDirectory(t), 'tasks.db'),
          thread: row.point?.when === 'commit' ? 'same' : 'own',
        },
        row,
      ),
    );
  }
  t.end();
});

t.test('a crash of a process with Redis', async t => {
  const redis = await startRedis({ args: TASK_SERVER_ARGS });
  t.teardown(() => redis.stop());
  t.jobs = 3;
  await Promise.all(
    ROWS.filter(row => row.anyStore === undefined).map((row, at) =>
      t.test(`${row.crash}: ${row.outcome}`, { buffered: true }, t =>
        crashAndGoOn(t, { kind: 'redis', port: redis.port, keyPrefix: `crash${at}:` }, row),
      ),
    ),
  );
});
