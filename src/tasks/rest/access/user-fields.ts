import type { ObjectSchema, StringSchema } from '../../../base/schema/schema.ts';
import { ROLES, type User } from '../../model/documents.ts';
import { formatTime, formatTimeOrNull } from '../../model/time.ts';
import type { StoredDocument } from '../../store/documents.ts';

/** Excludes control characters, and lone surrogates, which stores could not keep. */
const EMAIL: StringSchema = {
  type: 'string',
  max: 254,
  pattern: /^[^\s@\p{Cc}\p{Cs}]+@[^\s@\p{Cc}\p{Cs}]+$/u,
  accepts: 'be an email address: text without spaces before and after one @',
  description: 'Unique in the account, ignoring case. May contain non-ASCII letters.',
};
const NAME: StringSchema = { type: 'string', max: 100 };
const ROLE: StringSchema = { type: 'string', enum: ROLES };
const STATUS: StringSchema = {
  type: 'string',
  enum: ['invited', 'active', 'disabled'],
  description: 'Tokens of disabled users are rejected.',
};
const EXTERNAL_ID: StringSchema = {
  type: 'string',
  min: 1,
  max: 255,
  pattern: /^[^\p{Cc}\p{Cs}]+$/u,
  accepts: 'not contain control characters',
  description: 'The subject (`sub`) of the user at the identity provider; unique in the account.',
};

export const NEW_USER: ObjectSchema = {
  type: 'object',
  name: 'NewUser',
  properties: {
    email: EMAIL,
    name: { ...NAME, optional: true },
    role: { ...ROLE, optional: true, description: 'Default: `member`.' },
    status: { ...STATUS, optional: true },
    external_id: { ...EXTERNAL_ID, optional: true, nullable: true },
  },
};

export const USER_CHANGE: ObjectSchema = {
  type: 'object',
  name: 'UserChange',
  properties: {
    email: { ...EMAIL, optional: true },
    name: { ...NAME, optional: true },
    role: { ...ROLE, optional: true },
    status: { ...STATUS, optional: true },
    external_id: { ...EXTERNAL_ID, optional: true, nullable: true },
  },
};

const TIME: StringSchema = { type: 'string', format: 'date-time' };

export const USER: ObjectSchema = {
  type: 'object',
  name: 'User',
  properties: {
    id: { type: 'string' },
    email: EMAIL,
    name: NAME,
    role: ROLE,
    status: STATUS,
    external_id: { ...EXTERNAL_ID, nullable: true },
    last_seen_at: { ...TIME, nullable: true },
    created_at: TIME,
    updated_at: TIME,
    version: { type: 'number', integer: true, min: 1, description: 'Also sent as the ETag.' },
  },
};

/** A user in the form of {@link USER}. */
export function showUser({
  id,
  version,
  body,
}: Pick<StoredDocument<'user'>, 'id' | 'version' | 'body'>): Record<string, unknown> {
  return {
    id,
    email: body.email,
    name: body.name,
    role: body.role,
    status: body.status,
    external_id: body.externalId,
    last_seen_at: formatTimeOrNull(body.lastSeenAt),
    created_at: formatTime(body.createdAt),
    updated_at: formatTime(body.updatedAt),
    version,
  };
}

/** Applies the fields of a body that one of the schemas above has accepted. Other fields stay unchanged. */
export function withFields(user: User, body: Readonly<Record<string, unknown>>, nowMs: number): User {
  const {
    email,
    name,
    role,
    status,
    external_id: externalId,
  } = body as {
    email?: string;
    name?: string;
    role?: User['role'];
    status?: User['status'];
    external_id?: string | null;
  };
  return {
    ...user,
    ...(email !== undefined && { email }),
    ...(name !== undefined && { name }),
    ...(role !== undefined && { role }),
    ...(status !== undefined && { status }),
    ...(externalId !== undefined && { externalId }),
    updatedAt: nowMs,
  };
}

/** The unique names under which a user is found. */
export function userNames({ email, externalId }: User): string[] {
  const names = [`email:${email.toLowerCase()}`];
  if (externalId !== null) names.push(`external:${externalId}`);
  return names;
}

/** The account counts its active owners, and always has at least one. */
export function isActiveOwner({ role, status }: User): boolean {
  return role === 'owner' && status === 'active';
}
