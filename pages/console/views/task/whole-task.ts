import type { Task } from '../../api.ts';
import { ExactNumber, parseExactly } from '../../exact-json.ts';

/** A task with what only callers with the scope `tasks:payload` see. */
export interface WholeTask extends Task {
  readonly retry: unknown;
  readonly payload?: unknown;
  readonly payload_base64?: string;
  readonly content_type?: string;
  readonly url?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly result?: unknown;
}

/** Reads a task. The numbers of the payload and of the result stay as they are written. */
export function readWholeTask(text: string): WholeTask {
  const task = parseExactly(text) as Record<string, unknown>;
  const plain = Object.entries(task).map(([name, value]) => [
    name,
    value instanceof ExactNumber ? Number(value.text) : value,
  ]);
  const { last_error: error } = task;
  return {
    ...Object.fromEntries(plain),
    ...(typeof error === 'object' && error !== null && { last_error: plainNumbers(error) }),
  } as WholeTask;
}

function plainNumbers(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof ExactNumber ? Number(value.text) : value,
    ]),
  );
}
