import { commandsOf } from '../../change/commands.ts';
import { isJsonText } from '../../change/json-text.ts';
import { isoTime } from '../../change/local-time.ts';
import { NO_RETRIES, type RetryDraft, retryOf } from './retry-fields.tsx';

/** What is typed into the form for a new task. */
export interface TaskDraft {
  readonly worker: string;
  readonly payload: string;
  readonly when: 'now' | 'later' | 'at';
  readonly delay: string;
  /** The value of an input of the type `datetime-local`, in the zone of the browser. */
  readonly runAt: string;
  /** Empty for that of the worker. */
  readonly priority: string;
  readonly type: string;
  readonly key: string;
  readonly onConflict: keyof typeof ON_CONFLICT;
  readonly retry: RetryDraft;
}

/** What happens if an open task of the worker has the key. */
export const ON_CONFLICT = {
  reject: 'Create no task',
  return: 'Open that task',
  replace: 'Replace that task',
} as const;

/** A form in which only a worker is filled in; empty for none. */
export function emptyDraft(worker: string): TaskDraft {
  return {
    ...{ worker, payload: '', when: 'now', delay: '10m', runAt: '' },
    ...{ priority: '', type: '', key: '', onConflict: 'reject', retry: NO_RETRIES },
  };
}

export function isComplete({ worker, payload, when, delay, runAt }: TaskDraft): boolean {
  if (worker === '' || !(isEmpty(payload) || isJsonText(payload))) return false;
  return when === 'now' || (when === 'later' ? delay !== '' : isoTime(runAt) !== null);
}

export function isEmpty(payload: string): boolean {
  return payload.trim() === '';
}

/** The body of the request. The numbers of the payload stay as they are written. */
export function bodyText(draft: TaskDraft): string {
  const rest = JSON.stringify(fieldsOf(draft));
  return isEmpty(draft.payload) ? rest : `${rest.slice(0, -1)},"payload":${draft.payload}}`;
}

/** The fields of the task, except its payload. */
function fieldsOf({ worker, when, delay, runAt, priority, type, key, onConflict, retry }: TaskDraft): object {
  const fields = retryOf(retry);
  return {
    worker,
    ...(when === 'later' && { delay }),
    ...(when === 'at' && { run_at: isoTime(runAt) }),
    ...(priority !== '' && { priority }),
    ...(type !== '' && { type }),
    ...(key !== '' && { key, on_conflict: onConflict }),
    ...(Object.keys(fields).length > 0 && { retry: fields }),
  };
}

/** The commands that create the same task. */
export function commandsFor(draft: TaskDraft): ReturnType<typeof commandsOf> {
  return commandsOf(wordsOf(draft), { method: 'POST', path: '/tasks', text: bodyText(draft) });
}

/** Null if the command has no flag for one of the fields. */
function wordsOf(draft: TaskDraft): string[] | null {
  const { worker, payload, when, delay, runAt, priority, type, key, onConflict, retry } = draft;
  if (Object.keys(retryOf(retry)).length > 0) return null;
  return [
    'create',
    worker,
    ...(isEmpty(payload) ? [] : ['--payload', payload]),
    ...(when === 'later' ? ['--delay', delay] : []),
    ...(when === 'at' ? ['--run-at', isoTime(runAt) ?? ''] : []),
    ...(priority === '' ? [] : ['--priority', priority]),
    ...(type === '' ? [] : ['--type', type]),
    ...(key === '' ? [] : ['--key', key, '--on-conflict', onConflict]),
  ];
}

/** What the form does, in words. */
export function effectOf({ worker, when, delay, runAt, key, onConflict }: TaskDraft): string {
  const start = {
    now: 'as soon as it can',
    later: `in ${delay}`,
    at: `at ${new Date(runAt).toLocaleString()}`,
  };
  const creates = `Creates a task, which ${worker} gets ${start[when]}.`;
  if (key === '') return creates;
  const conflict = {
    reject: 'no task is created',
    return: 'that task is opened and stays as it is',
    replace: 'that task is replaced with this one',
  };
  return `${creates} If an open task of ${worker} has the key ${key}, ${conflict[onConflict]}.`;
}
