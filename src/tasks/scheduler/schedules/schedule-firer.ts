import { backoffMs } from '../../../base/backoff.ts';
import type { Timer } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import { forEachLimited } from '../../../base/for-each-limited.ts';
import type { Service } from '../../../base/lifecycle.ts';
import type { DocumentKind } from '../../model/documents.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { isOutage } from '../health/store-outage.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import { type DeletingThread, deleteSome, lookAtRemoval } from '../upkeep/deletions.ts';
import { type CallbackThread, createCallbacks } from './callbacks.ts';
import { type FiringThread, type ScheduleCounters, ScheduleWriter } from './schedule-writer.ts';

/** What the work for due documents uses of its thread. */
type DueWorkThread = FiringThread & CallbackThread & DeletingThread & ThreadPart<'remove'>;

/** The document of a worker is due: it is to be resumed. The document must not be due afterwards. */
type WorkerDue = (tenant: string, workerId: string) => Promise<void>;

type FirerThread = DueWorkThread & ThreadPart<'dueDocuments', 'clock' | 'random'>;

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
  readonly #thread: FirerThread;
  readonly #work: DueWork;
  #unlisten: (() => void) | null = null;
  #timer: Timer | null = null;
  #looking: Promise<void> | null = null;
  /** A schedule became due while the store was read. */
  #again = false;
  /** Since the last success. */
  #failures = 0;
  /** The tenant at which the last answer of the store ended: the next one starts with the tenants that follow. */
  #lastTenant: string | null = null;

  constructor(thread: FirerThread, counters: ScheduleCounters, workerDue: WorkerDue) {
    this.#thread = thread;
    this.#work = new DueWork(thread, counters, workerDue);
  }

  async start(): Promise<void> {
    if (this.#unlisten !== null) return;
    this.#unlisten = this.#thread.signals.listen({
      scheduleDue: (_tenant, _id, at) => {
        if (at !== null && at <= this.#thread.clock.nowMs()) this.#nudge();
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
      if (!this.#stopped) this.#timer = this.#thread.clock.after(waitMs, () => this.#look());
    });
  }

  /** Never rejects. @returns how long to wait before the next time */
  async #lookOnce(): Promise<number> {
    const { logger, random } = this.#thread;
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
    return LOOK_EVERY_MS - (this.#thread.clock.nowMs() % LOOK_EVERY_MS);
  }

  /** @returns whether to look again at once, because documents were due and some were handled */
  async #pass(): Promise<boolean> {
    const { store } = this.#thread;
    const due = await store.dueDocuments(DOCUMENTS_AT_ONCE, this.#lastTenant);
    if (due.length === 0) return false;
    this.#lastTenant = due[due.length - 1].tenant;
    const now = await store.now();
    let moved = 0;
    const jobs = due.flatMap(({ tenant, document }) => this.#work.jobOf(tenant, document) ?? []);
    for (const [tenant, batch] of batchesOf(due, 'schedule')) {
      jobs.push(async () => {
        moved += await this.#work.fire(tenant, batch, now);
      });
    }
    for (const [tenant, batch] of batchesOf(due, 'audit')) jobs.push(() => this.#work.forget(tenant, batch));
    for (const [tenant, batch] of batchesOf(due, 'callback')) {
      jobs.push(async () => {
        moved += await this.#work.createCallbacks(tenant, batch, now);
      });
    }
    await forEachLimited(jobs, JOBS_AT_ONCE, job => job());
    // More documents may be due even if few were read, because large documents come in smaller numbers.
    return moved > 0;
  }
}

/** The work for due documents, by their kind. */
class DueWork {
  readonly #thread: DueWorkThread;
  readonly #writer: ScheduleWriter;
  readonly #workerDue: WorkerDue;

  constructor(thread: DueWorkThread, counters: ScheduleCounters, workerDue: WorkerDue) {
    this.#thread = thread;
    this.#writer = new ScheduleWriter(thread, counters);
    this.#workerDue = workerDue;
  }

  /** @returns how many of the schedules have moved on */
  fire(tenant: string, schedules: readonly StoredDocument<'schedule'>[], now: number): Promise<number> {
    return this.#writer.fire(tenant, schedules, now);
  }

  /** @returns how many of the callbacks are not due any more */
  createCallbacks(
    tenant: string,
    callbacks: readonly StoredDocument<'callback'>[],
    now: number,
  ): Promise<number> {
    return createCallbacks(this.#thread, tenant, callbacks, now);
  }

  /** Deletes expired entries of the audit log. If another process has deleted one of them, the others are still due. */
  async forget(tenant: string, entries: readonly StoredDocument<'audit'>[]): Promise<void> {
    const deletions = entries.map(({ kind, id }) => ({ op: 'delete', kind, id, expect: 'any' }) as const);
    await this.#thread.store.apply(tenant, deletions);
  }

  /** Null for kinds of documents that are handled in batches. */
  jobOf(tenant: string, document: StoredDocument): Job | null {
    const { store } = this.#thread;
    switch (document.kind) {
      case 'worker':
        return () => this.#workerDue(tenant, document.id);
      case 'removal':
        return () => lookAtRemoval(store, tenant, document as StoredDocument<'removal'>);
      case 'account':
        return () => deleteSome(this.#thread, tenant, document as StoredDocument<'account'>);
      default:
        return null;
    }
  }
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
