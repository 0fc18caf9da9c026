import { isUsageOver } from '../../model/usage.ts';
import { DOCUMENT } from '../codes.ts';
import {
  type AnswerPage,
  type Copy,
  type CopyPage,
  type CopyPlace,
  documentPlace,
  PAGE_SIZES,
  pageOf,
  placeAfterDocuments,
} from '../copies.ts';
import { READ_BYTES } from '../task-store.ts';
import type { Functions } from './functions.ts';
import {
  type AnswerCopyValues,
  answerCopyOf,
  copiesArguments,
  type DocumentCopyValues,
  documentCopyOf,
  type TaskCopyValues,
  taskCopyOf,
  type UsageCopyValues,
  usageCopyOf,
} from './rows/copy-row.ts';

/** Copies of what PostgreSQL has. For the methods, see `TaskStore`. */
export class PostgresCopies {
  readonly #functions: Functions;
  readonly #now: () => Promise<number>;

  /** @param now the time of the server */
  constructor(functions: Functions, now: () => Promise<number>) {
    this.#functions = functions;
    this.#now = now;
  }

  copyOut(tenant: string, place: CopyPlace): Promise<CopyPage> {
    switch (place.part) {
      case 'document':
        return this.#documents(tenant, place);
      case 'task':
        return this.#tasks(tenant, place);
      case 'usage':
        return this.#usage(tenant, place);
    }
  }

  /** The next page begins where this one ended, and the one after the last is empty. */
  async #documents(tenant: string, place: CopyPlace): Promise<CopyPage> {
    const { kinds, id } = documentPlace(place.after);
    const args = [tenant, kinds.map(kind => String(DOCUMENT[kind])), id, PAGE_SIZES.document, READ_BYTES];
    const rows = (await this.#functions.read('copy_documents', args, tenant)) as DocumentCopyValues[];
    const copies = rows.map(documentCopyOf);
    return pageOf(place, copies, placeAfterDocuments(copies, copies.length === 0));
  }

  async #tasks(tenant: string, place: CopyPlace): Promise<CopyPage> {
    const args = [tenant, place.after ?? '', PAGE_SIZES.task, READ_BYTES];
    const rows = (await this.#functions.read('copy_tasks', args, tenant)) as TaskCopyValues[];
    const copies = rows.map(taskCopyOf);
    return pageOf(place, copies, copies.at(-1)?.task.id ?? null);
  }

  async #usage(tenant: string, place: CopyPlace): Promise<CopyPage> {
    const after = place.after === null ? [0, 0, 0] : place.after.split(' ').map(Number);
    const args = [tenant, ...after, PAGE_SIZES.usage];
    const rows = (await this.#functions.read('copy_usage', args, tenant)) as UsageCopyValues[];
    const now = await this.#now();
    const copies = rows.flatMap(usageCopyOf).filter(({ span, at }) => !isUsageOver(span, at, now));
    return pageOf(place, copies, rows.at(-1)?.slice(0, 3).join(' ') ?? null);
  }

  async recallAll(place: string | null): Promise<AnswerPage> {
    const after = place === null ? [0, '', ''] : JSON.parse(place);
    const args = [...after, PAGE_SIZES.answer, READ_BYTES];
    const rows = (await this.#functions.readNow('recall_all', args, '')) as AnswerCopyValues[];
    const answers = rows.map(row => ({ tenant: row[1], answer: answerCopyOf(row) }));
    const last = rows.at(-1);
    return { answers, next: last === undefined ? null : JSON.stringify([last[0], last[2], last[3]]) };
  }

  async copyIn(tenant: string, copies: readonly Copy[]): Promise<void> {
    if (copies.length === 0) return;
    await this.#functions.write('copy_in', [tenant, ...copiesArguments(copies)], tenant);
  }
}
