import type { HistoryEvent, TaskError } from '../../model/task.ts';
import { keptTexts, PRIORITIES } from '../../model/task-content.ts';
import type { GivenTime } from '../../model/time.ts';
import { actorText } from '../actor-text.ts';
import { type DocumentChange, onFinishText } from '../documents.ts';
import { policyText } from '../policy-text.ts';
import type {
  BlockQuery,
  ClaimRequest,
  CreateRequest,
  Idempotency,
  NewTask,
  Settlement,
  TaskChange,
  TaskPatch,
} from '../requests.ts';
import type { Argument } from './connection/redis-client.ts';
import { EVENT_NUMBER } from './lua/records.ts';

/**
 * Encodes requests as arguments of scripts. The arguments are JSON. Values that a script only stores are texts in it. False
 * stands for null, because the JSON library of Lua has no simple value for null.
 */

export function createArguments(request: CreateRequest): Argument[] {
  const { atomic, maxOpen, actor, idempotency, documents, tasks } = request;
  const idem = idempotency === undefined ? false : idempotencyOf(idempotency);
  const changes = documents === undefined || documents.length === 0 ? false : documents.map(changeOf);
  const args: Argument[] = [JSON.stringify([atomic, maxOpen, actorText(actor), idem, changes])];
  for (const item of tasks) args.push(newTask(item), item.body.payload ?? '');
  return args;
}

function newTask({ task, body, onConflict, wake }: NewTask): string {
  const { createdBy } = task;
  return JSON.stringify({
    id: task.id,
    worker: task.workerId,
    band: PRIORITIES.indexOf(task.priority),
    ...timesOf(task),
    timeoutMs: task.timeoutMs,
    maxAttempts: task.retry.maxAttempts,
    retry: policyText(task.retry),
    key: orFalse(task.key),
    keyTtl: task.keyTtlMs,
    held: orFalse(task.heldBy),
    group: orFalse(task.group),
    onFinish: orFalse(onFinishText(task.onFinish)),
    schedule: orFalse(task.scheduleId),
    by: actorText(createdBy),
    wake,
    ...ownTexts(task),
    fixed: JSON.stringify([task.worker, task.scheduledFor, createdBy.type, createdBy.id, task.createdAt]),
    conflict: onConflict,
    headers: pairsText(body.headers),
    hasPayload: body.payload !== null,
  });
}

export function changeArguments({ action, patch, expectVersion, actor }: TaskChange): Argument[] {
  const request = [action, orFalse(expectVersion), actorText(actor), patchOf(patch)];
  return [JSON.stringify(request), patch.payload ?? ''];
}

/** Fields that are left out of the patch are left out here, too. */
function patchOf(patch: TaskPatch): object {
  const { priority, runAt, expiresAt, timeoutMs, retry, payload, headers } = patch;
  return {
    ...ownTexts(patch),
    ...(priority !== undefined && { band: PRIORITIES.indexOf(priority) }),
    ...timesOf({ runAt, expiresAt }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(retry !== undefined && { maxAttempts: retry.maxAttempts, retry: policyText(retry) }),
    ...(payload !== undefined && { payload: true, hasPayload: payload !== null }),
    ...(headers !== undefined && { headers: pairsText(headers) }),
  };
}

/** Delays have separate fields, to which the script adds its time. JSON leaves out undefined fields. */
function timesOf({
  runAt,
  expiresAt,
}: {
  readonly runAt: GivenTime | undefined;
  readonly expiresAt: GivenTime | null | undefined;
}): object {
  return {
    ...(typeof runAt === 'object' ? { runIn: runAt.afterMs } : { runAt }),
    ...(typeof expiresAt === 'object' && expiresAt !== null
      ? { expiresIn: expiresAt.afterMs }
      : { expiresAt: expiresAt === null ? false : expiresAt }),
  };
}

export function claimArguments(request: ClaimRequest): Argument[] {
  const { workerId, leaseIds, lease, concurrency, rate, groups, tenantInFlight, tenantPerSecond, actor } =
    request;
  const bucket = rate === null ? false : [rate.limit, rate.perMs, rate.burst];
  const ofGroups = groups !== null && [groups.concurrency, groups.fifo];
  const isPush = lease.mode === 'push';
  const bounds = [orFalse(concurrency), bucket, tenantInFlight, tenantPerSecond];
  return [JSON.stringify([workerId, ...bounds, isPush, lease.ms, actorText(actor), ofGroups]), ...leaseIds];
}

export function blockArguments({ workers, tenantInFlight, tenantPerSecond }: BlockQuery): Argument[] {
  const ofWorkers = workers.map(({ workerId, concurrency, rate, inGroup }) => {
    const bucket = rate === null ? false : [rate.limit, rate.perMs, rate.burst];
    const place = inGroup !== null && [
      inGroup.group,
      inGroup.rules.concurrency,
      inGroup.rules.fifo,
      inGroup.taskId,
    ];
    return JSON.stringify([workerId, orFalse(concurrency), bucket, place]);
  });
  return [JSON.stringify([tenantInFlight, tenantPerSecond]), ...ofWorkers];
}

export function settlementText(settlement: Settlement): string {
  const { leaseId, event, delayMs, last, throttleMs, error, http, actor, result } = settlement;
  return JSON.stringify([
    leaseId,
    EVENT_NUMBER[event satisfies HistoryEvent],
    delayMs,
    last,
    throttleMs,
    error === null ? false : errorText(error),
    http === null ? false : JSON.stringify(http),
    actorText(actor),
    orFalse(result),
  ]);
}

function errorText({ code, message, httpStatus }: Omit<TaskError, 'at'>): string {
  return JSON.stringify({ code, message, httpStatus });
}

export function changeOf(change: DocumentChange): object {
  if (change.op === 'delete') return change;
  return { ...change, dueAt: orFalse(change.dueAt), body: JSON.stringify(change.body) };
}

/** `[scope and key, fingerprint, keepMs, note]`. The first is prefixed with the length of the scope, so it is unambiguous. */
export function idempotencyOf({ scope, key, fingerprint, keepMs, note }: Idempotency): unknown[] {
  return [`${scope.length}:${scope}:${key}`, fingerprint, keepMs, note];
}

function ownTexts(content: TaskPatch): object {
  return Object.fromEntries(Object.entries(keptTexts(content)).map(([name, text]) => [name, orFalse(text)]));
}

function pairsText(pairs: Readonly<Record<string, string>>): string | false {
  const text = JSON.stringify(pairs);
  return text !== '{}' && text;
}

function orFalse<T>(value: T | null): T | false {
  return value === null ? false : value;
}
