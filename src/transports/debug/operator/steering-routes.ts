import type { JsonObject } from '../../../base/json.ts';
import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import { RecordRefused } from '../../../steering/check-record.ts';
import { recordJson, type SteeringKind, type SteeringRecord } from '../../../steering/record.ts';
import type { Steering } from '../../../steering/steering.ts';
import { choice, list, number, object, optional, text, time, whole } from './fields.ts';
import { OperatorProblem } from './problem.ts';
import { changes, type OperatorRoute, reads } from './route.ts';

/** The texts of the routes for one kind of records. */
interface KindTexts {
  readonly kind: SteeringKind;
  /** In paths, and in the names of operations. */
  readonly plural: string;
  readonly one: string;
  readonly effect: string;
}

const KINDS: readonly KindTexts[] = [
  {
    kind: 'override',
    plural: 'overrides',
    one: 'an override',
    effect: 'replaces the limit of the descriptors; their counts stay',
  },
  {
    kind: 'ban',
    plural: 'bans',
    one: 'a ban',
    effect: 'refuses requests with the descriptors without counting them',
  },
  {
    kind: 'pass',
    plural: 'passes',
    one: 'a pass',
    effect: 'allows the descriptors without counting them',
  },
];

/**
 * The routes for overrides, bans and passes.
 * @param steering null if the counter store cannot keep them, or if no token is configured, so that no call gets here
 */
export function steeringRoutes(steering: Steering | null): OperatorRoute[] {
  return KINDS.flatMap(texts => [
    listRoute(steering, texts),
    putRoute(steering, texts),
    deleteRoute(steering, texts),
  ]);
}

function listRoute(steering: Steering | null, { kind, plural }: KindTexts): OperatorRoute {
  return {
    ...reads(`/${plural}`, `list${capitalized(plural)}`, `List the ${plural}`),
    answer: {
      description: `The ${plural} that have not ended, the oldest first.`,
      schema: object({ [plural]: list(recordSchema(kind)) }),
    },
    handle: () => ({ json: { [plural]: (steering?.list(kind) ?? []).map(recordJson) } }),
  };
}

function putRoute(steering: Steering | null, { kind, plural, one, effect }: KindTexts): OperatorRoute {
  return {
    ...changes('PUT', `/${plural}`, `put${capitalized(kind)}`, `Create or replace ${one}: it ${effect}`),
    body: object(givenFields(kind)),
    answer: {
      description: 'The record. It replaces the one for the same descriptors.',
      schema: recordSchema(kind),
    },
    handle: async ({ body, by }) => {
      const record = await changed(() => available(steering).put(body as JsonObject, kind, by ?? ''));
      return { json: recordJson(record), audit: auditOf(record) };
    },
  };
}

function deleteRoute(steering: Steering | null, { kind, plural, one }: KindTexts): OperatorRoute {
  return {
    ...changes('DELETE', `/${plural}/:id`, `delete${capitalized(kind)}`, `Delete ${one}`),
    query: { reason: optional({ ...text('Why, for the log.'), max: 500 }) },
    answer: { description: 'The record that was deleted.', schema: recordSchema(kind) },
    handle: async ({ params }) => {
      const record = await available(steering).remove(kind, params['id']);
      if (record === null) {
        const where = `GET /api/v1/${plural} lists them`;
        throw new OperatorProblem('not_found', `There is no ${kind} with this id; ${where}.`);
      }
      return { json: recordJson(record), audit: auditOf(record) };
    },
  };
}

function available(steering: Steering | null): Steering {
  if (steering !== null) return steering;
  throw new OperatorProblem(
    'not_supported',
    'Overrides, bans and passes need Redis or the embedded store: memcached may evict them at any time.',
  );
}

async function changed(change: () => Promise<SteeringRecord>): Promise<SteeringRecord> {
  try {
    return await change();
  } catch (failure) {
    if (!(failure instanceof RecordRefused)) throw failure;
    const errors = failure.faults.map(({ pointer, detail }) => ({
      pointer,
      code: 'invalid',
      detail: `${pointer === '' ? 'the record' : pointer} ${detail}`,
    }));
    const text = errors.map(({ detail }) => detail).join('. ');
    throw new OperatorProblem('validation_failed', `${text}.`, { errors });
  }
}

function auditOf(record: SteeringRecord): Record<string, string | number> {
  const { id, domain, entries, until, requests_per_unit: limit, factor } = recordJson(record);
  return {
    id: String(id),
    domain: String(domain),
    entries: JSON.stringify(entries),
    until: String(until),
    ...(typeof limit === 'number' && { requests_per_unit: limit }),
    ...(typeof factor === 'number' && { factor }),
  };
}

/** The fields that an operator sends. `checkRecord` checks them further. */
function givenFields(kind: SteeringKind): Record<string, Schema> {
  const value = text('A value, or a pattern with `*`. Every value matches if it is empty or absent.');
  return {
    domain: text(),
    entries: list(
      object({ key: text(), value: optional(value) }),
      'The entries of the descriptors: as many, and in the same order.',
    ),
    ...(kind === 'override' && {
      requests_per_unit: optional(
        whole('The limit, at most 9007199254740991. Not for rules with several limits, which need a factor.'),
      ),
      factor: optional(number('Instead of `requests_per_unit`: multiplies the limits of the rule.')),
    }),
    until: time('When it ends, within 400 days.'),
    reason: text('Why, for other operators and the log.'),
  };
}

function recordSchema(kind: SteeringKind): ObjectSchema {
  const properties = {
    id: text(),
    kind: choice([kind]),
    ...givenFields(kind),
    created: time(),
    by: text('The token and the address that created it.'),
  };
  return { type: 'object', name: capitalized(kind), properties };
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
