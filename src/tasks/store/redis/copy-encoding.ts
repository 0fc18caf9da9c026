import { isFinal, type Task } from '../../model/task.ts';
import { PRIORITIES } from '../../model/task-content.ts';
import { USAGE_SPANS } from '../../model/usage.ts';
import {
  type AnswerCopy,
  type Copy,
  type DocumentCopy,
  jsonOfUnicode,
  type TaskCopy,
  type UsageCopy,
} from '../copies.ts';
import { onFinishText } from '../documents.ts';
import { policyText } from '../policy-text.ts';
import { answerName, errorText, fixedText, orFalse, ownTexts, pairsText } from './encoding.ts';
import {
  EVENT_NUMBER,
  entryFields,
  type RecordFields,
  recordFields,
  resultFields,
  STATUS_NUMBER,
} from './lua/records.ts';
import { SETTLED_LEASE_KEPT_MS } from './lua/settle.ts';
import { ALL_WORKERS } from './lua/usage.ts';

/** A copy as an argument of the script that writes copies: its kind and values as JSON, with false for null. */
export function copyText(copy: Copy): string {
  return jsonOfUnicode([copy.kind, ...valuesOf(copy)]);
}

function valuesOf(copy: Copy): readonly unknown[] {
  switch (copy.kind) {
    case 'document':
      return documentValues(copy);
    case 'task':
      return taskValues(copy);
    case 'usage':
      return usageValues(copy);
    case 'answer':
      return answerValues(copy);
  }
}

function documentValues({ document, unique, bucket, throttledUntil }: DocumentCopy): readonly unknown[] {
  const { kind, id, version, parent, dueAt, body } = document;
  const ofBucket = [orFalse(throttledUntil), bucket?.tokens ?? false, bucket?.at ?? false];
  return [kind, id, version, parent, orFalse(dueAt), unique, JSON.stringify(body), ...ofBucket];
}

function taskValues({ task, body, history, wake, lease, settled, holdsKey }: TaskCopy): readonly unknown[] {
  const leaseId = lease?.id ?? settled?.leaseId ?? false;
  const fields = recordFields({
    ...fieldsOf(task),
    // The script looks for held tasks only if this is true.
    holds: !isFinal(task.status),
    lease: leaseId,
    leaseUntil: lease?.until ?? false,
    leaseCap: lease?.latest ?? false,
    began: lease?.beganAt ?? false,
    settled: settled === null ? false : EVENT_NUMBER[settled.event],
    entries: history.at(-1)?.seq ?? 0,
    wake,
  });
  const parts = [orFalse(body.payload), pairsText(body.headers), orFalse(body.result)];
  const keptUntil = settled === null ? false : task.updatedAt + SETTLED_LEASE_KEPT_MS;
  const ofKey = [holdsKey !== null, holdsKey?.freeAt ?? false];
  return [task.id, fields, parts, history.map(entryFields), leaseId, keptUntil, ...ofKey];
}

/** The fields of a record that callers see. */
function fieldsOf(task: Task): Partial<RecordFields> {
  const { lastError, retry } = task;
  return {
    version: task.version,
    status: STATUS_NUMBER[task.status],
    band: PRIORITIES.indexOf(task.priority),
    worker: task.workerId,
    runAt: task.runAt,
    due: orFalse(task.dueAt),
    expires: orFalse(task.expiresAt),
    timeout: task.timeoutMs,
    attempt: task.attempt,
    deferrals: task.deferrals,
    maxAttempts: retry.maxAttempts,
    retry: policyText(retry),
    key: orFalse(task.key),
    keyTtl: task.keyTtlMs,
    held: orFalse(task.heldBy),
    cancel: orFalse(task.cancelRequestedAt),
    updated: task.updatedAt,
    started: orFalse(task.startedAt),
    finished: orFalse(task.finishedAt),
    error: lastError === null ? false : errorText(lastError),
    errorAt: lastError?.at ?? false,
    schedule: orFalse(task.scheduleId),
    fixed: fixedText(task),
    // Results of older versions do not have these fields.
    group: task.group ?? false,
    onFinish: onFinishText(task.onFinish ?? null) ?? false,
    ...ownTexts(task),
  };
}

function usageValues({ span, at, workerId, figures }: UsageCopy): readonly unknown[] {
  const { ms, keepMs } = USAGE_SPANS[span];
  return [ms, at, workerId ?? ALL_WORKERS, figures, at + ms + keepMs];
}

function answerValues({ scope, key, fingerprint, until, note, results }: AnswerCopy): readonly unknown[] {
  return [
    answerName(scope, key),
    fingerprint,
    until,
    note,
    results.map(result => resultFields(result, task => recordFields(fieldsOf(task)))),
  ];
}
