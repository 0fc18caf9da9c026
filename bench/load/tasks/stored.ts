import { processUsage } from '../../support/process-usage.ts';
import { closedLoop, type LoopFigures } from './closed-loop.ts';
import { fill } from './fill.ts';
import { atMost, type Part, shown, type Value } from './measurement.ts';
import type { BenchTenant } from './task-service.ts';

const PAGES_MS = 1_500;
const IDLE_MS = 10_000;

interface Page {
  readonly what: string;
  readonly query: string;
}

async function pages(tenant: BenchTenant): Promise<readonly Page[]> {
  const middle = await tenant.json('GET', '/tasks?limit=200&order=asc');
  const third = (middle['data'] as { readonly created_at: string }[])[100].created_at;
  return [
    { what: 'all', query: '' },
    { what: 'of a worker', query: 'worker=common' },
    { what: 'of a rare worker', query: 'worker=rare' },
    { what: 'of a status', query: 'status=scheduled' },
    { what: 'of a rare status', query: 'status=paused' },
    { what: 'of a status that no task has', query: 'status=failed' },
    { what: 'of worker and rare status', query: 'worker=common&status=paused,failed' },
    { what: 'of a range', query: `end=${third}` },
    { what: 'of worker, status and range', query: `worker=common&status=scheduled&end=${third}` },
    { what: 'with payloads', query: 'include=payload' },
  ];
}

/** What many stored tasks do to lists, to memory, to a service that has nothing to do, and to its start. */
export const stored: Part = async setting => {
  const { service, size } = setting;
  const tenant = await service.tenant(4);
  for (const name of ['common', 'rare']) await tenant.json('POST', '/workers', { name, mode: 'pull' });
  await fill(tenant, 'rare', 100, '"delay":"30d"');
  await fill(tenant, 'common', size.stored - 100, '"delay":"30d"');
  const { data } = (await tenant.json('GET', '/tasks?limit=50&worker=common')) as {
    data: { readonly id: string }[];
  };
  for (const { id } of data) await tenant.json('PUT', `/tasks/${id}`, { status: 'paused' });
  const values: Value[] = [];
  let worst: LoopFigures | null = null;
  for (const page of await pages(tenant)) {
    const figures = await closedLoop({ callers: 1, warmUpMs: 200, measuredMs: PAGES_MS }, () =>
      tenant.call('GET', `/tasks?limit=50&${page.query}`),
    );
    values.push(shown(`page ${page.what}, p99`, figures.latency.p99Ms, 'ms'));
    if (worst === null || figures.latency.p99Ms > worst.latency.p99Ms) worst = figures;
  }
  values.unshift(
    atMost(`worst page of 50 among ${size.stored} tasks, p99`, worst?.latency.p99Ms ?? Number.NaN, 'ms', 10),
  );
  const history = await closedLoop({ callers: 1, warmUpMs: 200, measuredMs: PAGES_MS }, () =>
    tenant.call('GET', `/tasks/${data[0].id}/history`),
  );
  values.push(atMost('history page, p99', history.latency.p99Ms, 'ms', 10));
  values.push(...(await atRest(setting)));
  values.push(...(await afterACrash(setting, tenant)));
  return values;
};

async function atRest({ service }: Parameters<Part>[0]): Promise<Value[]> {
  const before = processUsage(service.pid);
  await new Promise(resolve => setTimeout(resolve, IDLE_MS));
  const after = processUsage(service.pid);
  const memory = after.rssBytes / 2 ** 20;
  return [
    service.store === 'sqlite'
      ? atMost('resident memory', memory, 'MiB', 250)
      : shown('resident memory', memory, 'MiB'),
    atMost('processor time at rest', ((after.cpuMs - before.cpuMs) / IDLE_MS) * 100, '% of a core', 1),
  ];
}

async function afterACrash({ service }: Parameters<Part>[0], tenant: BenchTenant): Promise<Value[]> {
  await fill(tenant, 'rare', 10, '"delay":"0s"');
  const begun = performance.now();
  const readyMs = await service.crashAndStart();
  const again = service.again(tenant, 2);
  const answer = await again.json('POST', '/workers/rare/leases', { max: 1, wait: '5s' });
  const claimedMs = performance.now() - begun;
  if ((answer['leases'] as unknown[]).length !== 1)
    throw new Error('no task could be leased after the crash');
  return [
    atMost('ready after kill -9', readyMs / 1_000, 's', 3),
    atMost('first claim after kill -9', claimedMs / 1_000, 's', 5),
  ];
}
