import type { TaskStatistics } from '../../model/task-statistics.ts';
import type { TaskStore } from '../../store/task-store.ts';

/** How often the store is asked. */
export const COUNT_DUE_EVERY_MS = 10_000;
/** Counting more would keep the store from other work. */
const MAX_COUNTED = 100_000;

interface DueTasksParts {
  readonly store: Pick<TaskStore, 'countDue'>;
  readonly statistics: TaskStatistics;
}

/** Number of due tasks for the statistics, which never wait for the store: they show its last answer. */
export class DueTasks {
  readonly #store: DueTasksParts['store'];
  #count = 0;

  constructor({ store, statistics }: DueTasksParts) {
    this.#store = store;
    statistics.readDueTasks(() => this.#count);
  }

  /** @throws (rejects with) Fault when the store fails; the last answer stays */
  async look(): Promise<void> {
    this.#count = await this.#store.countDue(MAX_COUNTED);
  }
}
