import type { CreateAnswer } from '../../../src/tasks/store/requests.ts';
import type { Ask } from '../steps/step.ts';
import { type AnsweredCall, idsOf, type Ledger, type RepeatedCall } from '../world/ledger.ts';
import type { Report as PullReport } from '../world/pull-worker.ts';
import type { HappenedOperation } from '../world/store-under-test.ts';
import type { KnownDocuments } from './known-documents.ts';
import type { KnownTasks, TaskChanged } from './known-tasks.ts';
import type { Report } from './violations.ts';

/** How an attempt may end that a pull worker reports so. */
const ENDS: Readonly<Record<PullReport['kind'], readonly string[]>> = {
  complete: ['succeeded'],
  fail: ['attempt_failed', 'no_retry'],
  release: ['released'],
};

/** Calls that create something of which the audit log tells. */
const AUDITED = /^(workers|users|schedules)$|\/(secrets|tokens)$/;

/** Compares what callers were answered with what has happened. */
export class AcknowledgedChecks {
  readonly #tasks: KnownTasks;
  readonly #documents: KnownDocuments;
  /** How many tasks were created for each label, which is part of their payload. */
  readonly #created = new Map<string, number>();
  readonly #canceled = new Set<string>();
  readonly #ids = new Set<string>();
  /** How the attempt of each lease has ended. */
  readonly #ended = new Map<string, string>();

  constructor(tasks: KnownTasks, documents: KnownDocuments) {
    this.#tasks = tasks;
    this.#documents = documents;
  }

  operation({ operation, answer }: HappenedOperation): void {
    if (operation.name !== 'create') return;
    const said = answer as CreateAnswer;
    if (said.kind !== 'done') return;
    const [tenant, request] = operation.args;
    said.results.forEach((result, at) => {
      if (result.kind !== 'created') return;
      const { payload } = request.tasks[at].body;
      const label = payload === null ? undefined : JSON.parse(payload)?.label;
      if (label !== undefined && result.task.scheduleId === null) this.#count(`${tenant} ${label}`);
    });
  }

  #count(label: string): void {
    this.#created.set(label, (this.#created.get(label) ?? 0) + 1);
  }

  heard({ tenant, before, after, by, leaseId }: TaskChanged): void {
    if (leaseId !== null && by !== 'started') this.#ended.set(leaseId, by);
    const id = (after ?? before)!.id;
    this.#ids.add(`${tenant}\n${id}`);
    if (by === 'cancel') this.#canceled.add(`${tenant}\n${id}`);
  }

  finish({ calls, repeats }: Ledger, reports: readonly PullReport[], report: Report): void {
    for (const repeat of repeats) this.#again(repeat, report);
    for (const { taskId, leaseId, kind, status } of reports) {
      const ended = this.#ended.get(leaseId);
      if (status === 200 && (ended === undefined || !ENDS[kind].includes(ended)))
        report(
          'acknowledged writes are kept',
          `${kind} of ${taskId} was answered with 200, and the attempt ended as ${ended}`,
        );
    }
    for (const [label, count] of this.#created) {
      if (count > 1) report('one request has one effect', `the request for ${label} created ${count} tasks`);
    }
    this.#audited(calls, report);
    for (const call of calls) {
      if (this.#documents.account(call.step.tenant)?.status === 'active') this.#compare(call, report);
    }
  }

  /** The audit log lists who has created users, tokens, workers, secrets and schedules. */
  #audited(calls: readonly AnsweredCall[], report: Report): void {
    const recorded = new Set(
      this.#documents
        .all('audit')
        .map(({ tenant, id }) => this.#documents.versions(tenant, 'audit', id)[0].body?.targetId),
    );
    for (const { step, answer } of calls) {
      if (answer?.status !== 201 || !AUDITED.test(step.path) || recorded.has(answer.json.id)) continue;
      report(
        'changes are in the audit log',
        `${answer.json.id} was created with ${step.path}, without an entry`,
      );
    }
  }

  /** The second answer is that of the first time, whatever has become of what was created. */
  #again({ first: { step, answer: first }, answer }: RepeatedCall, report: Report): void {
    // The token may have been revoked since, or the account suspended.
    if (answer === null || answer.status === 401 || answer.status === 403 || answer.status === 404) return;
    if (this.#documents.account(step.tenant)?.status !== 'active') return;
    if (answer.status >= 300 || idsOf(answer).join() !== idsOf(first).join())
      report(
        'one request has one effect',
        `${step.path} was answered with ${idsOf(first)}, and again with ${answer.status} ${answer.json?.code} ${idsOf(answer)}`,
      );
  }

  #compare({ step, answer, taskId }: AnsweredCall, report: Report): void {
    if (answer === null || answer.status >= 300) return;
    const { tenant, path, method } = step;
    for (const id of isCreation(step) ? idsOf(answer) : []) {
      if (id === null) continue;
      const isThere = this.#tasks.of(tenant).has(id) || this.#tasks.wasRemoved(tenant, id);
      if (!isThere || !this.#ids.has(`${tenant}\n${id}`))
        report('acknowledged writes are kept', `the creation of ${id} was answered with ${answer.status}`);
    }
    if (
      path.endsWith('/cancel') &&
      !this.#canceled.has(`${tenant}\n${taskId}`) &&
      answer.json.status !== 'canceled'
    )
      report(
        'acknowledged writes are kept',
        `the cancellation of ${taskId} was answered with ${answer.status}`,
      );
    if (method === 'DELETE' && taskId !== null && answer.status === 204 && this.#tasks.of(tenant).has(taskId))
      report('deleted is gone', `${taskId} was deleted, and is there`);
  }
}

function isCreation({ method, path }: Ask): boolean {
  return method === 'POST' && (path === 'tasks' || path === 'tasks/batch');
}
