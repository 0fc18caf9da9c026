import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { historyQuery } from '../../support/tasks/factories.ts';
import type { KnownTasks, TaskChanged } from './known-tasks.ts';
import type { Report } from './violations.ts';

/** Longer histories have a gap. */
const LONGEST = 900;

/** Compares the history of each task with what the answers of the store have said about it. */
export class HistoryChecks {
  /** By tenant and task: the time and the status after each change. */
  readonly #changes = new Map<string, string[]>();
  /** How often each change of a status happened. */
  readonly transitions = new Map<string, number>();

  heard({ tenant, before, after, by, happened }: TaskChanged): void {
    if (after === null || after.version === before?.version) return;
    const transition = `${by}: ${before?.status ?? 'none'} → ${after.status}`;
    this.transitions.set(transition, (this.transitions.get(transition) ?? 0) + 1);
    const name = `${tenant}\n${after.id}`;
    const changes = this.#changes.get(name) ?? [];
    changes.push(`${happened.at} ${after.status}`);
    this.#changes.set(name, changes);
  }

  async finish(store: TaskStore, tasks: KnownTasks, report: Report): Promise<void> {
    for (const tenant of tasks.tenants) {
      for (const id of tasks.of(tenant).keys()) {
        const expected = this.#changes.get(`${tenant}\n${id}`) ?? [];
        if (expected.length > LONGEST) continue;
        const entries = await store.history(tenant, id, historyQuery());
        const found = (entries ?? [])
          .filter(({ event }) => event !== 'heartbeat_progress')
          .map(({ at, to }) => `${at} ${to}`);
        if (found.join() !== expected.join())
          report(
            'the history is complete',
            `${id} was ${expected.join(', ')}; its history says ${found.join(', ')}`,
          );
      }
    }
  }
}
