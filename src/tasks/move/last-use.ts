import type { Clock } from '../../base/clock.ts';
import type { TaskStore } from '../store/task-store.ts';
import { MoveRefused, type MovingStore } from './moving-store.ts';

/** A process of the service says more often than this that it uses its store. */
const IN_USE_MS = 10_000;

/**
 * Checks that no process of the service uses a store, as far as the store knows. If one has used it a moment ago, waits to
 * see whether it still does.
 *
 * @param waits called before the wait
 * @throws (rejects with) MoveRefused
 */
export async function refuseUsed(
  { store, shown }: MovingStore,
  clock: Pick<Clock, 'after'>,
  waits: () => void,
): Promise<void> {
  const now = await store.now();
  if (!(await isUsedAfter(store, now - IN_USE_MS))) return;
  waits();
  await new Promise<void>(resolve => void clock.after(IN_USE_MS, resolve));
  if (!(await isUsedAfter(store, now))) return;
  throw new MoveRefused(`a process of the service uses ${shown}. Stop all of them first.`);
}

/** Whether a process of the service has used a store after this time of the store. */
export async function isUsedAfter(store: Pick<TaskStore, 'lastUse'>, time: number): Promise<boolean> {
  const at = await store.lastUse();
  return at !== null && at > time;
}
