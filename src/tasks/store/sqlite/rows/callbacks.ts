import { callbackDocument } from '../../callbacks.ts';
import { insertDocument } from './documents.ts';
import { bodyAt, shown } from './read-task.ts';
import type { TaskRow } from './task-row.ts';
import type { Work } from './work.ts';

/** Leaves a document for the callback of a task that has just ended, if there is to be one. */
export function writeCallback(work: Work, row: TaskRow): void {
  const document = callbackDocument(shown(work, row), bodyAt(work, row.seq).result);
  if (document !== null) insertDocument(work, row.tenant, document);
}
