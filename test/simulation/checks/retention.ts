import { DEFAULT_TENANT_LIMITS, type TenantLimits } from '../../../src/tasks/model/documents.ts';
import type { Task } from '../../../src/tasks/model/task.ts';
import type { PurgeAnswer } from '../../../src/tasks/store/requests.ts';
import type { HappenedOperation } from '../world/store-under-test.ts';
import type { KnownDocuments } from './known-documents.ts';
import type { KnownTasks } from './known-tasks.ts';
import type { Report } from './violations.ts';

/** Whether tasks that have ended are kept for as long as the limits of their tenant say, and not for much longer. */
export class RetentionChecks {
  readonly #tasks: KnownTasks;
  readonly #documents: KnownDocuments;
  readonly #report: Report;

  constructor(tasks: KnownTasks, documents: KnownDocuments, report: Report) {
    this.#tasks = tasks;
    this.#documents = documents;
    this.#report = report;
  }

  /**
   * To be told before the tasks are known to be removed.
   *
   * @param fromMs what a process knows of an account is not older
   */
  heard({ operation, answer, at }: HappenedOperation, fromMs: number): void {
    if (operation.name !== 'purge') return;
    const [tenant, keep] = operation.args;
    const { tasks: removed, more } = answer as PurgeAnswer;
    const accounts = this.#documents.within(tenant, 'account', 'account', fromMs);
    // The deletion of an account keeps nothing.
    if (accounts.some(body => body === null || body.deletion !== undefined)) return;
    const limits = accounts.map(body => ({ ...DEFAULT_TENANT_LIMITS, ...body?.limits }));
    const over = [...this.#tasks.of(tenant).values()].filter(task => isOver(task, keep, at));
    const early = over.find(task => limits.every(each => !isOver(task, keptFor(each), at)));
    if (early !== undefined)
      this.#report(
        'ended tasks are removed in time',
        `${early.id} ended at ${early.finishedAt}, and was removed at ${at}`,
      );
    if (removed > over.length || (!more && removed < over.length))
      this.#report(
        'ended tasks are removed in time',
        `${removed} tasks of ${tenant} were removed at ${at}, and ${over.length} were to be`,
      );
  }

  /** A task whose time is over. */
  kept(nowMs: number): Task | undefined {
    for (const tenant of this.#tasks.tenants) {
      const account = this.#documents.account(tenant);
      if (account?.status !== 'active') continue;
      const keep = keptFor({ ...DEFAULT_TENANT_LIMITS, ...account.limits });
      const found = [...this.#tasks.of(tenant).values()].find(task => isOver(task, keep, nowMs));
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

interface Kept {
  readonly succeededMs: number;
  readonly otherMs: number;
}

function keptFor({ retainSucceededMs, retainOtherMs }: TenantLimits): Kept {
  return { succeededMs: retainSucceededMs, otherMs: retainOtherMs };
}

function isOver({ status, finishedAt }: Task, { succeededMs, otherMs }: Kept, at: number): boolean {
  return finishedAt !== null && finishedAt < at - (status === 'succeeded' ? succeededMs : otherMs);
}
