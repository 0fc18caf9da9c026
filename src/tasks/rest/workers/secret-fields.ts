import { DAY_MS } from '../../../base/clock.ts';
import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import { isSigningSecret } from '../../delivery/signature.ts';
import type { Secret } from '../../model/documents.ts';
import { headerNameFault, headerValueFault } from '../../model/headers.ts';
import { formatTime, formatTimeOrNull } from '../../model/time.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { FieldReader, type Fields } from '../checks/field-reader.ts';
import { durationField } from '../fields/common-fields.ts';
import { ACTOR_ANSWER, actorView, TIME, TIME_OR_NULL } from '../fields/task-view.ts';

const GRACE = { minMs: 0, maxMs: 7 * DAY_MS };
const DEFAULT_GRACE_MS = DAY_MS;

/** The body that creates a secret (specification 3.5.4). */
export const NEW_SECRET: ObjectSchema = {
  type: 'object',
  name: 'NewSecret',
  properties: {
    type: {
      type: 'string',
      enum: ['signing', 'header', 'token'],
      optional: true,
      description:
        'signing: signs pushes. header: a confidential header field. token: authenticates a pull worker. Default: signing.',
    },
    name: {
      type: 'string',
      min: 1,
      max: 64,
      optional: true,
      description: 'For type header, the name of the header field; otherwise a label.',
    },
    value: {
      type: 'string',
      min: 1,
      max: 4096,
      optional: true,
      description:
        'Required for type header. For type signing, "whsec_" and the base64 of 24 to 64 bytes; generated if left out. Not allowed for type token, which is always generated.',
    },
    expire_previous_in: durationField(
      'How long earlier secrets with the same type and name stay valid: 0s to 7d. Default: 24h.',
    ),
  },
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

const FINGERPRINT_DIGITS = 12;

const TEXT: Schema = { type: 'string' };

const SECRET_FIELDS = {
  id: TEXT,
  type: { type: 'string', enum: ['signing', 'header', 'token'] },
  name: TEXT,
  fingerprint: { type: 'string', description: 'Equal for equal values.' },
  state: { type: 'string', enum: ['active', 'expiring', 'expired'] },
  created_at: TIME,
  created_by: ACTOR_ANSWER,
  last_used_at: { ...TIME_OR_NULL, description: 'Accurate to ten minutes.' },
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
      description: 'The value, if the service generated it. Shown only here, and null in replayed responses.',
    },
  },
};

/** A secret in the form of {@link SECRET_ANSWER}, which never contains the value. */
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
