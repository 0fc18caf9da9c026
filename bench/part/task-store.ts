// What the SQLite task store does a second, through its thread, and what pages cost among many tasks.
// Run: node bench/part/task-store.ts [--synchronous=normal] [--tasks=100000] [--only=create]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/base/clock.ts';
import { TASK_STATUSES } from '../../src/tasks/model/task.ts';
import { threadedSqliteStore } from '../../src/tasks/store/sqlite/engine/thread-operator.ts';
import type { TaskStore } from '../../src/tasks/store/task-store.ts';
import { KeepingLogger } from '../../test/support/keeping-logger.ts';
import { Factory, settlement, taskQuery } from '../../test/support/tasks/factories.ts';

const TENANT = 'acme';
const FIGURE_MS = 3_000;
const PAYLOAD = JSON.stringify({ text: 'x'.repeat(501) });
const PAGE = 50;

const { values: options } = parseArgs({
  options: {
    synchronous: { type: 'string', default: 'full' },
    tasks: { type: 'string', default: '100000' },
    only: { type: 'string', default: '' },
  },
});
const synchronous = options.synchronous === 'normal' ? 'normal' : 'full';
const make = new Factory(systemClock);
const worker = make.worker();
const rare = make.worker({ name: 'rare' });
let leases = 0;

function newTask(of = worker) {
  return make.newTask(of, { type: 'email.welcome' }, { body: { payload: PAYLOAD, headers: {} }, wake: true });
}

function leaseIds(count: number): string[] {
  return Array.from({ length: count }, () => (++leases).toString(16).padStart(32, '0'));
}

/** Has `callers` callers call `once` again and again; says how many tasks a second that makes, at `tasks` a call. */
async function figure(
  name: string,
  callers: number,
  tasks: number,
  once: () => Promise<boolean>,
): Promise<void> {
  if (!name.includes(options.only)) return;
  const times: number[] = [];
  const cpu = process.cpuUsage();
  const began = performance.now();
  const caller = async () => {
    for (let going = true; going && performance.now() - began < FIGURE_MS; ) {
      const at = performance.now();
      going = await once();
      times.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const seconds = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  times.sort((a, b) => a - b);
  const rate = Math.round((times.length * tasks) / seconds);
  const at = (share: number) =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))].toFixed(2);
  const cores = ((user + system) / 1e6 / seconds).toFixed(2);
  console.log(
    `${name.padEnd(44)} ${String(rate).padStart(7)} /s   p50 ${at(0.5)} ms   p99 ${at(0.99)} ms   ${cores} cores`,
  );
}

async function create(store: TaskStore, count: number, of = worker): Promise<boolean> {
  const tasks = Array.from({ length: count }, () => newTask(of));
  await store.create(TENANT, make.createRequest(tasks, { maxOpen: 10_000_000 }));
  return true;
}

async function claimAndSettle(store: TaskStore, count: number): Promise<boolean> {
  const request = { ...make.claimRequest(worker.id, 0), leaseIds: leaseIds(count) };
  const { tasks } = await store.claim(TENANT, { ...request, tenantPerSecond: 10_000_000 });
  await store.settle(
    TENANT,
    tasks.map(({ leaseId }) => settlement(leaseId, 'succeeded', { result: '{"ok":true}' })),
  );
  return tasks.length > 0;
}

async function fill(store: TaskStore, count: number): Promise<void> {
  const began = performance.now();
  for (let made = 0; made < count; made += 2_000) {
    await Promise.all(Array.from({ length: 4 }, () => create(store, 500)));
  }
  const seconds = (performance.now() - began) / 1_000;
  console.log(`${count} tasks made in ${seconds.toFixed(1)} s, ${Math.round(count / seconds)} /s`);
}

async function pages(store: TaskStore): Promise<void> {
  const page = { limit: PAGE, order: 'desc' } as const;
  const queries = {
    all: page,
    worker: { ...page, workerId: worker.id },
    'rare worker': { ...page, workerId: rare.id },
    'one status': { ...page, statuses: ['scheduled'] },
    'rare status': { ...page, statuses: ['failed'] },
    'worker and three statuses': { ...page, workerId: worker.id, statuses: ['scheduled', 'retry', 'failed'] },
    'every status named': { ...page, statuses: TASK_STATUSES },
  } as const;
  for (const [name, query] of Object.entries(queries)) {
    await figure(`page: ${name}`, 1, 1, async () => (await store.list(TENANT, taskQuery(query))) !== null);
  }
}

const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
const file = { path: join(directory, 'tasks.db'), synchronous } as const;
const { store } = threadedSqliteStore(file, new KeepingLogger());
try {
  await store.start();
  await store.apply(TENANT, [make.account(TENANT), worker, rare]);
  for (const callers of [1, 32, 64, 128]) {
    await figure(`create, ${callers} callers, one task each`, callers, 1, () => create(store, 1));
  }
  let reading = options.only === '' || 'create, 64 callers, beside a reader'.includes(options.only);
  const reader = (async () => {
    while (reading) await store.list(TENANT, taskQuery({ limit: PAGE, order: 'desc' }));
  })();
  await figure('create, 64 callers, beside a reader of pages', 64, 1, () => create(store, 1));
  reading = false;
  await reader;
  await figure('create, 4 callers, 100 tasks each', 4, 100, () => create(store, 100));
  await fill(store, Number(options.tasks));
  await create(store, 10, rare);
  await figure('claim 16 and settle 16, 4 callers', 4, 16, () => claimAndSettle(store, 16));
  await figure('claim 1 and settle 1, 16 callers', 16, 1, () => claimAndSettle(store, 1));
  await pages(store);
  await store.stop();
  const began = performance.now();
  await store.start();
  console.log(`start with ${options.tasks} and more tasks: ${(performance.now() - began).toFixed(0)} ms`);
  console.log(`resident: ${(process.memoryUsage.rss() / 1_048_576).toFixed(0)} MiB`);
  await store.stop();
} finally {
  rmSync(directory, { recursive: true, force: true });
}
