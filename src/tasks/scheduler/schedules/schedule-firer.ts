import { backoffMs } from '../../../base/backoff.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import { forEachLimited } from '../../../base/for-each-limited.ts';
import type { Service } from '../../../base/lifecycle.ts';
import type { Logger } from '../../../base/logger.ts';
import type { DocumentKind } from '../../model/documents.ts';
import type { Signals } from '../../model/signals.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { isOutage } from '../health/store-outage.ts';
import { type AccountDeletionParts, deleteSome, lookAtRemoval } from '../upkeep/deletions.ts';
import { type CallbackParts, createCallbacks } from './callbacks.ts';
import { ScheduleWriter, type ScheduleWriterParts } from './schedule-writer.ts';

interface ScheduleFirerParts {
  readonly store: Pick<TaskStore, 'dueDocuments' | 'now'>;
  readonly signals: Signals;
  readonly work: DueWork;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly logger: Logger;
}

interface DueWorkParts {
  readonly store: Pick<TaskStore, 'apply' | 'remove' | 'now'> & AccountDeletionParts['store'];
  readonly signals: Signals;
  readonly writer: ScheduleWriter;
  readonly callbacks: CallbackParts;
  /** The document of a worker is due: it is to be resumed. The document must not be due afterwards. */
  readonly workerDue: (tenant: string, workerId: string) => Promise<void>;
}

/**
 * Maximum delay until a due schedule is noticed. The store is read at full quarters of a second, and nominal times are full
 * seconds, so a read coincides with each of them.
 */
const LOOK_EVERY_MS = 250;
/** Maximum number of documents in one read: each may contain a payload. */
const DOCUMENTS_AT_ONCE = 500;
/** Schedules, callbacks or entries of the audit log of one tenant that are written together. */
const BATCH = 100;
const JOBS_AT_ONCE = 32;
const RETRIES = { initialMs: 250, maxMs: 5_000 };

/** A unit of work: schedules or callbacks of one tenant, or one other document. */
type Job = () => Promise<void>;

/**
 * Creates the tasks of due schedules. It reads all due documents from the store, so it handles the other kinds as well:
 * callbacks (`callbacks.ts`), workers that are to resume, expired entries of the audit log, tasks that wait for their
 * removal, and accounts that are being deleted (`upkeep/deletions.ts`).
 *
 * Each schedule moves on in the step that creates its task, and only from the version that was read. So any number of
 * processes may do this, and a crash at any moment leaves a schedule that either has fired or is still due.
 */
export class ScheduleFirer implements Service {
  readonly name = 'schedules';
  readonly #parts: ScheduleFirerParts;
  #unlisten: (() => void) | null = null;
  #timer: Timer | null = null;
  #looking: Promise<void> | null = null;
  /** A schedule became due while the store was read. */
  #again = false;
  /** Since the last success. */
  #failures = 0;
  /** The tenant at which the last answer of the store ended: the next one starts with the tenants that follow. */
  #lastTenant: string | null = null;

  constructor(parts: ScheduleFirerParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    if (this.#unlisten !== null) return;
    this.#unlisten = this.#parts.signals.listen({
      scheduleDue: (_tenant, _id, at) => {
        if (at !== null && at <= this.#parts.clock.nowMs()) this.#nudge();
      },
    });
    this.#look();
  }

  /** Resolves when the work in progress is written. */
  async stop(): Promise<void> {
    this.#unlisten?.();
    this.#unlisten = null;
    this.#timer?.cancel();
    this.#timer = null;
    await this.#looking;
  }

  get #stopped(): boolean {
    return this.#unlisten === null;
  }

  /** Looks now, unless the store needs a pause. */
  #nudge(): void {
    if (this.#looking !== null) {
      this.#again = true;
    } else if (this.#failures === 0) {
      this.#timer?.cancel();
      this.#look();
    }
  }

  #look(): void {
    this.#timer = null;
    this.#looking = this.#lookOnce().then(waitMs => {
      this.#looking = null;
      if (!this.#stopped) this.#timer = this.#parts.clock.after(waitMs, () => this.#look());
    });
  }

  /** Never rejects. @returns how long to wait before the next time */
  async #lookOnce(): Promise<number> {
    const { logger, random } = this.#parts;
    try {
      let more: boolean;
      do {
        this.#again = false;
        more = await this.#pass();
      } while (!this.#stopped && (more || this.#again));
    } catch (failure) {
      const reason = asError(failure).message;
      if (this.#failures === 0) {
        // Outages of the store have their own log lines.
        const level = isOutage(failure) ? 'info' : 'error';
        logger[level]('Schedules are paused because the task store is unavailable', { reason });
      }
      return backoffMs(RETRIES, this.#failures++, random);
    }
    if (this.#failures > 0) logger.info('Schedules have resumed');
    this.#failures = 0;
    return LOOK_EVERY_MS - (this.#parts.clock.nowMs() % LOOK_EVERY_MS);
  }

  /** @returns whether to look again at once, because documents were due and some were handled */
  async #pass(): Promise<boolean> {
    const { store, work } = this.#parts;
    const due = await store.dueDocuments(DOCUMENTS_AT_ONCE, this.#lastTenant);
    if (due.length === 0) return false;
    this.#lastTenant = due[due.length - 1].tenant;
    const now = await store.now();
    let moved = 0;
    const jobs = due.flatMap(({ tenant, document }) => work.jobOf(tenant, document) ?? []);
    for (const [tenant, batch] of batchesOf(due, 'schedule')) {
      jobs.push(async () => {
        moved += await work.fire(tenant, batch, now);
      });
    }
    for (const [tenant, batch] of batchesOf(due, 'audit')) jobs.push(() => work.forget(tenant, batch));
    for (const [tenant, batch] of batchesOf(due, 'callback')) {
      jobs.push(async () => {
        moved += await work.createCallbacks(tenant, batch, now);
      });
    }
    await forEachLimited(jobs, JOBS_AT_ONCE, job => job());
    // More documents may be due even if few were read, because large documents come in smaller numbers.
    return moved > 0;
  }
}

/** The work for due documents, by their kind. */
class DueWork {
  readonly #parts: DueWorkParts;

  constructor(parts: DueWorkParts) {
    this.#parts = parts;
  }

  /** @returns how many of the schedules have moved on */
  fire(tenant: string, schedules: readonly StoredDocument<'schedule'>[], now: number): Promise<number> {
    return this.#parts.writer.fire(tenant, schedules, now);
  }

  /** @returns how many of the callbacks are not due any more */
  createCallbacks(
    tenant: string,
    callbacks: readonly StoredDocument<'callback'>[],
    now: number,
  ): Promise<number> {
    return createCallbacks(this.#parts.callbacks, tenant, callbacks, now);
  }

  /** Deletes expired entries of the audit log. If another process has deleted one of them, the others are still due. */
  async forget(tenant: string, entries: readonly StoredDocument<'audit'>[]): Promise<void> {
    const deletions = entries.map(({ kind, id }) => ({ op: 'delete', kind, id, expect: 'any' }) as const);
    await this.#parts.store.apply(tenant, deletions);
  }

  /** Null for kinds of documents that are handled in batches. */
  jobOf(tenant: string, document: StoredDocument): Job | null {
    const { store, workerDue } = this.#parts;
    switch (document.kind) {
      case 'worker':
        return () => workerDue(tenant, document.id);
      case 'removal':
        return () => lookAtRemoval(store, tenant, document as StoredDocument<'removal'>);
      case 'account':
        return () => deleteSome(this.#parts, tenant, document as StoredDocument<'account'>);
      default:
        return null;
    }
  }
}

/** Creates a {@link ScheduleFirer} with its work. */
export function scheduleFirer(
  parts: ScheduleWriterParts &
    CallbackParts &
    Pick<ScheduleFirerParts, 'store' | 'clock' | 'random'> &
    Pick<DueWorkParts, 'store' | 'workerDue'>,
): ScheduleFirer {
  const { store, signals, clock, random, logger, workerDue } = parts;
  const writer = new ScheduleWriter(parts);
  const work = new DueWork({ store, signals, writer, callbacks: parts, workerDue });
  return new ScheduleFirer({ store, signals, work, clock, random, logger });
}

/** The documents of a kind, up to {@link BATCH} of one tenant at a time. */
function batchesOf<K extends DocumentKind>(
  due: readonly { readonly tenant: string; readonly document: StoredDocument }[],
  kind: K,
): [tenant: string, batch: StoredDocument<K>[]][] {
  const ofTenants = new Map<string, StoredDocument<K>[]>();
  const batches: [string, StoredDocument<K>[]][] = [];
  for (const { tenant, document } of due) {
    if (document.kind !== kind) continue;
    let batch = ofTenants.get(tenant);
    if (batch === undefined || batch.length === BATCH) {
      batch = [];
      ofTenants.set(tenant, batch);
      batches.push([tenant, batch]);
    }
    batch.push(document as StoredDocument<K>);
  }
  return batches;
}
