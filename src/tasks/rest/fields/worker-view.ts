import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import type { Worker } from '../../model/documents.ts';
import { PRIORITIES } from '../../model/task.ts';
import { formatDuration, formatTime, formatTimeOrNull } from '../../model/time.ts';
import type { PutDocument, StoredDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { RestParts } from '../http/parts.ts';
import { RETRY_ANSWER, retryView } from './common-fields.ts';
import { ENDED_SPARK, endedIn, lastMinutes } from './last-minutes.ts';
import { START_LIMIT_ANSWER } from './start-limit-fields.ts';
import { TIME, TIME_OR_NULL } from './task-view.ts';
import { ON_FINISH_ANSWER, onFinishView } from './worker-on-finish.ts';

const TEXT: Schema = { type: 'string' };
const TEXT_OR_NULL: Schema = { type: 'string', nullable: true };
const WHOLE: Schema = { type: 'number', integer: true };
const COUNT: Schema = { type: 'number', integer: true, min: 0 };

const RATE: ObjectSchema = {
  type: 'object',
  name: 'Rate',
  nullable: true,
  properties: { limit: WHOLE, per: TEXT, burst: WHOLE },
};

const HEALTH: ObjectSchema = {
  type: 'object',
  name: 'WorkerHealth',
  optional: true,
  description: 'Only present when a single worker is read, or a list with `include=health`.',
  properties: {
    in_flight: { ...COUNT, description: 'Number of running attempts.' },
    waiting: { ...COUNT, description: 'Number of tasks that wait for their start.' },
    paused: COUNT,
    failed: COUNT,
    ended_spark: ENDED_SPARK,
  },
};

/** A worker in responses (specification 3.5). */
export const WORKER_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Worker',
  properties: {
    id: TEXT,
    name: TEXT,
    mode: { type: 'string', enum: ['push', 'pull'] },
    url: TEXT_OR_NULL,
    task_urls: { type: 'boolean' },
    method: TEXT,
    headers: { type: 'record', values: TEXT },
    timeout: TEXT,
    lease: TEXT,
    retry: RETRY_ANSWER,
    concurrency: { type: 'number', integer: true, nullable: true },
    rate: RATE,
    limit: START_LIMIT_ANSWER,
    group_concurrency: { type: 'number', integer: true, nullable: true },
    group_order: { type: 'string', enum: ['any', 'fifo'] },
    on_finish: ON_FINISH_ANSWER,
    priority: { type: 'string', enum: PRIORITIES },
    no_retry_on: { type: 'array', items: WHOLE },
    paused: { type: 'boolean' },
    pause_reason: TEXT_OR_NULL,
    resume_at: TIME_OR_NULL,
    auto_pause: { type: 'object', nullable: true, properties: { after: TEXT } },
    health: HEALTH,
    created_at: TIME,
    updated_at: TIME,
    version: WHOLE,
  },
};

/** A worker in the form of {@link WORKER_ANSWER}, without its health. */
export function workerView({
  id,
  version,
  body,
}: Pick<StoredDocument<'worker'>, 'id' | 'version' | 'body'>): Record<string, unknown> {
  const { rate, groups, autoPauseAfterMs } = body;
  return {
    id,
    name: body.name,
    mode: body.mode,
    url: body.url,
    task_urls: body.taskUrls ?? false,
    method: body.method,
    headers: body.headers,
    timeout: formatDuration(body.timeoutMs),
    lease: formatDuration(body.leaseMs),
    retry: retryView(body.retry),
    concurrency: body.concurrency,
    rate: rate === null ? null : { limit: rate.limit, per: formatDuration(rate.perMs), burst: rate.burst },
    limit: body.limit ?? null,
    group_concurrency: groups?.concurrency ?? null,
    group_order: groups?.fifo === true ? 'fifo' : 'any',
    on_finish: onFinishView(body.onFinish ?? null),
    priority: body.priority,
    no_retry_on: body.noRetryOn,
    paused: body.paused,
    pause_reason: body.pauseReason,
    resume_at: formatTimeOrNull(body.resumeAt),
    auto_pause: autoPauseAfterMs === null ? null : { after: formatDuration(autoPauseAfterMs) },
    created_at: formatTime(body.createdAt),
    updated_at: formatTime(body.updatedAt),
    version,
  };
}

/** What the tasks of a worker do, in the form of {@link WORKER_ANSWER}. */
export async function readHealth(
  store: Pick<TaskStore, 'counts' | 'usage'>,
  worker: { readonly tenant: string; readonly workerId: string },
  nowMs: number,
): Promise<Record<string, unknown>> {
  const [counts, minutes] = await Promise.all([
    store.counts(worker.tenant, worker.workerId),
    lastMinutes(store, worker, nowMs),
  ]);
  const { running, scheduled, retry, paused, failed } = counts;
  return {
    in_flight: running,
    waiting: scheduled + retry,
    paused,
    failed,
    ended_spark: minutes.map(endedIn),
  };
}

/** The change that writes a worker. The document is due when the pause ends. */
export function putWorker(id: string, body: Worker, expect: number | 'absent'): PutDocument<'worker'> {
  return {
    op: 'put',
    kind: 'worker',
    id,
    expect,
    parent: '',
    dueAt: body.paused ? body.resumeAt : null,
    unique: [`name:worker:${body.name}`],
    body,
  };
}

/** Tells all threads and processes about a change of a worker or its secrets. Call it after each such change. */
export function workerChanged(
  { directory, signals }: Pick<RestParts, 'directory' | 'signals'>,
  tenant: string,
  id: string,
): void {
  directory.changed(tenant);
  signals.tell('workerChanged', tenant, id);
}
