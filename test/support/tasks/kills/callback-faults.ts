import { callbackOf, isFinal } from '../../../../src/tasks/model/task.ts';
import type { TenantSnapshot } from '../../../exam/task-store/snapshot.ts';
import type { Ledger } from './ledger.ts';

/**
 * Ends of tasks that do not have exactly one callback, and callbacks of nothing.
 *
 * @param listener name of the worker that is told of all ends of tasks of other workers
 */
export function callbackFaults(
  { tasks, histories, documents }: TenantSnapshot,
  ledger: Ledger,
  listener: string,
): string[] {
  const faults: string[] = [];
  for (const { kind, id } of documents) {
    if (kind === 'callback') faults.push(`callback ${id} was not created`);
  }
  const told = new Map<string, string[]>();
  for (const task of tasks) {
    const of = callbackOf(task);
    if ((of !== null) !== (task.worker === listener))
      faults.push(`${task.id} of ${task.worker} tells of ${of}`);
    if (of !== null) told.set(of, [...(told.get(of) ?? []), String(task.type)]);
  }
  const present = new Set(tasks.map(({ id }) => id));
  for (const id of told.keys()) {
    if (!present.has(id) && !ledger.removing.has(id)) faults.push(`${id} was told of, and is not there`);
  }
  for (const { id, worker } of tasks) {
    if (worker === listener) continue;
    const entries = histories.get(id) ?? [];
    const ends = entries.filter(({ from, to }) => isFinal(to) && from !== null && !isFinal(from));
    const expected = ends.map(({ to }) => `task.${to}`).sort();
    const found = (told.get(id) ?? []).sort();
    if (found.join() !== expected.join())
      faults.push(`${id} has callbacks ${found}, and ended as ${expected}`);
  }
  return faults;
}
