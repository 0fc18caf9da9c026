import { backoffMs } from '../../../base/backoff.ts';
import { recentlyUsed } from '../../../base/collections/recently-used.ts';
import { asError } from '../../../base/fault.ts';
import { isOutage } from '../health/store-outage.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import type { DueDocument, Job } from './due-work.ts';

const RETRIES = { initialMs: 250, maxMs: 30_000 };
/** Those beyond it are retried without a delay. */
const MAX_DOCUMENTS = 10_000;
/** Each tenant has at most one line in the log in this time: many documents may fail for the same reason. */
const LINE_EVERY_MS = 10_000;
const MAX_TENANTS = 1_000;

interface Failing {
  readonly failures: number;
  /** Until when the document is left alone. */
  readonly untilMs: number;
  readonly isTold: boolean;
}

/**
 * Due documents whose work fails although the store is available. Each has a backoff of its own, so it does not keep other
 * documents from being handled. A changed document is tried at once.
 */
export class FailingDocuments {
  readonly #thread: ThreadPart<never, 'clock' | 'random' | 'logger'>;
  readonly #failing = recentlyUsed<string, Failing>(MAX_DOCUMENTS);
  /** When each tenant had a line. */
  readonly #toldMs = recentlyUsed<string, number>(MAX_TENANTS);

  constructor(thread: ThreadPart<never, 'clock' | 'random' | 'logger'>) {
    this.#thread = thread;
  }

  /** Whether the last attempt to handle this version of the document has failed. */
  has(due: DueDocument): boolean {
    return this.#failing.size > 0 && this.#failing.has(keyOf(due));
  }

  /** Whether the document is left alone for now. */
  isWaiting(due: DueDocument): boolean {
    const leftMs = (this.#failing.get(keyOf(due))?.untilMs ?? 0) - this.#thread.clock.nowMs();
    // A clock that is set back must not make it last.
    return leftMs > 0 && leftMs <= RETRIES.maxMs;
  }

  /** None of the documents was handled. */
  failed({ tenant, documents }: Job, failure: unknown): void {
    for (const document of documents) this.#failedOne({ tenant, document }, documents.length === 1, failure);
  }

  /**
   * Logs the failure once it is certain that it is due to this document: if it has failed alone, and not only once if the
   * store has failed, because that may have been a short disturbance.
   */
  #failedOne(due: DueDocument, isAlone: boolean, failure: unknown): void {
    const { clock, random, logger } = this.#thread;
    const { failures = 0, isTold = false } = this.#failing.get(keyOf(due)) ?? {};
    const isCertain = isAlone && (failures > 0 || !isOutage(failure));
    const sinceMs = Math.abs(clock.nowMs() - (this.#toldMs.get(due.tenant) ?? Number.NEGATIVE_INFINITY));
    const isToTell = !isTold && isCertain && sinceMs >= LINE_EVERY_MS;
    if (isToTell) {
      this.#toldMs.set(due.tenant, clock.nowMs());
      // A node of a cluster can be away, which is no fault of this program.
      const level = isOutage(failure) ? 'warning' : 'error';
      logger[level](
        'Could not handle a due document, although the task store is available; retrying less and less often',
        { ...fieldsOf(due), reason: asError(failure).message },
      );
    }
    this.#failing.set(keyOf(due), {
      failures: failures + 1,
      untilMs: clock.nowMs() + backoffMs(RETRIES, failures, random),
      isTold: isTold || isToTell,
    });
  }

  /** The documents were handled. */
  succeeded({ tenant, documents }: Job): void {
    if (this.#failing.size === 0) return;
    for (const document of documents) {
      const due = { tenant, document };
      const isTold = this.#failing.get(keyOf(due))?.isTold === true;
      this.#failing.delete(keyOf(due));
      if (isTold) this.#thread.logger.info('A due document that had failed was handled', fieldsOf(due));
    }
  }
}

function fieldsOf({ tenant, document: { kind, id } }: DueDocument): Record<string, string> {
  return { tenant, kind, id };
}

function keyOf({ tenant, document: { kind, id, version } }: DueDocument): string {
  return `${tenant}\n${kind}\n${id}\n${version}`;
}
