import { checkWorkerUrl, type UrlRules } from '../../delivery/worker-url.ts';
import type { Worker } from '../../model/documents.ts';
import { FieldReader, type Fields } from '../checks/field-reader.ts';
import { problemAt } from '../checks/problem.ts';
import { type Draft, putFields } from '../checks/resource.ts';
import type { RestConfig } from '../http/parts.ts';
import { checkPause } from './common-fields.ts';
import { readStartLimit } from './start-limit-fields.ts';
import { modeDefaults, newWorker, WORKER_FIELDS } from './worker-fields.ts';

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
  const worker: Draft<Worker> = {
    ...(before ?? newWorker(nowMs)),
    ...(before?.mode !== mode && modeDefaults(mode)),
    mode,
    updatedAt: nowMs,
  };
  putFields(WORKER_FIELDS, fields, worker, reader);
  checkTarget(worker, reader);
  putGroups(fields, worker, reader);
  const limit = readStartLimit(fields['limit'], before?.limit ?? null, limitDomains, reader);
  if (limit !== undefined) worker.limit = limit;
  checkPause(fields, worker, 'worker', reader);
  reader.finish();
  if (fields.url != null) checkUrl(fields.url as string, urls);
  return worker;
}

function modeOf(fields: Fields, before: Worker | null): Worker['mode'] {
  if (fields.mode !== undefined) return fields.mode as Worker['mode'];
  if (before === null) return fields.url == null && fields.task_urls !== true ? 'pull' : 'push';
  return before.mode;
}

/** Checks that the mode of a worker allows where its tasks are pushed to, and how. */
function checkTarget({ mode, url, taskUrls = false, headers }: Worker, reader: FieldReader): void {
  if (taskUrls && mode === 'pull') {
    reader.fault('/task_urls', 'forbidden', 'is only allowed for push workers');
  } else if (taskUrls && url !== null) {
    reader.fault('/url', 'forbidden', 'must be null for a worker with task_urls');
  } else if (!taskUrls && mode === 'push' && url === null) {
    reader.fault('/url', 'required', 'is required for a push worker; for a pull worker, set mode to "pull"');
  }
  if (mode === 'push') return;
  if (url !== null) {
    reader.fault(
      '/url',
      'forbidden',
      'is only allowed for push workers, and the mode of this worker is "pull"',
    );
  }
  if (Object.keys(headers).length > 0) {
    reader.fault('/headers', 'forbidden', 'are only allowed for push workers');
  }
}

/** Reads `group_concurrency` and `group_order`, which depend on each other. */
function putGroups(fields: Fields, worker: Draft<Worker>, reader: FieldReader): void {
  const { group_concurrency: given, group_order: order } = fields;
  const before = worker.groups ?? null;
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
  worker.groups = concurrency === null ? null : { concurrency, fifo };
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
