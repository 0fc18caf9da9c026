import type { TaskStore } from '../../store/task-store.ts';
import type { RestParts } from '../http/parts.ts';
import { endedIn, lastMinutes } from './last-minutes.ts';

/** What the tasks of a worker do, in the form of `health` of a worker. */
export async function readHealth(
  store: Pick<TaskStore, 'counts' | 'usage'>,
  worker: { readonly tenant: string; readonly workerId: string },
  nowMs: number,
): Promise<Record<string, unknown>> {
  const [counts, minutes] = await Promise.all([
    store.counts(worker.tenant, worker.workerId),
    lastMinutes(store, worker, nowMs),
  ]);
  const { running, scheduled, retry, paused, failed } = counts;
  return {
    in_flight: running,
    waiting: scheduled + retry,
    paused,
    failed,
    ended_spark: minutes.map(endedIn),
  };
}

/** Tells all threads and processes about a change of a worker or its secrets. Call it after each such change. */
export function workerChanged(
  { directory, signals }: Pick<RestParts, 'directory' | 'signals'>,
  tenant: string,
  id: string,
): void {
  directory.changed(tenant);
  signals.tell('workerChanged', tenant, id);
}
