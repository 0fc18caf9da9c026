import { type BenchTenant, payloadOf } from './task-service.ts';

/** A worker of the tenant, named `sink`, that tasks are pushed to, with a signing secret. */
export async function pushWorker(tenant: BenchTenant, url: string): Promise<void> {
  await tenant.json('POST', '/workers', { name: 'sink', url, concurrency: 1000 });
  await tenant.json('POST', '/workers/sink/secrets', { type: 'signing', name: 'bench' });
}

/** How long before they are due tasks are made: none is late because it came late. */
const AHEAD_MS = 500;

/** Makes a task that is due in a moment, and says when, so that the sink knows how late it comes. */
export async function createTimed(tenant: BenchTenant): Promise<void> {
  const due = Date.now() + AHEAD_MS;
  await createDue(tenant, due, `{"due":${due},"text":${payloadOf(490)}}`);
}

/** The same, of which the sink does not measure the lag. */
export async function createUntimed(tenant: BenchTenant): Promise<void> {
  await createDue(tenant, Date.now() + AHEAD_MS, payloadOf(512));
}

async function createDue(tenant: BenchTenant, due: number, payload: string): Promise<void> {
  const runAt = new Date(due).toISOString();
  await tenant.call('POST', '/tasks', `{"worker":"sink","run_at":"${runAt}","payload":${payload}}`);
}
