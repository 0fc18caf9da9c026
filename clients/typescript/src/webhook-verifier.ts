import { createHmac, timingSafeEqual } from 'node:crypto';

export interface WebhookVerifierOptions {
  /** Maximum difference in seconds between the time of a delivery and the clock of this machine. Default: 300. */
  readonly toleranceSeconds?: number;
  /** The current time in milliseconds since 1970. Default: `Date.now`. */
  readonly nowMs?: () => number;
}

/** Header fields of a request: those of `node:http`, with names in lower case, or those of `fetch`. */
export type ReceivedHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** What the signature of a delivery covers, beside the body. */
export interface VerifiedDelivery {
  /** The id of the task. It is the same in all attempts, so it identifies repeated deliveries. */
  readonly id: string;
  /** When this attempt was sent. */
  readonly sentAt: Date;
}

/** The request is not a valid delivery. Answer 401, and do not process it. */
export class WebhookRejected extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WebhookRejected';
  }
}

const SECRET = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
/** Standard Webhooks. A shorter key is a secret of which a part was lost. */
const MIN_KEY_BYTES = 24;
/** Without dots, because a dot separates the parts that are signed. */
const ID = /^[\w-]{1,128}$/;
const TIMESTAMP = /^\d{1,12}$/;
/** More than a worker can have signing secrets. Further signatures are not compared. */
const MAX_SIGNATURES = 16;

/**
 * Verifies the signatures of deliveries to a push worker (Standard Webhooks). It knows one secret, or several while a
 * secret is replaced: a delivery is valid if one of its signatures was made with one of them.
 */
export class WebhookVerifier {
  readonly #keys: readonly Buffer[];
  readonly #toleranceSeconds: number;
  readonly #nowMs: () => number;

  /** @param secrets the signing secrets of the worker: `whsec_…` */
  constructor(secrets: string | readonly string[], options: WebhookVerifierOptions = {}) {
    const all = typeof secrets === 'string' ? [secrets] : secrets;
    if (all.length === 0) throw new Error('A verifier needs at least one signing secret.');
    // The message must not contain the value.
    if (!all.every(secret => SECRET.test(secret)))
      throw new Error('A signing secret has the form whsec_ followed by base64.');
    this.#keys = all.map(secret => Buffer.from(secret.slice('whsec_'.length), 'base64'));
    if (this.#keys.some(key => key.length < MIN_KEY_BYTES))
      throw new Error(`A signing secret has at least ${MIN_KEY_BYTES} bytes after whsec_.`);
    this.#toleranceSeconds = options.toleranceSeconds ?? 300;
    // With `NaN`, for example of a setting that is not a number, no delivery would be too old.
    if (!(this.#toleranceSeconds >= 0)) throw new RangeError('The tolerance must be a number of seconds.');
    this.#nowMs = options.nowMs ?? Date.now;
  }

  /**
   * Verifies a delivery.
   *
   * @param body the bytes of the body as they were received. Parse it afterward: JSON that was parsed and serialized
   *   again has other bytes.
   * @throws WebhookRejected
   */
  verify(headers: ReceivedHeaders, body: Uint8Array): VerifiedDelivery {
    const id = fieldOf(headers, 'webhook-id');
    const timestamp = fieldOf(headers, 'webhook-timestamp');
    if (!ID.test(id)) throw new WebhookRejected('webhook-id is missing or malformed.');
    if (!TIMESTAMP.test(timestamp))
      throw new WebhookRejected('webhook-timestamp is missing or not a number.');
    const ageSeconds = this.#nowMs() / 1_000 - Number(timestamp);
    if (Math.abs(ageSeconds) > this.#toleranceSeconds) {
      throw new WebhookRejected(
        `The delivery was sent ${Math.round(Math.abs(ageSeconds))} s ${ageSeconds > 0 ? 'ago' : 'in the future'}, ` +
          `more than the tolerance of ${this.#toleranceSeconds} s. If it is new, check the clocks.`,
      );
    }
    const signatures = fieldOf(headers, 'webhook-signature').split(' ').slice(0, MAX_SIGNATURES);
    const given = signatures.map(signature => Buffer.from(signature));
    const isValid = this.#keys
      .map(key => signatureOf(key, `${id}.${timestamp}.`, body))
      .some(expected =>
        given.some(each => each.length === expected.length && timingSafeEqual(each, expected)),
      );
    if (!isValid) throw new WebhookRejected('No signature was made with a known secret.');
    return { id, sentAt: new Date(Number(timestamp) * 1_000) };
  }
}

function signatureOf(key: Buffer, head: string, body: Uint8Array): Buffer {
  return Buffer.from(`v1,${createHmac('sha256', key).update(head).update(body).digest('base64')}`);
}

/** The value of a header field; empty if it is absent or repeated. */
function fieldOf(headers: ReceivedHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  return typeof value === 'string' ? value : '';
}
