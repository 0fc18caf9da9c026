import { isDeepStrictEqual } from 'node:util';
import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import type { StartLimit } from '../../model/documents.ts';
import type { FieldReader } from '../checks/field-reader.ts';
import { PLAIN_TEXT } from '../checks/plain-text.ts';

const MAX_ENTRIES = 8;

/** The key or the value of a descriptor entry. */
const TEXT = {
  type: 'string',
  min: 1,
  max: 128,
  ...PLAIN_TEXT,
} as const satisfies Schema;

const DOMAIN: Schema = { type: 'string', min: 1, max: 255 };

/** The field `limit` of requests. */
export const START_LIMIT = {
  type: 'object',
  name: 'LimitFields',
  nullable: true,
  description:
    'A limit of the decision service: each start of a task counts as one hit of the descriptor. Tasks over the limit wait ' +
    'until its window ends, without using an attempt. null: no limit.',
  properties: {
    domain: {
      ...DOMAIN,
      description:
        'A domain that the operator lists in TASKS_LIMIT_DOMAINS or TASKS_LIMIT_SHARED_DOMAINS. For the former, ' +
        'the service puts the entry `tenant` (the domain of the account) before the descriptor.',
    },
    descriptor: {
      type: 'array',
      min: 1,
      max: MAX_ENTRIES,
      items: { type: 'object', name: 'LimitEntryFields', properties: { key: TEXT, value: TEXT } },
    },
  },
} as const satisfies ObjectSchema;

/** The field `limit` of answers. */
export const START_LIMIT_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Limit',
  nullable: true,
  properties: {
    domain: { type: 'string' },
    descriptor: {
      type: 'array',
      items: {
        type: 'object',
        name: 'LimitEntry',
        properties: { key: { type: 'string' }, value: { type: 'string' } },
      },
    },
  },
};

/**
 * Undefined if the field is left out or faulty. An unchanged limit may have a domain that the operator has removed from
 * the list, so that a response can be sent back.
 *
 * @param domains the domains that workers may name
 */
export function readStartLimit(
  field: unknown,
  before: StartLimit | null,
  domains: readonly string[],
  reader: FieldReader,
): StartLimit | null | undefined {
  const limit = field as StartLimit | null | undefined;
  if (limit == null || isDeepStrictEqual(limit, before)) return limit;
  if (domains.includes(limit.domain)) return limit;
  const accepted =
    domains.length === 0
      ? 'TASKS_LIMIT_DOMAINS is empty'
      : `allowed are ${domains.join(', ')} (TASKS_LIMIT_DOMAINS)`;
  reader.fault(
    '/limit/domain',
    'forbidden',
    `must be a domain that the operator has enabled for workers: ${accepted}`,
  );
  return undefined;
}
