import { isFinal, type Task } from '../../../src/tasks/model/task.ts';
import type { HappenedOperation } from '../world/store-under-test.ts';

/** A change of a task: it was created (no `before`), changed, or removed (no `after`). */
export interface TaskChanged {
  readonly tenant: string;
  readonly before: Task | null;
  readonly after: Task | null;
  /** The operation, with the event of an attempt that has ended. */
  readonly by: string;
  readonly leaseId: string | null;
  readonly happened: HappenedOperation;
}

/** What all answers of the store together say about its tasks. */
export class KnownTasks {
  readonly #tenants = new Map<string, Map<string, Task>>();
  /** Of running attempts. */
  readonly #leases = new Map<string, { readonly tenant: string; readonly id: string; until: number }>();
  readonly #removed = new Set<string>();

  of(tenant: string): ReadonlyMap<string, Task> {
    return this.#of(tenant);
  }

  get tenants(): readonly string[] {
    return [...this.#tenants.keys()];
  }

  wasRemoved(tenant: string, id: string): boolean {
    return this.#removed.has(`${tenant}\n${id}`);
  }

  /** The task whose attempt has this lease. */
  leased(leaseId: string): Task | null {
    const lease = this.#leases.get(leaseId);
    return lease === undefined ? null : (this.#of(lease.tenant).get(lease.id) ?? null);
  }

  /** @returns the changes that the answer tells of, in order */
  heard(happened: HappenedOperation): readonly TaskChanged[] {
    const { operation, answer } = happened;
    const changes: TaskChanged[] = [];
    const changed = (tenant: string, after: Task, by: string, leaseId: string | null = null) => {
      const before = this.#of(tenant).get(after.id) ?? null;
      this.#of(tenant).set(after.id, after);
      changes.push({ tenant, before, after, by, leaseId, happened });
      if (isFinal(after.status)) changes.push(...this.#release(tenant, after.id, happened));
    };
    // biome-ignore lint/suspicious/noExplicitAny: the answer of the operation that the case names
    const said = answer as any;
    switch (operation.name) {
      case 'create':
        if (said.kind !== 'done') break;
        if (operation.args[1].atomic && said.results.some(({ kind }: { kind: string }) => kind === 'refused'))
          break;
        for (const { kind, task } of said.results) {
          if (kind === 'created' || kind === 'replaced') changed(operation.args[0], task, kind);
        }
        break;
      case 'change':
        if (said.kind === 'done') changed(operation.args[0], said.task, operation.args[2].action);
        break;
      case 'claim':
        for (const { task, leaseId, leaseUntil } of said.tasks) {
          this.#leases.set(leaseId, { tenant: operation.args[0], id: task.id, until: leaseUntil });
          changed(operation.args[0], task, 'started', leaseId);
        }
        break;
      case 'settle':
        for (const [at, result] of said.entries()) {
          if (result.kind !== 'settled') continue;
          const { event, leaseId } = operation.args[1][at];
          changed(operation.args[0], result.task, event, leaseId);
          this.#leases.delete(leaseId);
        }
        break;
      case 'remove':
        if (said === 'removed') changes.push(...this.#remove(operation.args[0], operation.args[1], happened));
        break;
      case 'purge':
        if (said.tasks > 0) {
          const [tenant, keep] = operation.args;
          for (const task of [...this.#of(tenant).values()]) {
            if (isOver(task, keep, happened.at)) changes.push(...this.#remove(tenant, task.id, happened));
          }
        }
    }
    return changes;
  }

  #of(tenant: string): Map<string, Task> {
    let tasks = this.#tenants.get(tenant);
    if (tasks === undefined) {
      tasks = new Map();
      this.#tenants.set(tenant, tasks);
    }
    return tasks;
  }

  #remove(tenant: string, id: string, happened: HappenedOperation): TaskChanged[] {
    const before = this.#of(tenant).get(id);
    if (before === undefined) return [];
    this.#of(tenant).delete(id);
    this.#removed.add(`${tenant}\n${id}`);
    const removal = { tenant, before, after: null, by: 'removed', leaseId: null, happened };
    return [removal, ...this.#release(tenant, id, happened)];
  }

  /** Tasks that were held by one that has ended are due. No answer tells of them. */
  #release(tenant: string, holder: string, happened: HappenedOperation): TaskChanged[] {
    const released: TaskChanged[] = [];
    for (const before of this.#of(tenant).values()) {
      if (before.heldBy !== holder) continue;
      const dueAt = Math.max(before.runAt, happened.at);
      const after = { ...before, heldBy: null, dueAt, version: before.version + 1, updatedAt: happened.at };
      this.#of(tenant).set(before.id, after);
      released.push({ tenant, before, after, by: 'let go', leaseId: null, happened });
    }
    return released;
  }
}

function isOver(
  { status, finishedAt }: Task,
  keep: { readonly succeededMs: number; readonly otherMs: number },
  at: number,
): boolean {
  return finishedAt !== null && finishedAt < at - (status === 'succeeded' ? keep.succeededMs : keep.otherMs);
}
