import { isFinal } from '../../../src/tasks/model/task.ts';
import { type UsageCount, UsageSum } from '../../../src/tasks/model/usage.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import type { TaskChanged } from './known-tasks.ts';
import type { Report } from './violations.ts';

const FAILURES: readonly string[] = ['attempt_failed', 'timed_out', 'lease_expired', 'no_retry'];
const HOURS = 169;

/** Counts for itself what the usage of a tenant should say. */
export class UsageChecks {
  readonly #counts = new Map<string, Map<UsageCount, number>>();

  heard({ tenant, before, after, by }: TaskChanged): void {
    if (after === null) return;
    if (by === 'created') this.#add(tenant, 'created');
    if (by === 'started') this.#add(tenant, 'started');
    if (FAILURES.includes(by)) this.#add(tenant, 'attemptsFailed');
    if (isFinal(after.status) && (before === null || !isFinal(before.status)))
      this.#add(tenant, after.status);
  }

  #add(tenant: string, count: UsageCount): void {
    const counts = this.#counts.get(tenant) ?? new Map<UsageCount, number>();
    counts.set(count, (counts.get(count) ?? 0) + 1);
    this.#counts.set(tenant, counts);
  }

  /**
   * To be asked when all processes have stopped.
   *
   * @param isKept whether the usage of a tenant is kept: not that of a deleted account
   * @param isExact no process has crashed and no answer of the store was lost, so nothing may be missing
   */
  async finish(
    store: TaskStore,
    startMs: number,
    isKept: (tenant: string) => boolean,
    isExact: boolean,
    report: Report,
  ): Promise<void> {
    for (const [tenant, counts] of this.#counts) {
      const from = startMs - (startMs % 3_600_000) - 3_600_000;
      const intervals = await store.usage(tenant, { span: 'hour', workerId: null, from, intervals: HOURS });
      const sum = new UsageSum();
      for (const { figures } of intervals) sum.addAll(figures);
      for (const [count, expected] of counts) {
        const found = sum.count(count);
        if (found > expected || (isExact && isKept(tenant) && found < expected))
          report(
            'counts and usage add up',
            `the usage of ${tenant} says ${found} ${count}, and there were ${expected}`,
          );
      }
    }
  }
}
