import type { KnownDocuments } from './known-documents.ts';
import type { TaskChanged } from './known-tasks.ts';
import type { Report } from './violations.ts';

interface WaitParts {
  readonly documents: KnownDocuments;
  /** Whether anything went wrong from this time of the history on. */
  readonly wasTroubled: (fromMs: number) => boolean;
  /** How many pushes a process makes at the same time. */
  readonly slots: number;
  readonly nowMs: () => number;
  readonly report: Report;
}

/** A task of a worker without limits starts within this while nothing is wrong, whatever other tenants do. */
const LONGEST_MS = 10_000;
/** Trouble has effects for so long. */
const AFTERMATH_MS = 30_000;
/** With fewer slots, none is reserved for tenants with nothing in progress. */
const FEWEST_SLOTS = 16;
/** A tenant with more tasks that wait is not a light one. */
const MOST_WAITING = 3;

/** Whether tenants with little to do wait for those with much. */
export class WaitChecks {
  readonly #parts: WaitParts;
  /** By tenant: how many tasks wait and are due, or run. */
  readonly #lastBusyMs = new Map<string, number>();

  constructor(parts: WaitParts) {
    this.#parts = parts;
  }

  /** @param open how many tasks of the tenant are open */
  started({ tenant, before, after, happened: { at } }: TaskChanged, open: number): void {
    const { documents, wasTroubled, slots, nowMs, report } = this.#parts;
    const now = nowMs();
    if (open > MOST_WAITING) this.#lastBusyMs.set(tenant, now);
    if (slots < FEWEST_SLOTS || before === null || after === null || before.dueAt === null) return;
    const waitedMs = at - Math.max(before.dueAt, before.updatedAt);
    if (waitedMs <= LONGEST_MS) return;
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
