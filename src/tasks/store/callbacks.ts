import { FINAL_STATUSES, type FinalStatus, isFinal, type OnFinish, type Task } from '../model/task.ts';
import type { StoredDocument } from './documents.ts';

/** A larger result, in bytes of JSON, is not included in a callback. */
export const MAX_CALLBACK_RESULT = 16 * 1024;

/**
 * The document that a store writes when a task reaches a final status; null if the task has no callback for that status.
 *
 * @param task the task in its final status
 * @param result JSON text of the result; null for none
 */
export function callbackDocument(task: Task, result: string | null): StoredDocument<'callback'> | null {
  const { onFinish, status, finishedAt } = task;
  if (onFinish === null || finishedAt === null || !isFinal(status)) return null;
  if (!onFinish.events.includes(status)) return null;
  const resultOmitted = result !== null && Buffer.byteLength(result) > MAX_CALLBACK_RESULT;
  return {
    kind: 'callback',
    // A replayed task can end again before this callback was delivered.
    id: `${task.id}.${task.version}`,
    version: 1,
    parent: onFinish.workerId,
    dueAt: finishedAt,
    body: {
      taskId: task.id,
      workerId: task.workerId,
      worker: task.worker,
      type: task.type,
      key: task.key,
      tags: task.tags,
      status,
      attempt: task.attempt,
      lastError: task.lastError,
      result: resultOmitted ? null : result,
      resultOmitted,
      finishedAt,
    },
  };
}

/** The form in stores: `<bits> <id of the worker>`. The lowest bit is the first of {@link FINAL_STATUSES}. */
export function onFinishText(onFinish: OnFinish | null): string | null {
  if (onFinish === null) return null;
  const bits = FINAL_STATUSES.reduce(
    (sum, status, i) => sum + (onFinish.events.includes(status) ? 2 ** i : 0),
    0,
  );
  return `${bits} ${onFinish.workerId}`;
}

/** @param text of {@link onFinishText} */
export function onFinishOf(text: string | null): OnFinish | null {
  if (text === null) return null;
  const space = text.indexOf(' ');
  const bits = Number(text.slice(0, space));
  const events: FinalStatus[] = FINAL_STATUSES.filter((_, i) => Math.floor(bits / 2 ** i) % 2 === 1);
  return { workerId: text.slice(space + 1), events };
}
