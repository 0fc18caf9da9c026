import { DAY_MS } from '../../../base/clock.ts';
import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import { readTraceContext, type TraceContext } from '../../../base/trace-context.ts';
import { MAX_URL_LENGTH } from '../../delivery/worker-url.ts';
import type { TenantLimits, Worker } from '../../model/documents.ts';
import { idTimeMs } from '../../model/ids.ts';
import { mergeRetry } from '../../model/retry-policy.ts';
import type { Actor } from '../../model/task.ts';
import { keptHeaders } from '../../model/task-headers.ts';
import { type GivenTime, resolveTime } from '../../model/time.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { NewTask } from '../../store/requests.ts';
import { excludeEachOther, FieldReader, type Fields } from '../checks/field-reader.ts';
import { type Problem, problemAt } from '../checks/problem.ts';
import type { RestParts } from '../http/parts.ts';
import { durationField } from './common-fields.ts';
import { CONTENT_FIELDS, checkContentFor, GROUP_FIELD, readContent } from './task-fields.ts';
import { checkUrl } from './worker-fields.ts';

/** How far ahead a task can be scheduled. */
const MAX_AHEAD_MS = 366 * DAY_MS;
const DELAY = { minMs: 0, maxMs: MAX_AHEAD_MS };
export const EXPIRES_IN = { minMs: 1, maxMs: 2 * MAX_AHEAD_MS };
const KEY_TTL = { minMs: 0, maxMs: 30 * DAY_MS };

/** The times of a task: fields of new and of changed tasks. */
export const TIME_FIELDS = {
  run_at: {
    type: 'string',
    max: 64,
    format: 'date-time',
    optional: true,
    nullable: true,
    description: 'Earliest start, at most 366 days ahead. A time in the past means now.',
  },
  expires_at: {
    type: 'string',
    max: 64,
    format: 'date-time',
    optional: true,
    nullable: true,
    description: 'The task expires if it has not started by this time.',
  },
  expires_in: durationField(
    'The task expires if it has not started within this time. Cannot be combined with expires_at.',
  ),
} as const;

/** The URL of one task. */
export const TASK_URL: Schema = {
  type: 'string',
  max: MAX_URL_LENGTH,
  format: 'uri',
  optional: true,
  nullable: true,
  description:
    'The URL that the task is pushed to. Required for workers with task_urls, and not allowed for others.',
};

/** The body that creates a task (specification 3.2). */
export const NEW_TASK_SCHEMA: ObjectSchema = {
  type: 'object',
  name: 'NewTask',
  properties: {
    worker: { type: 'string', min: 1, max: 64, description: 'Name or id of the worker.' },
    url: TASK_URL,
    ...CONTENT_FIELDS,
    ...TIME_FIELDS,
    delay: durationField('Delay until the earliest start. Cannot be combined with run_at.'),
    key: {
      type: 'string',
      min: 1,
      max: 255,
      pattern: /^[A-Za-z0-9._:/-]+$/,
      accepts: 'consist of ASCII letters and digits, and . _ : / -',
      optional: true,
      nullable: true,
      description: 'A worker has at most one open task with this key.',
    },
    on_conflict: {
      type: 'string',
      enum: ['return', 'reject', 'replace', 'replace_keep_time'],
      optional: true,
      description: 'What to do if an open task has the key. Default: return.',
    },
    group: GROUP_FIELD,
    key_ttl: durationField('How long the key stays reserved after the task has finished, at most 30d.'),
  },
};

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
 * Reads a new task from fields that {@link NEW_TASK_SCHEMA} has accepted. Fields that are left out have the defaults of
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
      type: content.type ?? null,
      priority: content.priority ?? defaults.priority,
      runAt: startsAt,
      expiresAt: expiresAt ?? null,
      timeoutMs: content.timeoutMs ?? defaults.timeoutMs,
      retry: mergeRetry(defaults.retry, content.retry),
      key: (fields.key as string | null | undefined) ?? null,
      keyTtlMs: keyTtlMs ?? 0,
      tags: content.tags ?? [],
      metadata: content.metadata ?? {},
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
 * Reads {@link TIME_FIELDS}. A start in the past means now. The store adds delays to its own clock.
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
