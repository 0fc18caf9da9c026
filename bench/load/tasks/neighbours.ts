import { paced } from './closed-loop.ts';
import { drained } from './fill.ts';
import { atMost, type Part, shown } from './measurement.ts';
import { type BenchTenant, payloadOf } from './task-service.ts';

const PATIENCE_MS = 30_000;
const QUIET_PER_SECOND = 40;
const LOUD_PER_SECOND = 10 * QUIET_PER_SECOND;
/** Of the quiet tenant, so that the sink knows them apart: only these bring a due time. */
const AHEAD_MS = 500;

async function pusher(tenant: BenchTenant, url: string): Promise<void> {
  await tenant.json('POST', '/workers', { name: 'sink', url, concurrency: 1000 });
  await tenant.json('POST', '/workers/sink/secrets', { type: 'signing', name: 'bench' });
}

/** What a tenant with ten times the load does to the start lag of another. */
export const neighbours: Part = async ({ service, sink, size }) => {
  const quiet = await service.tenant(8);
  const loud = await service.tenant(32);
  await pusher(quiet, sink.url);
  await pusher(loud, sink.url);
  const forMs = Math.max(size.measuredMs, 4_000);
  const quietly = (): Promise<void> =>
    paced(QUIET_PER_SECOND, forMs, async () => {
      const due = Date.now() + AHEAD_MS;
      const payload = `{"due":${due},"text":${payloadOf(490)}}`;
      const runAt = new Date(due).toISOString();
      await quiet.call('POST', '/tasks', `{"worker":"sink","run_at":"${runAt}","payload":${payload}}`);
    });
  const loudBody = (): string => {
    const runAt = new Date(Date.now() + AHEAD_MS).toISOString();
    return `{"worker":"sink","run_at":"${runAt}","payload":${payloadOf(512)}}`;
  };
  await quietly();
  await drained(quiet, PATIENCE_MS);
  await sink.reset();
  await quietly();
  await drained(quiet, PATIENCE_MS);
  const alone = (await sink.totals()).lag;
  await sink.reset();
  const noise = paced(LOUD_PER_SECOND, forMs, () => loud.call('POST', '/tasks', loudBody()));
  await quietly();
  await noise;
  await drained(quiet, PATIENCE_MS);
  const beside = (await sink.totals()).lag;
  await drained(loud, PATIENCE_MS);
  return [
    shown(`${QUIET_PER_SECOND} tasks/s alone, p99 lag`, alone.p99Ms, 'ms'),
    shown(`beside a tenant with ${LOUD_PER_SECOND} tasks/s, p99 lag`, beside.p99Ms, 'ms'),
    atMost('p99 lag beside a loud neighbour', beside.p99Ms / alone.p99Ms, 'times', 2),
  ];
};
