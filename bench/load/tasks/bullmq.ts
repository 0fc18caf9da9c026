import type { RedisAddress } from './bullmq-package.ts';
import { loadBullmq } from './bullmq-package.ts';
import { closedLoop } from './closed-loop.ts';
import { type Part, shown } from './measurement.ts';
import { payloadOf } from './task-service.ts';

const CALLERS = 64;
const CONCURRENCY = 64;
const PATIENCE_MS = 60_000;

/**
 * The same by BullMQ on the same Redis: jobs added one by one by 64 callers, and taken and ended by a worker that does
 * nothing. It is a library in this process, where ours is asked over HTTP and keeps a history.
 */
export const bullmq: Part = async ({ service, size }) => {
  if (service.redis === null) return [];
  const { Queue } = await loadBullmq();
  const connection = { host: '127.0.0.1', port: service.redis.port, maxRetriesPerRequest: null };
  const payload = JSON.parse(payloadOf(512)) as object;
  const added = new Queue('added', { connection });
  const worked = new Queue('worked', { connection });
  try {
    const { perSecond, latency } = await closedLoop({ callers: CALLERS, ...size }, () =>
      added.add('task', payload, { attempts: 12, delay: 30 * 86_400_000 }),
    );
    const jobs = Math.round((4_000 * size.measuredMs) / 1_000);
    for (let made = 0; made < jobs; made += 500) {
      const piece = Math.min(500, jobs - made);
      await worked.addBulk(
        Array.from({ length: piece }, () => ({ name: 'task', data: payload, opts: { attempts: 12 } })),
      );
    }
    const worksPerSecond = await drain(connection, jobs);
    return [
      shown('BullMQ: added one by one, 64 callers', perSecond, 'tasks/s'),
      shown('BullMQ: added one by one, p99', latency.p99Ms, 'ms'),
      shown('BullMQ: taken and ended', worksPerSecond, 'tasks/s'),
    ];
  } finally {
    await added.close();
    await worked.close();
  }
};

async function drain(connection: RedisAddress, jobs: number): Promise<number> {
  const { Worker } = await loadBullmq();
  const done = Promise.withResolvers<void>();
  let ended = 0;
  const worker = new Worker('worked', async () => {}, {
    connection,
    concurrency: CONCURRENCY,
    autorun: false,
  });
  worker.on('completed', () => {
    if (++ended === jobs) done.resolve();
  });
  worker.on('error', done.reject);
  const timer = setTimeout(
    () => done.reject(new Error(`BullMQ ended ${ended} of ${jobs} jobs`)),
    PATIENCE_MS,
  );
  const begun = performance.now();
  const running = worker.run();
  running.catch(done.reject);
  try {
    await done.promise;
    return jobs / ((performance.now() - begun) / 1_000);
  } finally {
    clearTimeout(timer);
    await worker.close();
  }
}
