/**
 * What a worker is to do with the attempts of a task, one after the other; the payload of the task says so. Later attempts
 * succeed.
 *
 * - `ok:MS` succeeds after so many milliseconds, `fail:MS` fails
 * - `fatal` fails for good
 * - `wait:S` asks to be left alone for so many seconds (push), or gives the task back (pull)
 * - `gone` answers 410, `refuse` has no connection (push only)
 * - `hang` never answers; a pull worker dies with its lease
 * - `late` reports when its lease is over (pull only)
 */
export type Deed = `${'ok' | 'fail' | 'wait'}:${number}` | 'fatal' | 'gone' | 'refuse' | 'hang' | 'late';

export interface TaskPlan {
  readonly deeds: readonly Deed[];
}

/** What is to be done with this attempt, which is counted from 1 with those that were handed back. */
export function deedOf(
  payload: string | null,
  attempt: number,
): { readonly name: string; readonly ms: number } {
  const deeds = payload === null ? [] : ((JSON.parse(payload) as Partial<TaskPlan> | null)?.deeds ?? []);
  const [name, ms = '0'] = (deeds[attempt - 1] ?? 'ok:5').split(':');
  return { name, ms: Number(ms) };
}
