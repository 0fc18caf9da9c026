import { DAY_MS } from '../../../base/clock.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { isSigningSecret } from '../../delivery/signature.ts';
import type { Secret } from '../../model/documents.ts';
import { headerNameFault, headerValueFault } from '../../model/headers.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { NAMED } from '../checks/example-names.ts';
import { FieldReader, type Fields } from '../checks/field-reader.ts';
import { DURATION, type FieldTable, fieldsOf, shownBy, TEXT, takenBy, viewOf } from '../checks/resource.ts';
import { ACTOR_ANSWER, actorView } from '../fields/task-fields.ts';

const GRACE = { minMs: 0, maxMs: 7 * DAY_MS };
const DEFAULT_GRACE_MS = DAY_MS;
const FINGERPRINT_DIGITS = 12;

const of = fieldsOf<Secret>();
const TYPES = ['signing', 'header', 'token'] as const;

/** All fields of a secret (specification 3.5.4), apart from its id. Its value is shown once, when it is created. */
const SECRET_FIELDS: FieldTable<Secret> = {
  type: {
    takes: {
      type: 'string',
      enum: TYPES,
      description:
        'signing: signs pushes. header: a confidential header field. token: authenticates a pull worker. Default: signing.',
    },
    shows: { type: 'string', enum: TYPES },
    show: ({ type }) => type,
  },
  name: {
    takes: {
      type: 'string',
      min: 1,
      max: 64,
      description: 'For type header, the name of the header field; otherwise a label.',
    },
    shows: { ...TEXT, example: 'default' },
    show: ({ name }) => name,
  },
  value: {
    takes: {
      type: 'string',
      min: 1,
      max: 4096,
      description:
        'Required for type header. For type signing, "whsec_" and the base64 of 24 to 64 bytes; generated if left out. Not allowed for type token, which is always generated.',
    },
  },
  expire_previous_in: {
    takes: {
      ...DURATION,
      nullable: true,
      description: 'How long earlier secrets with the same type and name stay valid: 0s to 7d. Default: 24h.',
    },
  },
  fingerprint: {
    shows: { ...TEXT, description: 'Equal for equal values.', example: '5f2b9c04d7e1' },
    show: ({ fingerprint }) => fingerprint.slice(0, FINGERPRINT_DIGITS),
  },
  state: {
    shows: { type: 'string', enum: ['active', 'expiring', 'expired'] },
    // In its place; the view of the secret has it for the time of the call.
    show: () => null,
  },
  created_at: of.stamp('createdAt', { example: '2026-02-02T09:05:00.000Z' }),
  created_by: { shows: ACTOR_ANSWER, show: ({ createdBy }) => actorView(createdBy) },
  last_used_at: of.stamp('lastUsedAt', { nullable: true, description: 'Accurate to ten minutes.' }),
  expires_at: of.stamp('expiresAt', { nullable: true }),
};

/** The body that creates a secret. */
export const NEW_SECRET: ObjectSchema = {
  type: 'object',
  name: 'NewSecret',
  properties: takenBy(SECRET_FIELDS, 'new'),
  example: { type: 'signing', expire_previous_in: '24h' },
};

export interface SecretFields {
  readonly type: Secret['type'];
  /** For a header secret, the name of the header field in lower case. */
  readonly name: string;
  /** Null if the service generates the value. */
  readonly value: string | null;
  readonly graceMs: number;
}

/** @throws Problem `validation_failed`, which never repeats the value */
export function readSecretFields(fields: Fields): SecretFields {
  const reader = new FieldReader();
  const type = (fields.type as Secret['type'] | undefined) ?? 'signing';
  const name = fields.name as string | undefined;
  const value = fields.value as string | undefined;
  if (type === 'header') checkHeader(name, value, reader);
  if (type === 'signing' && value !== undefined) checkSigning(value, reader);
  if (type === 'token' && value !== undefined) {
    reader.fault(
      '/value',
      'forbidden',
      'is not allowed for a token: the service generates it and shows it once',
    );
  }
  const graceMs = reader.duration(fields.expire_previous_in, '/expire_previous_in', GRACE);
  reader.finish();
  return {
    type,
    name: type === 'header' ? name!.toLowerCase() : (name ?? 'default'),
    value: value ?? null,
    graceMs: graceMs ?? DEFAULT_GRACE_MS,
  };
}

function checkHeader(name: string | undefined, value: string | undefined, reader: FieldReader): void {
  if (name === undefined)
    reader.fault('/name', 'required', 'is required for a header secret: the name of the header field');
  else {
    const fault = headerNameFault(name);
    if (fault !== null) reader.fault('/name', 'invalid', fault);
  }
  if (value === undefined)
    reader.fault('/value', 'required', 'is required for a header secret: the value of the header field');
  else {
    const fault = headerValueFault(value);
    if (fault !== null) reader.fault('/value', 'invalid', fault);
  }
}

function checkSigning(value: string, reader: FieldReader): void {
  if (isSigningSecret(value)) return;
  const form = '"whsec_" and the base64 of 24 to 64 bytes';
  reader.fault('/value', 'invalid', `must be ${form}; if it is left out, the service generates a secret`);
}

export const SECRET_ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Secret',
  properties: { id: { ...TEXT, example: NAMED.ids.secret }, ...shownBy(SECRET_FIELDS) },
};

export const CREATED_SECRET: ObjectSchema = {
  type: 'object',
  name: 'CreatedSecret',
  properties: {
    ...SECRET_ANSWER.properties,
    value: {
      type: 'string',
      nullable: true,
      description: 'The value, if the service generated it. Shown only here, and null in replayed responses.',
      example: 'whsec_…',
    },
  },
};

/** A secret in the form of {@link SECRET_ANSWER}, which never contains the value. */
export function secretView(
  { id, body }: Pick<StoredDocument<'secret'>, 'id' | 'body'>,
  nowMs: number,
): Record<string, unknown> {
  const live = body.expiresAt === null ? 'active' : 'expiring';
  return { id, ...viewOf(SECRET_FIELDS, body), state: isLive(body, nowMs) ? live : 'expired' };
}

export function isLive({ expiresAt }: Secret, nowMs: number): boolean {
  return expiresAt === null || expiresAt > nowMs;
}
