import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import { NAMED } from '../checks/example-names.ts';
import type { Fields } from '../checks/field-reader.ts';
import { Problem, problemAt } from '../checks/problem.ts';
import { SUCCEEDED_EXAMPLE, TASK_ANSWER, taskView } from '../fields/task-fields.ts';
import { remembered } from '../http/idempotency.ts';
import type { RestParts } from '../http/parts.ts';
import { ITEM_ERROR, type ItemResult, refusedItem } from '../http/problem-answer.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import {
  COMPLETION,
  endAttempt,
  FAILURE,
  type LeaseOwners,
  OUTCOMES,
  type OutcomeKind,
  RELEASE,
  readOutcome,
} from './lease-outcomes.ts';

const MAX_OUTCOMES = 100;

/** The fields of each outcome. */
const FIELDS_OF: Readonly<Record<OutcomeKind, Readonly<Record<string, Schema>>>> = {
  complete: COMPLETION.properties,
  fail: { ...FAILURE.properties, error: { ...(FAILURE.properties.error as ObjectSchema), optional: true } },
  release: RELEASE.properties,
};

const SETTLEMENT: ObjectSchema = {
  type: 'object',
  name: 'Outcomes',
  properties: {
    outcomes: {
      type: 'array',
      min: 1,
      max: MAX_OUTCOMES,
      items: {
        type: 'object',
        name: 'Outcome',
        properties: {
          lease_id: { type: 'string', max: 64 },
          outcome: { type: 'string', enum: OUTCOMES },
          ...FIELDS_OF.complete,
          ...FIELDS_OF.fail,
          ...FIELDS_OF.release,
        },
      },
    },
  },
  example: {
    outcomes: [
      { lease_id: NAMED.lease, outcome: 'complete', result: { message_id: 'm-4711' } },
      { lease_id: '0b8e1f4d27c94a63b5d0e9f8a7c61234', outcome: 'release', delay: '30s' },
    ],
  },
};

const SETTLEMENT_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'OutcomeResults',
  properties: {
    results: {
      type: 'array',
      description: 'One result for each outcome, in the same order.',
      items: {
        type: 'object',
        name: 'OutcomeResult',
        properties: {
          lease_id: { type: 'string' },
          status: {
            type: 'number',
            integer: true,
            description: 'The HTTP status that a request for this outcome alone would have returned.',
          },
          task: { ...TASK_ANSWER, optional: true },
          error: ITEM_ERROR,
        },
      },
    },
  },
  example: {
    results: [
      { lease_id: NAMED.lease, status: 200, task: SUCCEEDED_EXAMPLE },
      {
        lease_id: '0b8e1f4d27c94a63b5d0e9f8a7c61234',
        status: 409,
        error: {
          code: 'lease_lost',
          title: 'The lease is no longer active',
          detail:
            'The lease is unknown or no longer active. Stop working on the task; its result is not recorded.',
        },
      },
    ],
  },
};

/** `POST /v1/leases/settle` (specification 3.5.3). */
export function settleLeasesRoute(parts: RestParts, owners: LeaseOwners): Route {
  return {
    method: 'POST',
    path: '/v1/leases/settle',
    operation: 'settleLeases',
    summary: 'Report the outcomes of many attempts',
    access: { role: 'member', scope: 'leases', workers: true },
    body: SETTLEMENT,
    answers: { 200: { description: 'The result of each outcome', schema: SETTLEMENT_ANSWER } },
    handle: call => remembered(parts.store, call, () => settleLeases(parts, owners, call)),
  };
}

/** Settles all leases concurrently, so that the store handles them in one step. */
async function settleLeases(parts: RestParts, owners: LeaseOwners, call: Call): Promise<RestAnswer> {
  const outcomes = call.body['outcomes'] as readonly Fields[];
  const results = await Promise.all(outcomes.map(fields => settleOne(parts, owners, call, fields)));
  return { status: 200, json: { results } };
}

async function settleOne(
  parts: RestParts,
  owners: LeaseOwners,
  call: Call,
  fields: Fields,
): Promise<ItemResult & { readonly lease_id: string }> {
  const lease_id = fields.lease_id as string;
  try {
    const kind = fields.outcome as OutcomeKind;
    checkFields(kind, fields);
    const task = await endAttempt(parts, owners, call, lease_id, readOutcome(kind, fields));
    return { lease_id, status: 200, task: taskView(task, null) };
  } catch (thrown) {
    if (!(thrown instanceof Problem)) throw thrown;
    return { lease_id, ...refusedItem(thrown) };
  }
}

/** @throws Problem `validation_failed` for a field of another outcome, or a missing field */
function checkFields(kind: OutcomeKind, fields: Fields): void {
  const known = FIELDS_OF[kind];
  const strange = Object.keys(fields).find(
    name => name !== 'lease_id' && name !== 'outcome' && !(name in known),
  );
  const missing = kind === 'fail' && fields.error === undefined ? 'error' : undefined;
  const name = strange ?? missing;
  if (name === undefined) return;
  const pointer = `/${name}`;
  const detail = `${pointer} ${strange === undefined ? 'is required' : 'is not allowed'} for the outcome ${kind}`;
  throw problemAt({ pointer }, 'validation_failed', detail);
}
