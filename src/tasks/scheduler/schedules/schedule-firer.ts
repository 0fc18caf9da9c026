import { backoffMs } from '../../../base/backoff.ts';
import type { Timer } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import { forEachLimited } from '../../../base/for-each-limited.ts';
import type { Service } from '../../../base/lifecycle.ts';
import { isOutage } from '../health/store-outage.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import {
  type DueDocument,
  DueWork,
  type DueWorkThread,
  type Job,
  jobsOf,
  type WorkerDue,
} from './due-work.ts';
import { FailingDocuments } from './failing-documents.ts';
import type { ScheduleCounters } from './schedule-writer.ts';

type FirerThread = DueWorkThread & ThreadPart<'dueDocuments' | 'ping', 'clock' | 'random'>;

/**
 * Maximum delay until a due schedule is noticed. The store is read at full quarters of a second, and nominal times are full
 * seconds, so a read coincides with each of them.
 */
const LOOK_EVERY_MS = 250;
/** Maximum number of documents in one read: each may contain a payload. */
const DOCUMENTS_AT_ONCE = 500;
const JOBS_AT_ONCE = 32;
const RETRIES = { initialMs: 250, maxMs: 5_000 };

/**
 * Creates the tasks of due schedules. It reads all due documents from the store, so it handles the other kinds as well:
 * callbacks (`callbacks.ts`), workers that are to resume, expired entries of the audit log, tasks that wait for their
 * removal, and accounts that are being deleted (`upkeep/deletions.ts`).
 *
 * Each schedule moves on in the step that creates its task, and only from the version that was read. So any number of
 * processes may do this, and a crash at any moment leaves a schedule that either has fired or is still due.
 *
 * While the store is unavailable, everything pauses. A failure that concerns only some documents does not delay others
 * (`failing-documents.ts`).
 */
export class ScheduleFirer implements Service {
  readonly name = 'schedules';
  readonly #thread: FirerThread;
  readonly #work: DueWork;
  readonly #failing: FailingDocuments;
  #unlisten: (() => void) | null = null;
  #timer: Timer | null = null;
  #looking: Promise<void> | null = null;
  /** The question whether the store is available. */
  #pinging: Promise<void> | null = null;
  /** A schedule became due while the store was read. */
  #again = false;
  /** Since the last success. */
  #failures = 0;
  /** The tenant at which the last answer of the store ended: the next one starts with the tenants that follow. */
  #lastTenant: string | null = null;

  constructor(thread: FirerThread, counters: ScheduleCounters, workerDue: WorkerDue) {
    this.#thread = thread;
    this.#work = new DueWork(thread, counters, workerDue);
    this.#failing = new FailingDocuments(thread);
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
    this.#failing.begin();
    let moved = 0;
    const run = async (job: Job | DueDocument): Promise<void> => {
      // After a success of another one, a document may have to be tried together with others again.
      if ('document' in job && !this.#failing.isAlone(job)) return;
      const whole = 'document' in job ? { tenant: job.tenant, documents: [job.document] } : job;
      moved += await this.#do(whole, now);
    };
    await forEachLimited(this.#jobsOf(due), JOBS_AT_ONCE, run, 'stop');
    // More documents may be due even if few were read, because large documents come in smaller numbers.
    return moved > 0;
  }

  /** Documents that have failed are tried alone, after the others. */
  #jobsOf(due: readonly DueDocument[]): readonly (Job | DueDocument)[] {
    const ready = due.filter(each => !this.#failing.isWaiting(each));
    const alone = ready.filter(each => this.#failing.isAlone(each));
    const others = alone.length === 0 ? ready : ready.filter(each => !this.#failing.isAlone(each));
    return [...jobsOf(others), ...alone];
  }

  /**
   * @returns how many of the documents are not due any more, as far as this is counted
   * @throws (rejects with) Fault when the store is unavailable
   */
  async #do(job: Job, now: number): Promise<number> {
    try {
      const moved = await this.#work.do(job, now);
      this.#failing.succeeded(job);
      return moved;
    } catch (failure) {
      if (isOutage(failure)) await this.#ping();
      await this.#failing.failed(job, failure, now);
      return 0;
    }
  }

  /** Jobs that fail together ask together. */
  #ping(): Promise<void> {
    this.#pinging ??= this.#thread.store.ping().finally(() => {
      this.#pinging = null;
    });
    return this.#pinging;
  }
}
