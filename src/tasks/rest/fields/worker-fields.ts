import { DAY_MS, HOUR_MS } from '../../../base/clock.ts';
import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import { checkWorkerUrl, MAX_URL_LENGTH, type UrlRules } from '../../delivery/worker-url.ts';
import type { GroupRules, Rate, Worker } from '../../model/documents.ts';
import { DEFAULT_RETRY_POLICY, mergeRetry } from '../../model/retry-policy.ts';
import { PRIORITIES, type Priority } from '../../model/task.ts';
import { FieldReader, type Fields } from '../checks/field-reader.ts';
import { problemAt } from '../checks/problem.ts';
import type { RestConfig } from '../http/parts.ts';
import {
  DURATION,
  durationField,
  PAUSE_FIELDS,
  RETRY_SCHEMA,
  readPause,
  readRetry,
} from './common-fields.ts';
import { readStartLimit, START_LIMIT } from './start-limit-fields.ts';
import { MAX_HEADERS, PULL_TIMEOUT, PUSH_TIMEOUT, readHeaders } from './task-fields.ts';
import { ON_FINISH_FIELDS } from './worker-on-finish.ts';

const LEASE = { minMs: 5_000, maxMs: 12 * HOUR_MS };
const RATE_PERIOD = { minMs: 1_000, maxMs: DAY_MS };
const AUTO_PAUSE = { minMs: 60_000, maxMs: 366 * DAY_MS };
/** Maximum ratio of burst and limit. */
const MAX_BURST_FACTOR = 10;

const DEFAULT_PUSH_TIMEOUT_MS = 30_000;
const DEFAULT_LEASE_MS = 60_000;
const DEFAULT_PUSH_CONCURRENCY = 10;
const DEFAULT_AUTO_PAUSE_MS = 120 * HOUR_MS;

const WORKER_FIELDS = {
  mode: {
    type: 'string',
    enum: ['push', 'pull'],
    optional: true,
    description:
      'Default: push if url or task_urls is given, otherwise pull. Can only change while no task is running.',
  },
  url: {
    type: 'string',
    max: MAX_URL_LENGTH,
    format: 'uri',
    optional: true,
    nullable: true,
    description: 'The URL that tasks are pushed to.',
  },
  task_urls: {
    type: 'boolean',
    optional: true,
    description: 'Each task has its own URL, in place of url. Header secrets are not sent to these URLs.',
  },
  method: { type: 'string', enum: ['POST', 'PUT', 'PATCH'], optional: true, nullable: true },
  headers: {
    type: 'record',
    values: { type: 'string', max: 8192 },
    maxEntries: MAX_HEADERS,
    optional: true,
    nullable: true,
    description:
      'Header fields of each push, at most 8 KiB. All users of the account can read them; use header secrets for confidential values.',
  },
  timeout: durationField(
    'Timeout of attempts whose task has none: 1s to 15m for push (default: 30s), 1s to 24h for pull (default: 24h).',
  ),
  lease: durationField('How long a lease lasts without a heartbeat: 5s to 12h. Default: 60s.'),
  retry: RETRY_SCHEMA,
  concurrency: {
    type: 'number',
    integer: true,
    min: 1,
    max: 1000,
    optional: true,
    nullable: true,
    description:
      'Maximum number of concurrent attempts, over all processes; null: no limit. Default: 10 for push, null for pull.',
  },
  rate: {
    type: 'object',
    name: 'RateFields',
    optional: true,
    nullable: true,
    description: 'Maximum rate of attempts (a token bucket).',
    properties: {
      limit: { type: 'number', integer: true, min: 1, max: 1_000_000 },
      per: { ...DURATION, description: '1s to 1d.' },
      burst: {
        type: 'number',
        integer: true,
        min: 1,
        max: 10_000_000,
        optional: true,
        description: 'Size of the bucket, at most ten times the limit. Default: the limit.',
      },
    },
  },
  limit: START_LIMIT,
  group_concurrency: {
    type: 'number',
    integer: true,
    min: 1,
    max: 1000,
    optional: true,
    nullable: true,
    description:
      'Maximum number of concurrent attempts for tasks of the same group, over all processes; null: no limit.',
  },
  group_order: {
    type: 'string',
    enum: ['any', 'fifo'],
    optional: true,
    nullable: true,
    description:
      'fifo, only with a group_concurrency of 1: tasks of a group start in the order of run_at, then of creation. ' +
      'A task that waits for a retry blocks the tasks behind it; a paused task does not. Default: any.',
  },
  on_finish: ON_FINISH_FIELDS,
  priority: { type: 'string', enum: PRIORITIES, optional: true, nullable: true },
  no_retry_on: {
    type: 'array',
    items: { type: 'number', integer: true, min: 300, max: 599 },
    max: 100,
    optional: true,
    nullable: true,
    description: 'HTTP statuses after which a task fails without further retries.',
  },
  ...PAUSE_FIELDS,
  auto_pause: {
    type: 'object',
    name: 'AutoPauseFields',
    optional: true,
    nullable: true,
    description:
      'Pauses the worker automatically after this long with failures only, 1m to 366d; null: never. Default: 120h.',
    properties: { after: DURATION },
  },
} as const satisfies Record<string, Schema>;

/** The form of names of workers and schedules. */
export const NAME_FORM = {
  type: 'string',
  min: 1,
  max: 63,
  pattern: /^[a-z0-9][a-z0-9._-]*$/,
  accepts: 'consist of lowercase letters, digits and . _ -, and begin with a letter or a digit',
} as const satisfies Schema;

const NAME: Schema = {
  ...NAME_FORM,
  description: 'Unique in the account. Must not begin with wrk_. Cannot change while the worker has tasks.',
};

export const NEW_WORKER: ObjectSchema = {
  type: 'object',
  name: 'NewWorker',
  properties: { name: NAME, ...WORKER_FIELDS },
};

export const WORKER_CHANGES: ObjectSchema = {
  type: 'object',
  name: 'WorkerChanges',
  properties: { name: { ...NAME, optional: true }, ...WORKER_FIELDS },
};

type Draft = { -readonly [K in keyof Worker]: Worker[K] };

/**
 * Applies fields to a worker. Fields that are left out stay unchanged, and null restores the default. If the mode changes,
 * fields that depend on the mode have their defaults unless they are given. `withOnFinish` reads `on_finish`.
 *
 * @param before null for a new one
 * @throws Problem `validation_failed`, `invalid_url` or `forbidden_address`
 */
export function readWorkerFields(
  fields: Fields,
  before: Worker | null,
  { urls, limitDomains }: Pick<RestConfig, 'urls' | 'limitDomains'>,
  nowMs: number,
): Worker {
  const reader = new FieldReader();
  const mode = modeOf(fields, before);
  const worker: Draft = { ...(before ?? newWorker(nowMs)), mode, updatedAt: nowMs };
  if (before !== null && before.mode !== mode) {
    Object.assign(worker, modeDefaults(mode));
  } else if (before === null) Object.assign(worker, modeDefaults(mode));
  readName(fields, worker, reader);
  readTarget(fields, worker, reader);
  readTimes(fields, worker, reader);
  readBounds(fields, worker, reader);
  const limit = readStartLimit(fields['limit'], before?.limit ?? null, limitDomains, reader);
  if (limit !== undefined) worker.limit = limit;
  readPause(fields, worker, 'worker', reader);
  reader.finish();
  if (fields.url != null) checkUrl(fields.url as string, urls);
  return worker;
}

function modeOf(fields: Fields, before: Worker | null): Worker['mode'] {
  if (fields.mode !== undefined) return fields.mode as Worker['mode'];
  if (before === null) return fields.url == null && fields.task_urls !== true ? 'pull' : 'push';
  return before.mode;
}

/** Defaults that depend on the mode. */
function modeDefaults(
  mode: Worker['mode'],
): Pick<Worker, 'url' | 'taskUrls' | 'headers' | 'timeoutMs' | 'concurrency'> {
  const push = mode === 'push';
  return {
    url: null,
    taskUrls: false,
    headers: {},
    timeoutMs: push ? DEFAULT_PUSH_TIMEOUT_MS : PULL_TIMEOUT.maxMs,
    concurrency: push ? DEFAULT_PUSH_CONCURRENCY : null,
  };
}

function newWorker(nowMs: number): Worker {
  return {
    name: '',
    mode: 'pull',
    ...modeDefaults('pull'),
    method: 'POST',
    leaseMs: DEFAULT_LEASE_MS,
    retry: DEFAULT_RETRY_POLICY,
    rate: null,
    limit: null,
    groups: null,
    onFinish: null,
    priority: 'normal',
    noRetryOn: [],
    paused: false,
    pauseReason: null,
    resumeAt: null,
    autoPauseAfterMs: DEFAULT_AUTO_PAUSE_MS,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
}

function readName({ name }: Fields, worker: Draft, reader: FieldReader): void {
  if (name === undefined) return;
  worker.name = name as string;
  if (worker.name.startsWith('wrk_'))
    reader.fault('/name', 'invalid', 'must not begin with wrk_, which is reserved for ids');
}

/** Reads where tasks are pushed to, and how. */
function readTarget(fields: Fields, worker: Draft, reader: FieldReader): void {
  if (fields.url !== undefined) worker.url = fields.url as string | null;
  if (fields.task_urls !== undefined) worker.taskUrls = fields.task_urls as boolean;
  const { taskUrls = false } = worker;
  if (taskUrls && worker.mode === 'pull') {
    reader.fault('/task_urls', 'forbidden', 'is only allowed for push workers');
  } else if (taskUrls && worker.url !== null) {
    reader.fault('/url', 'forbidden', 'must be null for a worker with task_urls');
  } else if (!taskUrls && worker.mode === 'push' && worker.url === null) {
    reader.fault('/url', 'required', 'is required for a push worker; for a pull worker, set mode to "pull"');
  }
  if (worker.mode === 'pull' && worker.url !== null) {
    reader.fault(
      '/url',
      'forbidden',
      'is only allowed for push workers, and the mode of this worker is "pull"',
    );
  }
  if (fields.method !== undefined) worker.method = (fields.method as Worker['method'] | null) ?? 'POST';
  const headers = readHeaders(fields.headers, '/headers', reader);
  if (headers !== undefined) worker.headers = headers ?? {};
  if (worker.mode === 'pull' && Object.keys(worker.headers).length > 0) {
    reader.fault('/headers', 'forbidden', 'are only allowed for push workers');
  }
}

function readTimes(fields: Fields, worker: Draft, reader: FieldReader): void {
  const bounds = worker.mode === 'push' ? PUSH_TIMEOUT : PULL_TIMEOUT;
  const timeoutMs = reader.duration(fields.timeout, '/timeout', bounds);
  if (timeoutMs !== undefined) worker.timeoutMs = timeoutMs ?? modeDefaults(worker.mode).timeoutMs;
  const leaseMs = reader.duration(fields.lease, '/lease', LEASE);
  if (leaseMs !== undefined) worker.leaseMs = leaseMs ?? DEFAULT_LEASE_MS;
  const retry = readRetry(fields.retry, '/retry', reader);
  if (retry !== undefined) {
    worker.retry = retry === null ? DEFAULT_RETRY_POLICY : mergeRetry(worker.retry, retry);
  }
  const autoPause = fields.auto_pause as { readonly after: unknown } | null | undefined;
  if (autoPause === null) worker.autoPauseAfterMs = null;
  else if (autoPause !== undefined) {
    const afterMs = reader.duration(autoPause.after, '/auto_pause/after', AUTO_PAUSE);
    if (afterMs != null) worker.autoPauseAfterMs = afterMs;
  }
}

function readBounds(fields: Fields, worker: Draft, reader: FieldReader): void {
  if (fields.concurrency !== undefined) worker.concurrency = fields.concurrency as number | null;
  if (fields.rate !== undefined) worker.rate = readRate(fields.rate as Fields | null, reader);
  worker.groups = readGroups(fields, worker.groups ?? null, reader);
  if (fields.priority !== undefined) worker.priority = (fields.priority as Priority | null) ?? 'normal';
  if (fields.no_retry_on !== undefined) {
    worker.noRetryOn = [...new Set((fields.no_retry_on as readonly number[] | null) ?? [])];
  }
}

function readGroups(fields: Fields, before: GroupRules | null, reader: FieldReader): GroupRules | null {
  const { group_concurrency: given, group_order: order } = fields;
  const concurrency = given === undefined ? (before?.concurrency ?? null) : (given as number | null);
  const fifo = order === undefined ? (before?.fifo ?? false) : order === 'fifo';
  if (fifo && concurrency !== 1) {
    const [pointer, other] =
      order === 'fifo' ? ['/group_order', ''] : ['/group_concurrency', ', or set group_order to any'];
    reader.fault(
      pointer,
      'invalid',
      `requires a group_concurrency of 1, because the group_order is fifo${other}`,
    );
  }
  return concurrency === null ? null : { concurrency, fifo };
}

function readRate(fields: Fields | null, reader: FieldReader): Rate | null {
  if (fields === null) return null;
  const limit = fields.limit as number;
  const perMs = reader.duration(fields.per, '/rate/per', RATE_PERIOD) ?? RATE_PERIOD.minMs;
  const burst = (fields.burst as number | undefined) ?? limit;
  if (burst > limit * MAX_BURST_FACTOR) {
    reader.fault(
      '/rate/burst',
      'out_of_range',
      `must be at most ten times the limit (${limit * MAX_BURST_FACTOR}), but is ${burst}`,
    );
  }
  return { limit, perMs, burst };
}

/**
 * Checks the field `url` of a worker or a task.
 *
 * @throws Problem `invalid_url` or `forbidden_address`
 */
export function checkUrl(url: string, rules: UrlRules): void {
  const check = checkWorkerUrl(url, rules);
  if (check.kind === 'ok') return;
  throw problemAt({ pointer: '/url' }, check.code, `/url: ${check.detail}`);
}
