import type { TaskError } from '../../../model/task.ts';
import { keptTexts, type OwnField, PRIORITIES } from '../../../model/task-content.ts';
import type { GivenTime } from '../../../model/time.ts';
import { USAGE_FIGURES } from '../../../model/usage.ts';
import { DOCUMENT, EVENT } from '../../codes.ts';
import { type DocumentChange, onFinishText } from '../../documents.ts';
import { policyText } from '../../policy-text.ts';
import type {
  BlockQuery,
  ClaimRequest,
  CreateRequest,
  Idempotency,
  NewTask,
  Progress,
  Settlement,
  TaskPatch,
} from '../../requests.ts';
import type { UsageIncrement } from '../../usage.ts';
import { storedActor, storedText } from './plain-text.ts';

/**
 * Encodes requests as JSON for the types of `sql`, by the names of their fields. Values that PostgreSQL only stores are texts
 * in it: it could not read some of the characters that they may contain.
 */

export function createText(request: CreateRequest): string {
  const { atomic, maxOpen, actor, idempotency, documents } = request;
  return JSON.stringify({
    atomic,
    max_open: maxOpen,
    actor: storedActor(actor),
    ...(documents !== undefined && { documents: documents.map(changeOf) }),
    ...(idempotency !== undefined && recordOf(idempotency)),
  });
}

/** @returns a JSON text for each task */
export function newTaskTexts(tasks: readonly NewTask[]): string[] {
  return tasks.map(task => JSON.stringify(newTask(task)));
}

function newTask({ task, body, onConflict, wake }: NewTask): object {
  return {
    id: task.id,
    worker_id: task.workerId,
    worker_name: task.worker,
    band: PRIORITIES.indexOf(task.priority),
    ...timesOf(task),
    timeout: task.timeoutMs,
    max_attempts: task.retry.maxAttempts,
    retry: policyText(task.retry),
    key: task.key,
    key_ttl: task.keyTtlMs,
    held_by: task.heldBy,
    grp: task.group === null ? null : storedText(task.group),
    on_finish: onFinishText(task.onFinish),
    schedule: task.scheduleId,
    scheduled_for: task.scheduledFor,
    created_by: storedActor(task.createdBy),
    created_at: task.createdAt,
    wake,
    ...keptTexts(task),
    conflict: onConflict,
    payload: body.payload,
    headers: mapText(body.headers),
  };
}

/** Names of fields in histories, where they differ from those of a patch. */
const GIVEN: Readonly<Record<Exclude<keyof TaskPatch, OwnField>, string>> = {
  priority: 'priority',
  runAt: 'run_at',
  expiresAt: 'expires_at',
  timeoutMs: 'timeout',
  retry: 'retry',
  payload: 'payload',
  headers: 'headers',
};

export function patchText(patch: TaskPatch): string {
  const { priority, runAt, expiresAt, timeoutMs, retry, payload, headers } = patch;
  const names = Object.entries(patch).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  return JSON.stringify({
    given: names.map(name => GIVEN[name as keyof typeof GIVEN] ?? name),
    ...keptTexts(patch),
    ...(priority !== undefined && { band: PRIORITIES.indexOf(priority) }),
    ...timesOf({ runAt, expiresAt }),
    timeout: timeoutMs,
    ...(retry !== undefined && { max_attempts: retry.maxAttempts, retry: policyText(retry) }),
    payload,
    ...(headers !== undefined && { headers: mapText(headers) }),
  });
}

/** Delays have separate fields, to which the server adds its time. JSON leaves out undefined fields. */
function timesOf({
  runAt,
  expiresAt,
}: {
  readonly runAt: GivenTime | undefined;
  readonly expiresAt: GivenTime | null | undefined;
}): object {
  return {
    ...(typeof runAt === 'object' ? { run_in: runAt.afterMs } : { run_at: runAt }),
    ...(typeof expiresAt === 'object' && expiresAt !== null
      ? { expires_in: expiresAt.afterMs }
      : { expires_at: expiresAt }),
  };
}

export function claimText(request: ClaimRequest): string {
  const { lease, groups, actor } = request;
  return JSON.stringify({
    bounds: boundsOf(request, request),
    push: lease.mode === 'push',
    ms: lease.ms,
    group_limit: groups?.concurrency ?? null,
    fifo: groups?.fifo ?? false,
    actor: storedActor(actor),
  });
}

export function blockedWorkersText(query: BlockQuery): string {
  return JSON.stringify(
    query.workers.map(worker => ({
      bounds: boundsOf(worker, query),
      worker: worker.workerId,
      grp: worker.inGroup === null ? null : storedText(worker.inGroup.group),
      group_limit: worker.inGroup?.rules.concurrency ?? null,
      fifo: worker.inGroup?.rules.fifo ?? false,
      task: worker.inGroup?.taskId ?? null,
    })),
  );
}

function boundsOf(
  { concurrency, rate }: Pick<ClaimRequest, 'concurrency' | 'rate'>,
  { tenantInFlight, tenantPerSecond }: Pick<ClaimRequest, 'tenantInFlight' | 'tenantPerSecond'>,
): object {
  return {
    concurrency,
    rate_limit: rate?.limit ?? null,
    rate_per: rate?.perMs ?? null,
    rate_burst: rate?.burst ?? null,
    in_flight: tenantInFlight,
    per_second: tenantPerSecond,
  };
}

/** @returns a JSON text for each settlement */
export function settlementTexts(settlements: readonly Settlement[]): string[] {
  return settlements.map(settlement => JSON.stringify(settlementOf(settlement)));
}

function settlementOf(settlement: Settlement): object {
  const { leaseId, event, delayMs, last, throttleMs, error, http, actor, result } = settlement;
  const more = {
    ...(http !== null && { http }),
    ...(error !== null && { error: { code: error.code, message: error.message } }),
  };
  return {
    lease: leaseId,
    event: EVENT[event],
    delay: delayMs,
    last,
    throttle: throttleMs,
    error: error === null ? null : errorText(error),
    more: http === null && error === null ? null : JSON.stringify(more),
    actor: storedActor(actor),
    result,
  };
}

function errorText({ code, message, httpStatus }: Omit<TaskError, 'at'>): string {
  return JSON.stringify({ code, message, httpStatus });
}

/** The extension of a lease, as a JSON text. */
export function extensionText(leaseId: string, ms: number | null, progress: Progress | null): string {
  const entry = progress && {
    ...(progress.percent !== null && { progress: progress.percent }),
    ...(progress.note !== null && { note: progress.note }),
  };
  return JSON.stringify({
    lease: leaseId,
    ms,
    progress: entry && JSON.stringify(entry),
    actor: progress && storedActor(progress.actor),
  });
}

export function changesText(changes: readonly DocumentChange[]): string {
  return JSON.stringify(changes.map(changeOf));
}

function changeOf(change: DocumentChange): object {
  const { op, id, expect } = change;
  const kind = DOCUMENT[change.kind];
  const expected = { absent: expect === 'absent', expect: typeof expect === 'number' ? expect : null };
  if (change.op === 'delete') {
    const { noOpenTasksOf, children } = change;
    const of = {
      no_open_tasks_of: noOpenTasksOf,
      children: children === undefined ? null : DOCUMENT[children],
    };
    return { op, kind, id, ...expected, ...of };
  }
  const { parent, dueAt, unique, body, atMost, keepNewest } = change;
  const text = JSON.stringify(body);
  const bounds = { at_most: atMost, keep_newest: keepNewest };
  return { op, kind, id, ...expected, parent, due_at: dueAt, names: unique, body: text, ...bounds };
}

export function recordOf({ scope, key, fingerprint, keepMs, note }: Idempotency): object {
  return { scope, key, fingerprint, keep: keepMs, note };
}

export function incrementsText(increments: readonly UsageIncrement[]): string {
  return JSON.stringify(
    increments.map(({ at, workerId, figures }) => ({ at, worker: workerId, figures: allFigures(figures) })),
  );
}

/** Figures in their places, without zeros at the end. */
export function allFigures(pairs: readonly number[]): readonly number[] {
  const figures: number[] = [];
  for (let i = 0; i < pairs.length && pairs[i] < USAGE_FIGURES; i += 2) {
    while (figures.length < pairs[i]) figures.push(0);
    figures.push(pairs[i + 1]);
  }
  return figures;
}

/** The opposite of {@link allFigures}. */
export function pairsOf(figures: readonly number[]): readonly number[] {
  return figures.flatMap((figure, place) => (figure === 0 ? [] : [place, figure]));
}

export function mapText(map: Readonly<Record<string, string>>): string | null {
  const text = JSON.stringify(map);
  return text === '{}' ? null : text;
}
