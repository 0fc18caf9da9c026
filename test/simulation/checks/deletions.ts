import { isFinal } from '../../../src/tasks/model/task.ts';
import type { AnsweredCall } from '../world/ledger.ts';
import type { HappenedOperation } from '../world/store-under-test.ts';
import type { KnownDocuments } from './known-documents.ts';
import type { KnownTasks, TaskChanged } from './known-tasks.ts';
import type { Report } from './violations.ts';

/** Looks at deletions of workers and accounts, and at suspensions, while tasks are open and calls go on. */
export class DeletionChecks {
  readonly #tasks: KnownTasks;
  readonly #documents: KnownDocuments;
  readonly #report: Report;

  constructor(tasks: KnownTasks, documents: KnownDocuments, report: Report) {
    this.#tasks = tasks;
    this.#documents = documents;
    this.#report = report;
  }

  /** To be told when the documents are known to be deleted. */
  heard({ operation, answer }: HappenedOperation): void {
    if (operation.name !== 'apply' || (answer as { kind: string }).kind !== 'done') return;
    const [tenant, changes] = operation.args;
    // The deletion of an account removes everything in small steps.
    if (this.#documents.account(tenant)?.deletion !== undefined) return;
    for (const change of changes) {
      if (change.op === 'delete' && change.kind === 'worker') this.#worker(tenant, change.id);
    }
  }

  #worker(tenant: string, workerId: string): void {
    const open = [...this.#tasks.of(tenant).values()].find(
      task => task.workerId === workerId && !isFinal(task.status),
    );
    if (open !== undefined)
      this.#report('deleted is gone', `${workerId} was deleted while its task ${open.id} was ${open.status}`);
  }

  created({ tenant, after }: TaskChanged): void {
    if (after !== null && this.#documents.now(tenant, 'worker', after.workerId) === null)
      this.#report('deleted is gone', `${after.id} was created for a worker that is deleted`);
  }

  /** @param staleMs how old what a process knows of an account may be at a time */
  finish(calls: readonly AnsweredCall[], staleMs: (atMs: number) => number): void {
    for (const { step, answer } of calls) {
      if (answer === null || answer.status >= 300) continue;
      const { atMs } = answer;
      const accounts = this.#documents.between(step.tenant, 'account', 'account', atMs - staleMs(atMs), atMs);
      if (accounts.every(body => body === null || body.deletion !== undefined))
        this.#report('deleted is gone', `${step.path} of ${step.tenant} was answered at ${atMs}`);
      if (step.method !== 'GET' && accounts.every(body => body?.status === 'suspended'))
        this.#report('pauses hold', `${step.tenant} was suspended, and changed by ${step.path} at ${atMs}`);
    }
  }
}
