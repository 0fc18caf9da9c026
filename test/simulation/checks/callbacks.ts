import { callbackOf, isFinal } from '../../../src/tasks/model/task.ts';
import type { KnownDocuments } from './known-documents.ts';
import type { TaskChanged } from './known-tasks.ts';
import type { Report } from './violations.ts';

/** Compares the ends of tasks with the callbacks that were created. */
export class CallbackChecks {
  readonly #documents: KnownDocuments;
  /** By tenant, task and status: how many ends there were, and how many callbacks. */
  readonly #ends = new Map<string, { readonly to: string; ends: number; callbacks: number }>();

  constructor(documents: KnownDocuments) {
    this.#documents = documents;
  }

  heard({ tenant, before, after, by }: TaskChanged): void {
    if (after === null) return;
    if (by === 'created') {
      const of = callbackOf(after);
      if (of !== null)
        this.#of(tenant, of, String(after.type).replace('task.', ''), after.workerId).callbacks++;
    }
    const ended = isFinal(after.status) && (before === null || !isFinal(before.status));
    if (!ended || after.onFinish === null) return;
    if ((after.onFinish.events as readonly string[]).includes(after.status))
      this.#of(tenant, after.id, after.status, after.onFinish.workerId).ends++;
  }

  #of(tenant: string, taskId: string, status: string, to: string) {
    const name = `${tenant}\n${taskId}\n${status}`;
    let found = this.#ends.get(name);
    if (found === undefined) {
      found = { to, ends: 0, callbacks: 0 };
      this.#ends.set(name, found);
    }
    return found;
  }

  /** Whether ends have no callback yet. */
  get areMissing(): boolean {
    return [...this.#ends].some(
      ([name, { to, ends, callbacks }]) => callbacks < ends && !this.#isGone(name, to),
    );
  }

  /** To be asked when all work is done. */
  finish(report: Report): void {
    for (const [name, { to, ends, callbacks }] of this.#ends) {
      const [tenant, taskId, status] = name.split('\n');
      if (callbacks > ends || (callbacks < ends && !this.#isGone(name, to)))
        report(
          'one callback for each end',
          `${taskId} of ${tenant} ended ${ends} times as ${status}, and has ${callbacks} callbacks`,
        );
    }
  }

  /** The account or the worker that is to be told was deleted. */
  #isGone(name: string, to: string): boolean {
    const [tenant] = name.split('\n');
    const account = this.#documents.account(tenant);
    return (
      account === null || account.deletion !== undefined || this.#documents.now(tenant, 'worker', to) === null
    );
  }
}
