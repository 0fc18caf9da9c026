import { paced } from './closed-loop.ts';
import { drained } from './fill.ts';
import { atMost, type Part, shown } from './measurement.ts';
import { createTimed, createUntimed, pushWorker } from './pushed-tasks.ts';

const PATIENCE_MS = 30_000;
const QUIET_PER_SECOND = 40;
const LOUD_PER_SECOND = 10 * QUIET_PER_SECOND;
/** What a tenant with ten times the load does to the start lag of another. */
export const neighbours: Part = async ({ service, sink, size }) => {
  const quiet = await service.tenant(8);
  const loud = await service.tenant(32);
  await pushWorker(quiet, sink.url);
  await pushWorker(loud, sink.url);
  const forMs = Math.max(size.measuredMs, 4_000);
  const quietly = (): Promise<void> => paced(QUIET_PER_SECOND, forMs, () => createTimed(quiet));
  await quietly();
  await drained(quiet, PATIENCE_MS);
  await sink.reset();
  await quietly();
  await drained(quiet, PATIENCE_MS);
  const alone = (await sink.totals()).lag;
  await sink.reset();
  const noise = paced(LOUD_PER_SECOND, forMs, () => createUntimed(loud));
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
