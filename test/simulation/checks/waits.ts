import type { KnownDocuments } from './known-documents.ts';
import type { TaskChanged } from './known-tasks.ts';
import type { Report } from './violations.ts';

interface WaitParts {
  readonly documents: KnownDocuments;
  /** Whether anything went wrong from this time of the history on. */
  readonly wasTroubled: (fromMs: number) => boolean;
  /** How many pushes a process makes at the same time. */
  readonly slots: number;
  /** How long messages may take in all while something is done. */
  readonly messagesMs: number;
  readonly nowMs: () => number;
  readonly report: Report;
}

/** A task of a worker without limits starts within this while nothing is wrong, whatever other tenants do. */
const LONGEST_MS = 3_000;
/** Trouble has effects for so long. */
const AFTERMATH_MS = 30_000;
/** With fewer slots, none is reserved for tenants with nothing in progress. */
const FEWEST_SLOTS = 16;
/** A tenant with more tasks that wait is not a light one. */
const MOST_WAITING = 3;

/** A callback is created, and a schedule fires, within this while nothing is wrong. */
const PROMPT_MS = 2_000;

/** Whether tenants with little to do wait for those with much. */
export class WaitChecks {
  readonly #parts: WaitParts;
  /** By tenant and worker: until when it is left alone, by the clock of the store. */
  readonly #alone = new Map<string, number>();
  /** By tenant: how many tasks wait and are due, or run. */
  readonly #lastBusyMs = new Map<string, number>();

  constructor(parts: WaitParts) {
    this.#parts = parts;
  }

  /** A worker may have asked to be left alone. */
  ended({ tenant, after, leaseId, happened: { operation, at } }: TaskChanged): void {
    if (operation.name !== 'settle' || leaseId === null || after === null) return;
    const { throttleMs } = operation.args[1].find(each => each.leaseId === leaseId)!;
    const name = `${tenant}\n${after.workerId}`;
    if (throttleMs > 0) this.#alone.set(name, Math.max(at + throttleMs, this.#alone.get(name) ?? 0));
  }

  /** A task was created by a schedule or by the end of another task, which had its time. */
  created({ tenant, after, happened: { at } }: TaskChanged, endedAt: number | null): void {
    const { documents, wasTroubled, nowMs, messagesMs, report } = this.#parts;
    const from = nowMs() - AFTERMATH_MS;
    if (after === null || wasTroubled(from)) return;
    // What could not be created is tried again each minute.
    const accounts = documents.versions(tenant, 'account', 'account');
    if (accounts.some(({ body }) => body?.status !== 'active' || body.limits.openTasks !== undefined)) return;
    const { createdBy, scheduledFor, id, scheduleId } = after;
    const schedule = scheduleId === null ? null : documents.now(tenant, 'schedule', scheduleId);
    const dueAt = createdBy.type === 'schedule' ? scheduledFor! + (schedule?.jitterMs ?? 0) : endedAt;
    const isOld = createdBy.type === 'schedule' && this.#wasChanged(tenant, scheduleId!, from);
    if (dueAt !== null && !isOld && at > dueAt + PROMPT_MS + messagesMs)
      report(
        'no one waits for ever',
        `${id} of ${createdBy.type} ${createdBy.id} was created ${at - dueAt} ms late`,
      );
  }

  /** A person may have resumed the schedule only now. */
  #wasChanged(tenant: string, scheduleId: string, fromMs: number): boolean {
    const versions = this.#parts.documents.within(tenant, 'schedule', scheduleId, fromMs);
    return versions.some(body => body === null || body.paused);
  }

  /** @param open how many tasks of the tenant are open */
  started({ tenant, before, after, happened: { at } }: TaskChanged, open: number): void {
    const { documents, wasTroubled, slots, nowMs, messagesMs, report } = this.#parts;
    const now = nowMs();
    if (open > MOST_WAITING) this.#lastBusyMs.set(tenant, now);
    if (slots < FEWEST_SLOTS || before === null || after === null || before.dueAt === null) return;
    const alone = this.#alone.get(`${tenant}\n${after.workerId}`) ?? 0;
    const waitedMs = at - Math.max(before.dueAt, before.updatedAt, alone);
    if (waitedMs <= LONGEST_MS + messagesMs) return;
    const from = now - waitedMs - AFTERMATH_MS;
    if (wasTroubled(from) || (this.#lastBusyMs.get(tenant) ?? Number.NEGATIVE_INFINITY) > from) return;
    const workers = documents.within(tenant, 'worker', after.workerId, from);
    const isFree = workers.every(
      worker =>
        worker !== null &&
        worker.mode === 'push' &&
        !worker.paused &&
        worker.rate === null &&
        (worker.limit ?? null) === null &&
        (worker.groups ?? null) === null &&
        (worker.concurrency ?? MOST_WAITING) >= MOST_WAITING,
    );
    const accounts = documents.within(tenant, 'account', 'account', from);
    if (!isFree || accounts.some(body => body?.status !== 'active')) return;
    report(
      'no one waits for ever',
      `${after.id} of ${tenant} waited ${waitedMs} ms, and nothing kept it from starting`,
    );
  }
}
