import type { ObjectSchema } from '../../../base/schema/schema.ts';
import type { Worker } from '../../model/documents.ts';
import { FINAL_STATUSES, type FinalStatus, type OnFinish } from '../../model/task.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { Fields } from '../checks/field-reader.ts';
import { Problem, problemAt } from '../checks/problem.ts';
import { allDocuments } from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import { findWorker } from './named-documents.ts';

/** The field `on_finish` of a worker. */
export const ON_FINISH_FIELDS: ObjectSchema = {
  type: 'object',
  name: 'OnFinishFields',
  nullable: true,
  description:
    'Another worker gets a task (a callback) when a task of this worker has finished. Applies to tasks that are created later; ' +
    'null: no callbacks.',
  properties: {
    worker: { type: 'string', min: 1, max: 64, description: 'Name or id of the other worker.' },
    events: {
      type: 'array',
      items: { type: 'string', enum: FINAL_STATUSES },
      min: 1,
      max: FINAL_STATUSES.length,
      optional: true,
      description: 'The final statuses that cause a callback. Default: all.',
    },
  },
};

/** `on_finish` in responses. */
export const ON_FINISH_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'OnFinish',
  nullable: true,
  properties: {
    worker: { type: 'string', description: 'The id of the worker that gets the callbacks.' },
    events: { type: 'array', items: { type: 'string', enum: FINAL_STATUSES } },
  },
};

/** In the form of {@link ON_FINISH_ANSWER}. */
export function onFinishView(onFinish: OnFinish | null): Record<string, unknown> | null {
  return onFinish === null ? null : { worker: onFinish.workerId, events: onFinish.events };
}

/**
 * Applies the field `on_finish` to a worker. If it is left out, the callbacks stay unchanged.
 *
 * @param id of the worker; null for a new one
 * @throws (rejects with) Problem `validation_failed` when the other worker is missing, has no URL or is the worker itself
 */
export async function withOnFinish(
  { directory }: RestParts,
  tenant: string,
  fields: Fields,
  { id, worker }: { readonly id: string | null; readonly worker: Worker },
): Promise<Worker> {
  const given = fields.on_finish as
    | { readonly worker: string; readonly events?: FinalStatus[] }
    | null
    | undefined;
  if (given === undefined) return worker;
  if (given === null) return { ...worker, onFinish: null };
  const other = given.worker === worker.name ? null : await findWorker(directory, tenant, given.worker);
  if (given.worker === worker.name || given.worker === id || other?.id === id) {
    throw refused('invalid', 'must not be the worker itself');
  }
  if (other === null) {
    throw refused('not_found', `does not exist: ${JSON.stringify(given.worker)}`);
  }
  if (other.body.taskUrls === true) {
    throw refused(
      'invalid',
      `must not be "${other.body.name}", because a worker with task_urls has no URL for callbacks`,
    );
  }
  const { events = FINAL_STATUSES } = given;
  return {
    ...worker,
    onFinish: { workerId: other.id, events: FINAL_STATUSES.filter(status => events.includes(status)) },
  };
}

function refused(code: string, detail: string): Problem {
  const pointer = '/on_finish/worker';
  return problemAt({ pointer }, 'validation_failed', `${pointer} ${detail}`, code);
}

/**
 * Checks that no other worker refers to this worker in its `on_finish`: its callbacks would be lost.
 *
 * @throws (rejects with) Problem `worker_in_use`
 */
export async function refuseInUse(store: TaskStore, tenant: string, id: string): Promise<void> {
  for await (const { body } of allDocuments(store, tenant, 'worker')) {
    if (body.onFinish?.workerId !== id) continue;
    const detail = `The on_finish of worker "${body.name}" refers to this worker. Change it first.`;
    throw new Problem('worker_in_use', detail, { members: { worker: body.name } });
  }
}
