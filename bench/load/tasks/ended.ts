import { closedLoop } from './closed-loop.ts';
import { fill } from './fill.ts';
import { type Part, shown, type Value } from './measurement.ts';
import { statements, stopAutovacuum, storeBytes } from './store-figures.ts';
import type { BenchTenant } from './task-service.ts';

const CALLERS = 4;
const LEASES = 100;
const SETTLE_MS = 25_000;
const IDLE_MS = 20_000;
/** Tasks wait in portions of this size, as they would if workers kept up with them. */
const PORTION = 20_000;

/** What many tasks that have ended take in the store, and whether they slow down those that are open. */
export const ended: Part = async ({ service, size }) => {
  const tenant = await service.tenant(16);
  await tenant.json('POST', '/workers', { name: 'puller', mode: 'pull' });
  const values: Value[] = [];
  const emptyBytes = await storeBytes(service);
  const rates: number[] = [];
  let bytes = emptyBytes;
  const before = await statements(service);
  for (let done = 0; done < size.ended; done += PORTION) {
    const count = Math.min(PORTION, size.ended - done);
    await fill(tenant, 'puller', count, '"delay":"0s"');
    const begun = performance.now();
    await endAll(tenant, count);
    rates.push(count / ((performance.now() - begun) / 1_000));
  }
  const after = await statements(service);
  bytes = await storeBytes(service);
  values.push(
    shown(`${size.ended} ended tasks, bytes each`, (bytes - emptyBytes) / size.ended, 'B'),
    shown('pulled and settled, first portion', rates[0] ?? Number.NaN, 'tasks/s'),
    shown('pulled and settled, last portion', rates.at(-1) ?? Number.NaN, 'tasks/s'),
  );
  const page = await closedLoop({ callers: 1, warmUpMs: 200, measuredMs: 1_500 }, () =>
    tenant.call('GET', '/tasks?limit=50&status=succeeded'),
  );
  values.push(shown('page of ended tasks, p99', page.latency.p99Ms, 'ms'));
  if (before === null || after === null) return values;
  await stopAutovacuum(service);
  // Threads write what they have counted within ten seconds, and sessions report their statements within ten more.
  await new Promise(resolve => setTimeout(resolve, SETTLE_MS));
  const atRest = (await statements(service)) as number;
  await new Promise(resolve => setTimeout(resolve, IDLE_MS));
  const later = (await statements(service)) as number;
  values.push(
    shown('statements a task, in batches', (after - before) / size.ended, ''),
    shown('statements a second at rest', (later - atRest) / (IDLE_MS / 1_000 + 2), '/s'),
  );
  return values;
};

/** Leases and completes so many tasks, all of which are due. */
async function endAll(tenant: BenchTenant, count: number): Promise<void> {
  let left = count;
  const call = async (): Promise<void> => {
    while (left > 0) {
      const answer = await tenant.json('POST', '/workers/puller/leases', { max: LEASES, wait: '1s' });
      const leases = answer['leases'] as { readonly lease_id: string }[];
      if (leases.length === 0) return;
      left -= leases.length;
      await tenant.json('POST', '/leases/settle', {
        outcomes: leases.map(lease => ({ lease_id: lease.lease_id, outcome: 'complete' })),
      });
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
}
