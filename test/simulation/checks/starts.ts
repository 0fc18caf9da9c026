import type { Worker } from '../../../src/tasks/model/documents.ts';
import { isFinal, type Task } from '../../../src/tasks/model/task.ts';
import type { KnownDocuments } from './known-documents.ts';
import type { KnownTasks, TaskChanged } from './known-tasks.ts';
import type { Report } from './violations.ts';

interface StartParts {
  readonly tasks: KnownTasks;
  readonly documents: KnownDocuments;
  /** How old what a process knows of a document may be when it asks for tasks. */
  readonly staleMs: () => number;
  readonly report: Report;
  readonly defaults: { readonly inFlight: number };
}

/** Looks at each start of a task, as the store answers it: whether the task may start now. */
export class StartChecks {
  readonly #parts: StartParts;
  /** Tasks with one attempt more than their policy says now. */
  readonly #promised = new Set<string>();

  constructor(parts: StartParts) {
    this.#parts = parts;
  }

  /** A task whose next attempt has its time may be changed to have no attempts left: that attempt is still made. */
  updated({ before, after }: TaskChanged): void {
    if (before === null || after === null || after.attempt < after.retry.maxAttempts) return;
    if (before.retry.maxAttempts > after.retry.maxAttempts) this.#promised.add(after.id);
  }

  heard({ tenant, before, after, happened }: TaskChanged): void {
    if (before === null || after === null) {
      this.#parts.report('the store agrees with itself', `an unknown task was started: ${after?.id}`);
      return;
    }
    this.#time(before, happened.at);
    this.#attempt(before, after);
    this.#key(tenant, after);
    const versions = this.#parts.documents.within(
      tenant,
      'worker',
      after.workerId,
      happened.askedMs - this.#parts.staleMs(),
    );
    const workers = versions.filter(body => body !== null);
    this.#pauses(tenant, after, versions, happened.askedMs);
    this.#limits(tenant, after, workers, happened.askedMs);
    this.#order(tenant, after, workers, happened.at);
  }

  #time({ id, dueAt, heldBy, expiresAt, status }: Task, at: number): void {
    const { report } = this.#parts;
    if (heldBy !== null) report('one task for a key', `${id} started while ${heldBy} held it`);
    else if (dueAt === null || dueAt > at)
      report('never early', `${id} started at ${at}, and is due at ${dueAt}`);
    if (expiresAt !== null && expiresAt <= at)
      report('never early', `${id} started at ${at}, and expired at ${expiresAt}`);
    if (status === 'paused') report('pauses hold', `${id} started while it was paused`);
    if (status === 'running') report('one attempt at a time', `${id} started while it ran`);
    if (isFinal(status)) report('one attempt at a time', `${id} started after it was ${status}`);
  }

  #attempt(before: Task, after: Task): void {
    const { report } = this.#parts;
    const { id, attempt, retry } = after;
    if (attempt !== before.attempt + 1)
      report('attempts follow the policy', `${id}: attempt ${attempt} follows attempt ${before.attempt}`);
    const isPromised = this.#promised.delete(id);
    if (attempt > retry.maxAttempts && !isPromised)
      report('attempts follow the policy', `${id}: attempt ${attempt} of ${retry.maxAttempts}`);
  }

  #key(tenant: string, { id, key, workerId }: Task): void {
    if (key === null) return;
    for (const other of this.#parts.tasks.of(tenant).values()) {
      if (other.id === id || other.key !== key || other.workerId !== workerId) continue;
      if (other.status === 'running')
        this.#parts.report('one task for a key', `${id} and ${other.id} run with the key ${key}`);
    }
  }

  #pauses(tenant: string, { id }: Task, versions: readonly (Worker | null)[], askedMs: number): void {
    const { documents, staleMs, report } = this.#parts;
    if (versions.length > 0 && versions.every(body => body === null || body.paused))
      report('pauses hold', `${id} started while its worker was paused or deleted`);
    const accounts = documents.within(tenant, 'account', 'account', askedMs - staleMs());
    if (accounts.every(body => body?.status !== 'active'))
      report('pauses hold', `${id} started while its account was ${accounts.at(-1)?.status ?? 'deleted'}`);
  }

  #limits(tenant: string, task: Task, workers: readonly Worker[], askedMs: number): void {
    const { tasks, documents, staleMs, defaults, report } = this.#parts;
    const running = [...tasks.of(tenant).values()].filter(({ status }) => status === 'running');
    const ofWorker = running.filter(({ workerId }) => workerId === task.workerId);
    const most = (values: readonly (number | null | undefined)[]) =>
      Math.max(0, ...values.map(value => value ?? Number.POSITIVE_INFINITY));
    const concurrency = most(workers.map(worker => worker.concurrency));
    if (ofWorker.length > concurrency)
      report(
        'limits hold',
        `${ofWorker.length} tasks of ${task.worker} run, ${concurrency} are allowed (${task.id})`,
      );
    if (task.group !== null) {
      const inGroup = ofWorker.filter(({ group }) => group === task.group).length;
      const allowed = most(workers.map(worker => worker.groups?.concurrency));
      if (inGroup > allowed)
        report(
          'limits hold',
          `${inGroup} tasks of the group ${task.group} run, ${allowed} are allowed (${task.id})`,
        );
    }
    const accounts = documents.within(tenant, 'account', 'account', askedMs - staleMs());
    const inFlight = most(accounts.map(body => body?.limits.inFlight ?? defaults.inFlight));
    if (running.length > inFlight)
      report('limits hold', `${running.length} tasks of ${tenant} run, ${inFlight} are allowed (${task.id})`);
  }

  /** With `fifo`, the first waiting task of a group starts first. */
  #order(tenant: string, task: Task, workers: readonly Worker[], at: number): void {
    if (task.group === null || workers.length === 0 || !workers.every(({ groups }) => groups?.fifo === true))
      return;
    for (const other of this.#parts.tasks.of(tenant).values()) {
      if (other.group !== task.group || other.workerId !== task.workerId || other.dueAt === null) continue;
      if (other.status !== 'scheduled' && other.status !== 'retry') continue;
      if (other.expiresAt !== null && other.expiresAt <= at) continue;
      const isFirst = other.runAt < task.runAt || (other.runAt === task.runAt && other.id < task.id);
      if (isFirst)
        this.#parts.report(
          'groups keep their order',
          `${task.id} started before ${other.id} of ${task.group}`,
        );
    }
  }
}
