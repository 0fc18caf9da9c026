import { createHmac } from 'node:crypto';

/** Prefix of a signing secret (https://www.standardwebhooks.com). */
const PREFIX = 'whsec_';
/** Key sizes that the specification of Standard Webhooks asks for. */
const MIN_KEY_BYTES = 24;
const MAX_KEY_BYTES = 64;
/** Of a key that is made here: as many as the output of the hash. */
const NEW_KEY_BYTES = 32;

/**
 * A new signing secret: `whsec_` and base64.
 *
 * @param randomBytes returns that number of random bytes; from `node:crypto` outside of tests
 */
export function newSigningSecret(randomBytes: (count: number) => Uint8Array): string {
  return PREFIX + Buffer.from(randomBytes(NEW_KEY_BYTES)).toString('base64');
}

/** True for `whsec_` and base64 (standard alphabet, padded or not) of 24 to 64 bytes. */
export function isSigningSecret(text: string): boolean {
  const key = signingKey(text);
  return key !== null && key.length >= MIN_KEY_BYTES && key.length <= MAX_KEY_BYTES;
}

/** The signed parts of a request. */
export interface SignedMessage {
  /** `webhook-id`. */
  readonly id: string;
  /** `webhook-timestamp`: whole seconds since the epoch. */
  readonly timestamp: number;
  readonly body: string | Uint8Array;
}

/**
 * The value of `webhook-signature`: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`, one for each secret in
 * their order, with spaces in between. While a secret is being replaced both sign, so receivers may have either.
 *
 * @throws Error for a secret that cannot be read; the text does not hold it
 */
export function signatures(secrets: readonly string[], { id, timestamp, body }: SignedMessage): string {
  return secrets
    .map(secret => {
      const key = signingKey(secret);
      if (key === null)
        throw new Error('a signing secret of the worker does not consist of whsec_ and base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
    })
    .join(' ');
}

function signingKey(secret: string): Buffer | null {
  if (!secret.startsWith(PREFIX)) return null;
  const encoded = secret.slice(PREFIX.length);
  const key = Buffer.from(encoded, 'base64');
  // Node.js ignores characters that are not base64. Encoding the bytes again shows whether there were any.
  return key.length > 0 && unpadded(key.toString('base64')) === unpadded(encoded) ? key : null;
}

function unpadded(base64: string): string {
  return base64.replace(/=+$/, '');
}
