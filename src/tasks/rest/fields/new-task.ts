import { DAY_MS } from '../../../base/clock.ts';
import { readTraceContext, type TraceContext } from '../../../base/trace-context.ts';
import type { TenantLimits, Worker } from '../../model/documents.ts';
import { idTimeMs } from '../../model/ids.ts';
import type { Actor } from '../../model/task.ts';
import { newContent } from '../../model/task-content.ts';
import { keptHeaders } from '../../model/task-headers.ts';
import { type GivenTime, resolveTime } from '../../model/time.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { NewTask } from '../../store/requests.ts';
import { excludeEachOther, FieldReader, type Fields } from '../checks/field-reader.ts';
import { type Problem, problemAt } from '../checks/problem.ts';
import type { RestParts } from '../http/parts.ts';
import { checkContentFor, EXPIRES_IN, readContent } from './content-fields.ts';
import { checkUrl } from './read-worker.ts';

/** How far ahead a task can be scheduled. */
const MAX_AHEAD_MS = 366 * DAY_MS;
const DELAY = { minMs: 0, maxMs: MAX_AHEAD_MS };
const KEY_TTL = { minMs: 0, maxMs: 30 * DAY_MS };

/** The context of a new task. */
interface NewTaskContext {
  readonly parts: Pick<RestParts, 'ids' | 'config'>;
  readonly limits: TenantLimits;
  readonly actor: Actor;
  readonly nowMs: number;
  /** The trace context of the call; a task with a header `traceparent` has its own. Null for none. */
  readonly trace: TraceContext | null;
}

/**
 * Reads a new task from fields that `NEW_TASK` has accepted. Fields that are left out have the defaults of
 * the worker.
 *
 * @throws Problem `conflicting_fields`, `payload_too_large`, `validation_failed`, `invalid_url` or `forbidden_address`
 */
export function readNewTask(
  fields: Fields,
  worker: StoredDocument<'worker'>,
  { parts, limits, actor, nowMs, trace }: NewTaskContext,
): NewTask {
  const reader = new FieldReader();
  const content = readContent(fields, '', reader, limits);
  checkContentFor(worker.body, content, '', reader);
  excludeEachOther(fields, 'run_at', 'delay');
  const delayMs = reader.duration(fields.delay, '/delay', DELAY);
  const { runAt, expiresAt } = readTimes(fields, reader, nowMs);
  const keyTtlMs = reader.duration(fields.key_ttl, '/key_ttl', KEY_TTL);
  const startsAt = runAt ?? { afterMs: delayMs ?? 0 };
  checkExpiry(expiresAt, startsAt, reader, nowMs);
  const url = readUrl(fields, worker.body, reader);
  reader.finish();
  if (url !== null) checkUrl(url, parts.config.urls);
  const headers = content.headers ?? {};
  const ownTrace = readTraceContext(headers['traceparent'] ?? '', headers['tracestate'] ?? '');
  const id = parts.ids.next('task');
  const defaults = worker.body;
  return {
    task: {
      id,
      workerId: worker.id,
      worker: defaults.name,
      ...newContent(content, defaults),
      runAt: startsAt,
      expiresAt: expiresAt ?? null,
      key: (fields.key as string | null | undefined) ?? null,
      keyTtlMs: keyTtlMs ?? 0,
      group: (fields.group as string | null | undefined) ?? null,
      scheduleId: null,
      scheduledFor: null,
      heldBy: null,
      onFinish: defaults.onFinish ?? null,
      createdBy: actor,
      createdAt: idTimeMs(id),
    },
    body: {
      payload: content.payload ?? null,
      headers: keptHeaders(headers, { url, trace: ownTrace ?? trace }),
    },
    onConflict: (fields.on_conflict as NewTask['onConflict'] | undefined) ?? 'return',
    wake: defaults.mode === 'push',
  };
}

/**
 * Reads the times of a task. A start in the past means now. The store adds delays to its own clock.
 *
 * @throws Problem `conflicting_fields`
 */
export function readTimes(
  fields: Fields,
  reader: FieldReader,
  nowMs: number,
): { readonly runAt: GivenTime | null | undefined; readonly expiresAt: GivenTime | null | undefined } {
  excludeEachOther(fields, 'expires_at', 'expires_in');
  const runAt = reader.time(fields.run_at, '/run_at');
  if (runAt != null && runAt > nowMs + MAX_AHEAD_MS) {
    reader.fault('/run_at', 'out_of_range', 'must be at most 366 days ahead');
  }
  const expiresIn = reader.duration(fields.expires_in, '/expires_in', EXPIRES_IN);
  const expiresAt = reader.time(fields.expires_at, '/expires_at');
  if (expiresAt != null && expiresAt > nowMs + EXPIRES_IN.maxMs) {
    reader.fault('/expires_at', 'out_of_range', 'must be at most 732 days ahead');
  }
  return {
    runAt: runAt != null && runAt <= nowMs ? { afterMs: 0 } : runAt,
    expiresAt:
      expiresIn != null ? { afterMs: expiresIn } : (expiresAt ?? (expiresIn === null ? null : expiresAt)),
  };
}

/** Adds a fault if the task would expire before it can start. */
export function checkExpiry(
  expiresAt: GivenTime | null | undefined,
  startsAt: GivenTime,
  reader: FieldReader,
  nowMs: number,
): void {
  if (expiresAt != null && resolveTime(expiresAt, nowMs) <= resolveTime(startsAt, nowMs)) {
    reader.fault('/expires_at', 'out_of_range', 'must be later than the time at which the task can start');
  }
}

/** Reads the URL of a task; null if it uses the URL of the worker. Adds faults to the reader. */
export function readUrl(
  fields: Fields,
  worker: Pick<Worker, 'name' | 'taskUrls'>,
  reader: FieldReader,
): string | null {
  const url = (fields.url as string | null | undefined) ?? null;
  const { taskUrls = false, name } = worker;
  if (taskUrls && url === null) {
    reader.fault('/url', 'required', `is required, because worker "${name}" has task_urls`);
  } else if (!taskUrls && url !== null) {
    reader.fault(
      '/url',
      'forbidden',
      `is only allowed for workers with task_urls, and worker "${name}" has a URL of its own`,
    );
  }
  return url;
}

/** The response if the worker that a body names does not exist. */
export function unknownWorker(text: string): Problem {
  const detail = `/worker does not exist: ${JSON.stringify(text)}`;
  return problemAt({ pointer: '/worker' }, 'validation_failed', detail, 'not_found');
}
