import type { DocumentKind } from '../../model/documents.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import { type DeletingThread, deleteSome, lookAtRemoval } from '../upkeep/deletions.ts';
import { type CallbackThread, createCallbacks } from './callbacks.ts';
import { type FiringThread, type ScheduleCounters, ScheduleWriter } from './schedule-writer.ts';

/** What the work for due documents uses of its thread. */
export type DueWorkThread = FiringThread & CallbackThread & DeletingThread & ThreadPart<'remove'>;

/** The document of a worker is due: it is to be resumed. The document must not be due afterwards. */
export type WorkerDue = (tenant: string, workerId: string) => Promise<void>;

/** Schedules, callbacks or entries of the audit log of one tenant that are written together. */
const BATCH = 100;
const IN_BATCHES: readonly DocumentKind[] = ['schedule', 'callback', 'audit'];

/** A due document and its tenant. */
export interface DueDocument {
  readonly tenant: string;
  readonly document: StoredDocument;
}

/** A unit of work: due documents of one kind and one tenant. */
export interface Job {
  readonly tenant: string;
  readonly documents: readonly StoredDocument[];
}

/** Divides due documents into jobs: up to {@link BATCH} of one tenant at a time for kinds that are written together. */
export function jobsOf(due: readonly DueDocument[]): Job[] {
  const batches = new Map<string, StoredDocument[]>();
  const jobs: Job[] = [];
  for (const { tenant, document } of due) {
    const name = `${document.kind}\n${tenant}`;
    let batch = batches.get(name);
    if (batch === undefined || batch.length === BATCH || !IN_BATCHES.includes(document.kind)) {
      batch = [];
      batches.set(name, batch);
      jobs.push({ tenant, documents: batch });
    }
    batch.push(document);
  }
  return jobs;
}

/** The work for due documents, by their kind. */
export class DueWork {
  readonly #thread: DueWorkThread;
  readonly #writer: ScheduleWriter;
  readonly #workerDue: WorkerDue;

  constructor(thread: DueWorkThread, counters: ScheduleCounters, workerDue: WorkerDue) {
    this.#thread = thread;
    this.#writer = new ScheduleWriter(thread, counters);
    this.#workerDue = workerDue;
  }

  /**
   * @param now by the store's clock
   * @returns how many of the schedules or callbacks are not due any more; 0 for other kinds
   * @throws (rejects with) Fault when the store fails; what was not written is still due
   */
  async do({ tenant, documents }: Job, now: number): Promise<number> {
    const [first] = documents;
    switch (first.kind) {
      case 'schedule':
        return this.#writer.fire(tenant, documents as readonly StoredDocument<'schedule'>[], now);
      case 'callback':
        return createCallbacks(this.#thread, tenant, documents as readonly StoredDocument<'callback'>[], now);
      case 'audit':
        await this.#forget(tenant, documents);
        break;
      case 'worker':
        await this.#workerDue(tenant, first.id);
        break;
      case 'removal':
        await lookAtRemoval(this.#thread.store, tenant, first as StoredDocument<'removal'>);
        break;
      case 'account':
        await deleteSome(this.#thread, tenant, first as StoredDocument<'account'>);
        break;
    }
    return 0;
  }

  /** Deletes expired entries of the audit log. If another process has deleted one of them, the others are still due. */
  async #forget(tenant: string, entries: readonly StoredDocument[]): Promise<void> {
    const deletions = entries.map(({ kind, id }) => ({ op: 'delete', kind, id, expect: 'any' }) as const);
    await this.#thread.store.apply(tenant, deletions);
  }
}
