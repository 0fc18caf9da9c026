import {
  type Account,
  DEFAULT_TENANT_LIMITS,
  type TenantLimits,
} from '../../../src/tasks/model/documents.ts';
import type { CreateAnswer } from '../../../src/tasks/store/requests.ts';
import type { HappenedOperation } from '../world/store-under-test.ts';
import type { KnownDocuments } from './known-documents.ts';
import type { TaskChanged } from './known-tasks.ts';
import type { Report } from './violations.ts';

/** Looks at each task that is created, whether its account has room for it. */
export class QuotaChecks {
  readonly #documents: KnownDocuments;
  readonly #report: Report;

  constructor(documents: KnownDocuments, report: Report) {
    this.#documents = documents;
    this.#report = report;
  }

  /** @param fromMs what a process knows of an account is not older */
  operation({ operation, answer }: HappenedOperation, fromMs: number): void {
    if (operation.name !== 'create') return;
    const said = answer as CreateAnswer;
    if (said.kind !== 'done') return;
    const [tenant, request] = operation.args;
    const most = this.#most(tenant, 'payloadBytes', fromMs);
    said.results.forEach((result, at) => {
      const bytes = Buffer.byteLength(request.tasks[at].body.payload ?? '');
      if (result.kind === 'created' && result.task.createdBy.type === 'user' && bytes > most)
        this.#report('quotas hold', `${result.task.id} has a payload of ${bytes} bytes, of ${most}`);
    });
  }

  /** @param open how many tasks of the tenant are open, with this one */
  created({ tenant, after }: TaskChanged, open: number, fromMs: number): void {
    if (after === null) return;
    // Callbacks may use the quota a second time.
    const most = this.#most(tenant, 'openTasks', fromMs) * (after.createdBy.type === 'task' ? 2 : 1);
    if (open > most)
      this.#report('quotas hold', `${after.id} of ${tenant} is the ${open}th open task, of ${most}`);
  }

  #most(tenant: string, limit: keyof TenantLimits, fromMs: number): number {
    const accounts = this.#documents.within(tenant, 'account', 'account', fromMs);
    const of = (body: Account | null) => body?.limits[limit] ?? DEFAULT_TENANT_LIMITS[limit];
    return Math.max(...accounts.map(of));
  }
}
