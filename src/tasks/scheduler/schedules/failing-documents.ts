import { backoffMs } from '../../../base/backoff.ts';
import { recentlyUsed } from '../../../base/collections/recently-used.ts';
import { asError, Fault } from '../../../base/fault.ts';
import { putAgain } from '../../store/put-document.ts';
import { isOutage } from '../health/store-outage.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import type { DueDocument, Job } from './due-work.ts';

const RETRIES = { initialMs: 250, maxMs: 5_000 };
/** For documents that are themselves the cause. */
const CAUSE_RETRIES = { initialMs: 250, maxMs: 30_000 };
/** Those beyond it are retried without a delay. */
const MAX_DOCUMENTS = 10_000;
/** Each tenant has at most one line in the log in this time: many documents may fail for the same reason. */
const LINE_EVERY_MS = 10_000;
const MAX_TENANTS = 1_000;

type FailingThread = ThreadPart<'apply', 'clock' | 'random' | 'logger'>;

/**
 * Why a document fails, as far as this is known:
 *
 * - `queue`: the queue of the store was full, which is not due to a document
 * - `store`: perhaps a disturbance of the store; the next success of the tenant ends it
 * - `unknown`: it was no such disturbance, or was not the only cause
 * - `document`: the document itself
 */
type Cause = 'queue' | 'store' | 'unknown' | 'document';

interface Failing {
  readonly cause: Cause;
  /** The last success, of any tenant, before the failure. */
  readonly afterSuccess: number;
  readonly failures: number;
  /** The version that was tried or, if the document was put off, the next one. */
  readonly version: number;
  /** Until when this version is left alone. */
  readonly untilMs: number;
  readonly isTold: boolean;
}

interface Attempt {
  readonly failure: unknown;
  /** No other document was handled in the same step. */
  readonly isOnly: boolean;
  /** The failure is probably due to the document. */
  readonly isCause: boolean;
  /** A random number from 0 to below 1. */
  readonly drawn: number;
}

/**
 * Due documents whose work fails although the store is available. Each is tried alone and has a backoff of its own, so it does
 * not keep other documents from being handled. A changed document is tried at once. After a disturbance of the store, one
 * success of a tenant is enough for its other documents to be handled together again.
 *
 * A document that has failed alone is put off in the store: its due time becomes that of the next attempt. Otherwise such
 * documents could fill every page of due documents, so that those behind them are never read.
 */
export class FailingDocuments {
  readonly #thread: FailingThread;
  readonly #failing = recentlyUsed<string, Failing>(MAX_DOCUMENTS);
  /** When each tenant had a line. */
  readonly #toldMs = recentlyUsed<string, number>(MAX_TENANTS);
  /** The last success of each tenant, while documents fail. */
  readonly #successOf = recentlyUsed<string, number>(MAX_TENANTS);
  #successes = 0;
  /** Tenants whose documents could not be put off since the last page. */
  readonly #fixed = new Set<string>();

  constructor(thread: FailingThread) {
    this.#thread = thread;
  }

  /** A page of due documents was read. */
  begin(): void {
    this.#fixed.clear();
  }

  /** Whether the document is to be tried alone. */
  isAlone(due: DueDocument): boolean {
    const failing = this.#of(due);
    return failing !== undefined && failing.cause !== 'queue';
  }

  /** Whether the document is left alone for now. */
  isWaiting(due: DueDocument): boolean {
    const failing = this.#of(due);
    if (failing?.version !== due.document.version) return false;
    const leftMs = failing.untilMs - this.#thread.clock.nowMs();
    // A clock that is set back must not make it last.
    return leftMs > 0 && leftMs <= CAUSE_RETRIES.maxMs;
  }

  /** Undefined as well if a disturbance of the store is over. */
  #of(due: DueDocument): Failing | undefined {
    if (this.#failing.size === 0) return undefined;
    const failing = this.#failing.get(keyOf(due));
    return failing === undefined || this.#isOver(due, failing) ? undefined : failing;
  }

  #isOver({ tenant }: DueDocument, { cause, afterSuccess }: Failing): boolean {
    return (cause === 'queue' || cause === 'store') && (this.#successOf.get(tenant) ?? 0) > afterSuccess;
  }

  /**
   * None of the documents was handled. Never rejects.
   *
   * @param now by the store's clock
   */
  async failed({ tenant, documents }: Job, failure: unknown, now: number): Promise<void> {
    const isOnly = documents.length === 1;
    // Documents that failed together have the same delay.
    const drawn = this.#thread.random();
    for (const document of documents) {
      const due = { tenant, document };
      const before = this.#failing.get(keyOf(due));
      // If the store has failed, once may have been a short disturbance.
      const isCause = isOnly && !isBusy(failure) && (before !== undefined || !isOutage(failure));
      const waitMs = this.#failedOne(due, { failure, isOnly, isCause, drawn });
      if (isCause) await this.#putOff(due, now + waitMs);
    }
  }

  /** @returns how long the document is left alone */
  #failedOne(due: DueDocument, { failure, isOnly, isCause, drawn }: Attempt): number {
    const before = this.#failing.get(keyOf(due));
    const { failures = 0, isTold = false } = before ?? {};
    const cause = this.#causeOf(due, before, failure, isOnly);
    const waitMs = backoffMs(cause === 'document' ? CAUSE_RETRIES : RETRIES, failures, () => drawn);
    this.#failing.set(keyOf(due), {
      cause,
      afterSuccess: this.#successes,
      failures: failures + 1,
      version: due.document.version,
      untilMs: this.#thread.clock.nowMs() + waitMs,
      isTold: isTold || (isCause && this.#tell(due, failure)),
    });
    return waitMs;
  }

  #causeOf(due: DueDocument, before: Failing | undefined, failure: unknown, isOnly: boolean): Cause {
    if (isBusy(failure)) return this.#of(due)?.cause ?? 'queue';
    if (before?.cause === 'document') return 'document';
    if (!isOutage(failure)) return isOnly ? 'document' : 'unknown';
    if (before === undefined || before.cause === 'queue') return 'store';
    return this.#isOver(due, before) ? 'unknown' : before.cause;
  }

  /** @returns whether there is a line in the log now */
  #tell(due: DueDocument, failure: unknown): boolean {
    const { clock, logger } = this.#thread;
    const sinceMs = Math.abs(clock.nowMs() - (this.#toldMs.get(due.tenant) ?? Number.NEGATIVE_INFINITY));
    if (sinceMs < LINE_EVERY_MS) return false;
    this.#toldMs.set(due.tenant, clock.nowMs());
    // A node of a cluster can be away, which is no fault of this program.
    const level = isOutage(failure) ? 'warning' : 'error';
    logger[level](
      'Could not handle a due document, although the task store is available; retrying less and less often',
      { ...fieldsOf(due), reason: asError(failure).message },
    );
    return true;
  }

  /**
   * Changes only when the document is due. Its times stay as they are, and `catchUp` applies to those that become late.
   * If the store accepts this, it is not the store that fails. Otherwise the document stays due.
   */
  async #putOff(due: DueDocument, dueAt: number): Promise<void> {
    const { tenant, document } = due;
    if (this.#fixed.has(tenant)) return;
    try {
      const applied = await this.#thread.store.apply(tenant, [putAgain(document, document.body, { dueAt })]);
      const failing = this.#failing.get(keyOf(due));
      if (applied.kind !== 'done' || failing === undefined) return;
      this.#failing.set(keyOf(due), { ...failing, cause: 'document', version: applied.versions[0] });
    } catch {
      // Most likely for the same reason, so the other documents of the tenant are not tried as well.
      this.#fixed.add(tenant);
    }
  }

  /** The documents were handled. */
  succeeded({ tenant, documents }: Job): void {
    if (this.#failing.size === 0) return;
    this.#successOf.set(tenant, ++this.#successes);
    for (const document of documents) {
      const due = { tenant, document };
      const isTold = this.#failing.get(keyOf(due))?.isTold === true;
      this.#failing.delete(keyOf(due));
      if (isTold) this.#thread.logger.info('A due document that had failed was handled', fieldsOf(due));
    }
  }
}

/** A full queue says nothing about the documents. */
function isBusy(failure: unknown): boolean {
  return failure instanceof Fault && failure.code === 'overloaded';
}

function fieldsOf({ tenant, document: { kind, id } }: DueDocument): Record<string, string> {
  return { tenant, kind, id };
}

function keyOf({ tenant, document: { kind, id } }: DueDocument): string {
  return `${tenant}\n${kind}\n${id}`;
}
