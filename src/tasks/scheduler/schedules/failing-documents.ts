import { backoffMs } from '../../../base/backoff.ts';
import { recentlyUsed } from '../../../base/collections/recently-used.ts';
import { asError } from '../../../base/fault.ts';
import { putAgain } from '../../store/put-document.ts';
import { isOutage } from '../health/store-outage.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import type { DueDocument, Job } from './due-work.ts';

const RETRIES = { initialMs: 250, maxMs: 30_000 };
/** Those beyond it are retried without a delay. */
const MAX_DOCUMENTS = 10_000;
/** Each tenant has at most one line in the log in this time: many documents may fail for the same reason. */
const LINE_EVERY_MS = 10_000;
const MAX_TENANTS = 1_000;

type FailingThread = ThreadPart<'apply', 'clock' | 'random' | 'logger'>;

interface Failing {
  readonly failures: number;
  /** The version that was tried or, if the document was put off, the next one. */
  readonly version: number;
  /** Until when this version is left alone. */
  readonly untilMs: number;
  readonly isTold: boolean;
}

/**
 * Due documents whose work fails although the store is available. Each has a backoff of its own, so it does not keep other
 * documents from being handled. A changed document is tried at once.
 *
 * A document that has failed alone is put off in the store: its due time becomes that of the next attempt. Otherwise such
 * documents could fill every page of due documents, so that those behind them are never read.
 */
export class FailingDocuments {
  readonly #thread: FailingThread;
  readonly #failing = recentlyUsed<string, Failing>(MAX_DOCUMENTS);
  /** When each tenant had a line. */
  readonly #toldMs = recentlyUsed<string, number>(MAX_TENANTS);
  /** Tenants whose documents could not be put off since the last page. */
  readonly #fixed = new Set<string>();

  constructor(thread: FailingThread) {
    this.#thread = thread;
  }

  /** A page of due documents was read. */
  begin(): void {
    this.#fixed.clear();
  }

  /** Whether the last attempt to handle the document has failed. */
  has(due: DueDocument): boolean {
    return this.#failing.size > 0 && this.#failing.has(keyOf(due));
  }

  /** Whether the document is left alone for now. */
  isWaiting(due: DueDocument): boolean {
    const failing = this.#failing.get(keyOf(due));
    if (failing?.version !== due.document.version) return false;
    const leftMs = failing.untilMs - this.#thread.clock.nowMs();
    // A clock that is set back must not make it last.
    return leftMs > 0 && leftMs <= RETRIES.maxMs;
  }

  /**
   * None of the documents was handled. Never rejects.
   *
   * @param now by the store's clock
   */
  async failed({ tenant, documents }: Job, failure: unknown, now: number): Promise<void> {
    const isAlone = documents.length === 1;
    for (const document of documents) {
      const due = { tenant, document };
      const failures = this.#failing.get(keyOf(due))?.failures ?? 0;
      // If the store has failed, once may have been a short disturbance.
      const isCause = isAlone && (failures > 0 || !isOutage(failure));
      const waitMs = this.#failedOne(due, isCause, failure);
      if (isCause) await this.#putOff(due, now + waitMs);
    }
  }

  /**
   * @param isCause whether the failure is probably due to this document, so that it is logged
   * @returns how long the document is left alone
   */
  #failedOne(due: DueDocument, isCause: boolean, failure: unknown): number {
    const { clock, random } = this.#thread;
    const { failures = 0, isTold = false } = this.#failing.get(keyOf(due)) ?? {};
    const waitMs = backoffMs(RETRIES, failures, random);
    this.#failing.set(keyOf(due), {
      failures: failures + 1,
      version: due.document.version,
      untilMs: clock.nowMs() + waitMs,
      isTold: isTold || (isCause && this.#tell(due, failure)),
    });
    return waitMs;
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
   * If the store does not accept this either, the document stays due.
   */
  async #putOff(due: DueDocument, dueAt: number): Promise<void> {
    const { tenant, document } = due;
    if (this.#fixed.has(tenant)) return;
    try {
      const applied = await this.#thread.store.apply(tenant, [putAgain(document, document.body, { dueAt })]);
      const failing = this.#failing.get(keyOf(due));
      if (applied.kind !== 'done' || failing === undefined) return;
      this.#failing.set(keyOf(due), { ...failing, version: applied.versions[0] });
    } catch {
      // Most likely for the same reason, so the other documents of the tenant are not tried as well.
      this.#fixed.add(tenant);
    }
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

function keyOf({ tenant, document: { kind, id } }: DueDocument): string {
  return `${tenant}\n${kind}\n${id}`;
}
