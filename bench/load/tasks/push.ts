import { closedLoop, paced } from './closed-loop.ts';
import { drained, fill } from './fill.ts';
import { atLeast, atMost, type Part, shown } from './measurement.ts';
import { createTimed, pushWorker } from './pushed-tasks.ts';
import { type BenchTenant, payloadOf } from './task-service.ts';

const PATIENCE_MS = 30_000;

/** Due, signed, posted, settled: many tasks that are due at one moment. */
export const push: Part = async ({ service, sink, size }) => {
  const tenant = await service.tenant(8);
  await pushWorker(tenant, sink.url);
  await fill(tenant, 'sink', Math.ceil(size.pushed / 10), '"delay":"0s"');
  await drained(tenant, PATIENCE_MS);
  await sink.reset();
  const dueAt = Date.now() + 2_000 + size.pushed / 5;
  await fill(tenant, 'sink', size.pushed, `"run_at":"${new Date(dueAt).toISOString()}"`);
  const early = Date.now() > dueAt;
  await sink.received(size.pushed, PATIENCE_MS);
  await drained(tenant, PATIENCE_MS);
  const seconds = (Date.now() - dueAt) / 1_000;
  return [
    atLeast('from due to settled', size.pushed / seconds, 'tasks/s', 2_000),
    ...(early ? [shown('tasks were due before all were made', 1, '')] : []),
  ];
};

/** How late tasks arrive at their worker at a steady 500 a second. */
export const startLag: Part = async ({ service, sink, size }) => {
  const tenant = await service.tenant(32);
  await pushWorker(tenant, sink.url);
  const create = (): Promise<void> => createTimed(tenant);
  await paced(500, size.warmUpMs, create);
  await drained(tenant, PATIENCE_MS);
  await sink.reset();
  const forMs = Math.max(size.measuredMs, 4_000);
  await paced(500, forMs, create);
  const { lag } = await sink.received(Math.round(500 * (forMs / 1_000)), PATIENCE_MS);
  return [
    atMost('500 tasks/s, p50 from due to arrival', lag.p50Ms, 'ms', 10),
    atMost('500 tasks/s, p99 from due to arrival', lag.p99Ms, 'ms', 100),
  ];
};

/** Very many tasks at the same second, and what callers notice of it. */
export const burst: Part = async ({ service, sink, size }) => {
  const tenant = await service.tenant(16);
  await pushWorker(tenant, sink.url);
  await tenant.json('POST', '/workers', { name: 'later', mode: 'pull' });
  await sink.reset();
  const dueAt = Date.now() + 3_000 + size.burst / 5;
  await fill(tenant, 'sink', size.burst, `"run_at":"${new Date(dueAt).toISOString()}"`);
  await new Promise(resolve => setTimeout(resolve, Math.max(0, dueAt - Date.now())));
  const body = `{"worker":"later","delay":"30d","payload":${payloadOf(512)}}`;
  let isOver = false;
  const over = sink.received(size.burst, PATIENCE_MS).finally(() => {
    isOver = true;
  });
  const latencies: number[] = [];
  const beat = (async () => {
    for (let turn = 0; !isOver; turn++) {
      const askedMs = performance.now();
      await (turn % 2 === 0 ? tenant.call('POST', '/tasks', body) : tenant.call('GET', '/tasks?limit=20'));
      latencies.push(performance.now() - askedMs);
      await new Promise(resolve => setTimeout(resolve, 5));
    }
  })();
  const { lastAt } = await over;
  await beat;
  latencies.sort((a, b) => a - b);
  return [
    atMost(
      `${size.burst} due at once, all pushed after`,
      (lastAt - dueAt) / 1_000,
      's',
      60 * (size.burst / 100_000),
    ),
    atMost(
      'meanwhile p99 of the interface',
      latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
      'ms',
      200,
    ),
  ];
};

/** Leases of 16 and their ends, by pull workers. */
export const pull: Part = async ({ service, size }) => {
  const tenant = await service.tenant(64);
  await tenant.json('POST', '/workers', { name: 'puller', mode: 'pull' });
  const seconds = (size.warmUpMs + size.measuredMs) / 1_000;
  await fill(tenant, 'puller', Math.round(12_000 * seconds), '"delay":"0s"');
  const { perSecond, latency } = await closedLoop({ callers: 4, ...size, units: 16 }, async () => {
    const answer = await tenant.json('POST', '/workers/puller/leases', { max: 16, wait: '5s' });
    const leases = answer['leases'] as { readonly lease_id: string }[];
    if (leases.length < 16) throw new Error('fewer tasks than the run needs');
    await tenant.json('POST', '/leases/settle', {
      outcomes: leases.map(lease => ({ lease_id: lease.lease_id, outcome: 'complete' })),
    });
  });
  return [
    atLeast('leases of 16, settled together', perSecond, 'tasks/s', 4_000),
    shown('leases of 16, p99 of lease and settle', latency.p99Ms, 'ms'),
  ];
};

/** Many tenants with little each: nobody waits for the others. */
export const tenants: Part = async ({ service, sink, size }) => {
  const all: BenchTenant[] = [];
  for (let made = 0; made < size.tenants; made++) {
    const tenant = await service.tenant(1);
    await pushWorker(tenant, sink.url);
    all.push(tenant);
  }
  await sink.reset();
  const create = (number: number): Promise<void> => createTimed(all[number % all.length]);
  const forMs = Math.max(size.measuredMs, 4_000);
  await paced(size.tenants, forMs, create);
  const { lag } = await sink.received(Math.round(size.tenants * (forMs / 1_000)), PATIENCE_MS);
  await Promise.all(all.map(tenant => tenant.close()));
  return [atMost(`${size.tenants} tenants with a task a second, p99 lag`, lag.p99Ms, 'ms', 250)];
};
