import type { Secret } from '../../model/documents.ts';
import { formatTime, formatTimeOrNull } from '../../model/time.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { ObjectSchema, Schema } from '../checks/schema.ts';
import { ACTOR_ANSWER, actorView, TIME, TIME_OR_NULL } from './task-view.ts';

const FINGERPRINT_DIGITS = 12;

const TEXT: Schema = { type: 'string' };

const SECRET_FIELDS = {
  id: TEXT,
  type: { type: 'string', enum: ['signing', 'header', 'token'] },
  name: TEXT,
  fingerprint: { type: 'string', description: 'The same for equal values.' },
  state: { type: 'string', enum: ['active', 'expiring', 'expired'] },
  created_at: TIME,
  created_by: ACTOR_ANSWER,
  last_used_at: { ...TIME_OR_NULL, description: 'Exact to ten minutes.' },
  expires_at: TIME_OR_NULL,
} as const satisfies Record<string, Schema>;

export const SECRET_ANSWER: ObjectSchema = { type: 'object', name: 'Secret', properties: SECRET_FIELDS };

export const CREATED_SECRET: ObjectSchema = {
  type: 'object',
  name: 'CreatedSecret',
  properties: {
    ...SECRET_FIELDS,
    value: {
      type: 'string',
      nullable: true,
      description:
        'Once, and only if it was made here: no other answer has it, not even that to the same request again.',
    },
  },
};

/** A secret as answers show it: never with its value. */
export function secretView(
  { id, body }: Pick<StoredDocument<'secret'>, 'id' | 'body'>,
  nowMs: number,
): Record<string, unknown> {
  const { expiresAt } = body;
  const live = expiresAt === null ? 'active' : 'expiring';
  return {
    id,
    type: body.type,
    name: body.name,
    fingerprint: body.fingerprint.slice(0, FINGERPRINT_DIGITS),
    state: isLive(body, nowMs) ? live : 'expired',
    created_at: formatTime(body.createdAt),
    created_by: actorView(body.createdBy),
    last_used_at: formatTimeOrNull(body.lastUsedAt),
    expires_at: formatTimeOrNull(expiresAt),
  };
}

export function isLive({ expiresAt }: Secret, nowMs: number): boolean {
  return expiresAt === null || expiresAt > nowMs;
}
