import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { ROLES, type User } from '../../model/documents.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { NAMED } from '../checks/example-names.ts';
import { FieldReader, type Fields } from '../checks/field-reader.ts';
import { PLAIN_TEXT } from '../checks/plain-text.ts';
import {
  type Draft,
  type FieldTable,
  fieldsOf,
  putFields,
  shownBy,
  TEXT,
  takenBy,
  viewOf,
} from '../checks/resource.ts';

const of = fieldsOf<User>();

/** Excludes control characters, and lone surrogates, which stores could not keep. */
const EMAIL = {
  type: 'string',
  max: 254,
  pattern: /^[^\s@\p{Cc}\p{Cs}]+@[^\s@\p{Cc}\p{Cs}]+$/u,
  accepts: 'be an email address: text without spaces before and after one @',
  description: 'Unique in the account, ignoring case. May contain non-ASCII letters.',
} as const;
const NAME = { type: 'string', max: 100 } as const;
const ROLE = { type: 'string', enum: ROLES } as const;
const STATUS = {
  type: 'string',
  enum: ['invited', 'active', 'disabled'],
  description: 'Tokens of disabled users are rejected.',
} as const;
const EXTERNAL_ID = {
  type: 'string',
  min: 1,
  max: 255,
  ...PLAIN_TEXT,
  description: 'The subject (`sub`) of the user at the identity provider; unique in the account.',
} as const;

/** All fields of a user (specification 3.12), apart from the id and version. */
const USER_FIELDS: FieldTable<User> = {
  email: of.plain('email', EMAIL, { required: true, shows: EMAIL, example: NAMED.email }),
  name: of.plain('name', NAME, { shows: NAME, example: 'Ann' }),
  role: of.plain('role', ROLE, { shows: ROLE, example: 'admin' }),
  status: of.plain('status', STATUS, { shows: STATUS, example: 'active' }),
  external_id: of.plain('externalId', EXTERNAL_ID, { fallback: null, shows: EXTERNAL_ID }),
  last_seen_at: of.stamp('lastSeenAt', { nullable: true, example: NAMED.time }),
  created_at: of.stamp('createdAt', { example: '2026-02-01T08:00:00.000Z' }),
  updated_at: of.stamp('updatedAt', { example: '2026-02-01T08:00:00.000Z' }),
};

export const NEW_USER: ObjectSchema = {
  type: 'object',
  name: 'NewUser',
  properties: {
    ...takenBy(USER_FIELDS, 'new'),
    role: { ...ROLE, optional: true, description: 'Default: `member`.' },
  },
  example: { email: NAMED.email, name: 'Ann', role: 'admin' },
};

export const USER_CHANGE: ObjectSchema = {
  type: 'object',
  name: 'UserChange',
  properties: takenBy(USER_FIELDS, 'change'),
  example: { role: 'member' },
};

export const USER: ObjectSchema = {
  type: 'object',
  name: 'User',
  properties: {
    id: { ...TEXT, example: NAMED.ids.user },
    ...shownBy(USER_FIELDS),
    version: { type: 'number', integer: true, min: 1, description: 'Also sent as the ETag.' },
  },
};

/** A user in the form of {@link USER}. */
export function showUser({
  id,
  version,
  body,
}: Pick<StoredDocument<'user'>, 'id' | 'version' | 'body'>): Record<string, unknown> {
  return { id, ...viewOf(USER_FIELDS, body), version };
}

/** Applies the fields of a body that one of the schemas above has accepted. Other fields stay unchanged. */
export function withFields(user: User, fields: Fields, nowMs: number): User {
  const changed: Draft<User> = { ...user, updatedAt: nowMs };
  putFields(USER_FIELDS, fields, changed, new FieldReader());
  return changed;
}

/** The account counts its active owners, and always has at least one. */
export function isActiveOwner({ role, status }: User): boolean {
  return role === 'owner' && status === 'active';
}
