import { forEachNumber } from './closed-loop.ts';
import { type BenchTenant, payloadOf } from './task-service.ts';

const BATCH = 250;

/** Makes so many tasks of a worker, in batches. `when` is `{"run_at":…}` or `{"delay":…}` without its braces. */
export async function fill(tenant: BenchTenant, worker: string, count: number, when: string): Promise<void> {
  const one = `{"worker":"${worker}",${when},"payload":${payloadOf(512)}}`;
  await forEachNumber(Math.ceil(count / BATCH), 4, async number => {
    const size = Math.min(BATCH, count - number * BATCH);
    await tenant.call(
      'POST',
      '/tasks/batch',
      `{"tasks":[${Array.from({ length: size }, () => one).join(',')}]}`,
    );
  });
}

/** Resolves when no task of the tenant waits or runs any more. */
export async function drained(tenant: BenchTenant, patienceMs: number): Promise<void> {
  const endMs = performance.now() + patienceMs;
  for (;;) {
    const counts = (await tenant.json('GET', '/tasks/counts')) as Record<string, number>;
    if ((counts['scheduled'] ?? 0) + (counts['running'] ?? 0) + (counts['retry'] ?? 0) === 0) return;
    if (performance.now() > endMs) throw new Error(`not done in time: ${JSON.stringify(counts)}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}
