// What the Redis task store does a second, and what a task takes of Redis's memory. Needs `redis-server` on the PATH.
// Run: node bench/part/task-store-redis.ts [--durability=always] [--cluster] [--tasks=20000]
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/base/clock.ts';
import type { TaskStore } from '../../src/tasks/store/task-store.ts';
import { startCluster } from '../../test/support/redis-cluster.ts';
import { type RedisServer, startRedis } from '../../test/support/redis-server.ts';
import { Factory, settlement, taskQuery } from '../../test/support/tasks/factories.ts';
import { redisTaskStore, TASK_SERVER_ARGS } from '../../test/support/tasks/redis-backend.ts';

const TENANT = 'acme';
const FIGURE_MS = 3_000;
const CALLERS = 64;
const PAYLOAD = JSON.stringify({ text: 'x'.repeat(501) });
const UNBOUNDED = 10_000_000;
/** Does what an hour does: settled leases are known no more. */
const FORGET_LEASES = `for _, key in ipairs(redis.call('KEYS', '*}:L:*')) do redis.call('DEL', key) end`;

const { values: options } = parseArgs({
  options: {
    durability: { type: 'string', default: 'everysec' },
    cluster: { type: 'boolean', default: false },
    tasks: { type: 'string', default: '20000' },
  },
});
const durability = options.durability === 'always' ? 'always' : 'everysec';
const make = new Factory(systemClock);
const worker = make.worker();
let leases = 0;

async function create(store: TaskStore, count: number): Promise<number> {
  const tasks = Array.from({ length: count }, () =>
    make.newTask(worker, { type: 'email.welcome' }, { body: { payload: PAYLOAD, headers: {} }, wake: true }),
  );
  await store.create(TENANT, make.createRequest(tasks, { maxOpen: UNBOUNDED }));
  return count;
}

async function claimAndSettle(store: TaskStore, count: number): Promise<number> {
  const leaseIds = Array.from({ length: count }, () => (++leases).toString(16).padStart(32, '0'));
  const bounds = { leaseIds, tenantInFlight: UNBOUNDED, tenantPerSecond: UNBOUNDED };
  const { tasks } = await store.claim(TENANT, { ...make.claimRequest(worker.id, 0), ...bounds });
  const ends = tasks.map(({ leaseId }) => settlement(leaseId, 'succeeded', { result: '{"ok":true}' }));
  await store.settle(TENANT, ends);
  return tasks.length;
}

/** Seconds of processor time of the servers so far. */
async function serverSeconds(servers: readonly RedisServer[]): Promise<number> {
  const infos = await Promise.all(servers.map(server => server.command('INFO', 'cpu')));
  const used = infos.flatMap(info => [...String(info).matchAll(/^used_cpu_(?:user|sys):([0-9.]+)/gm)]);
  return used.reduce((sum, [, seconds]) => sum + Number(seconds), 0);
}

/** Has callers call `once` again and again, and says what that makes. Ends early when there is nothing left. */
async function figure(
  servers: readonly RedisServer[],
  name: string,
  callers: number,
  once: () => Promise<number>,
): Promise<void> {
  const times: number[] = [];
  let tasks = 0;
  const cpu = process.cpuUsage();
  const serverBefore = await serverSeconds(servers);
  const began = performance.now();
  const caller = async () => {
    for (let done = 1; done > 0 && performance.now() - began < FIGURE_MS; tasks += done) {
      const at = performance.now();
      done = await once();
      times.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const seconds = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const server = (await serverSeconds(servers)) - serverBefore;
  times.sort((a, b) => a - b);
  const at = (share: number) =>
    `${times[Math.min(times.length - 1, Math.floor(times.length * share))].toFixed(2)} ms`;
  const micros = (spent: number) => `${((spent * 1e6) / tasks).toFixed(0)} µs`;
  const rate = `${Math.round(tasks / seconds)} /s`.padStart(9);
  console.log(
    `${name.padEnd(34)} ${rate}   p50 ${at(0.5)}   p99 ${at(0.99)}   a task: ${micros((user + system) / 1e6)} here, ${micros(server)} Redis`,
  );
}

async function usedMemory(servers: readonly RedisServer[]): Promise<number> {
  const infos = await Promise.all(servers.map(server => server.command('INFO', 'memory')));
  return infos.reduce<number>((sum, info) => sum + Number(/used_memory:(\d+)/.exec(String(info))?.[1]), 0);
}

async function memory(servers: readonly RedisServer[], store: TaskStore, count: number): Promise<void> {
  const before = await usedMemory(servers);
  for (let made = 0; made < count; made += 500) await create(store, 500);
  const created = await usedMemory(servers);
  while ((await claimAndSettle(store, 100)) > 0);
  const ended = await usedMemory(servers);
  for (const server of servers) await server.command('EVAL', FORGET_LEASES, 0);
  const later = await usedMemory(servers);
  const each = (bytes: number) => `${Math.round((bytes - before) / count)} bytes`;
  console.log(`a task with a payload of ${PAYLOAD.length} bytes: ${each(created)}`);
  console.log(`when it has ended: ${each(ended)}; an hour later: ${each(later)}`);
}

async function pages(servers: readonly RedisServer[], store: TaskStore): Promise<void> {
  const page = taskQuery({ limit: 50, order: 'desc' });
  const queries = { all: page, 'of a worker': { ...page, workerId: worker.id } };
  for (const [name, query] of Object.entries(queries)) {
    await figure(servers, `page: ${name}`, 1, async () => {
      await store.list(TENANT, query);
      return 1;
    });
  }
}

const args = [...TASK_SERVER_ARGS, '--appendfsync', durability];
const servers = options.cluster ? (await startCluster({ args })).nodes : [await startRedis({ args })];
const store = redisTaskStore(servers, { durability });
try {
  await store.start();
  await store.apply(TENANT, [make.account(TENANT), worker]);
  await memory(servers, store, Number(options.tasks));
  await figure(servers, 'create', CALLERS, () => create(store, 1));
  await figure(servers, 'create, 100 at once', 4, () => create(store, 100));
  await figure(servers, 'claim 16 and settle 16', 16, () => claimAndSettle(store, 16));
  await figure(servers, 'claim 1 and settle 1', CALLERS, () => claimAndSettle(store, 1));
  await pages(servers, store);
} finally {
  await store.stop();
  await Promise.all(servers.map(server => server.stop()));
}
