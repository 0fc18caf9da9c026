import { createHash } from 'node:crypto';
import { DAY_MS } from '../../../base/clock.ts';
import type { ApplyAnswer, Idempotency } from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { invalidParameter, Problem, retryLater } from '../checks/problem.ts';
import type { RestRequest } from './http.ts';
import type { Call, RestAnswer } from './route.ts';

/** How long a response is remembered (specification 3.7). */
const KEEP_MS = DAY_MS;
/** Printable ASCII. */
const KEY_PATTERN = /^[\x20-\x7e]{1,255}$/;

/** The header field of replayed responses. */
export const REPLAYED = { 'Idempotency-Replayed': 'true' } as const;

/**
 * Reads the `Idempotency-Key` of a POST; null if it is absent.
 *
 * @param caller an id that distinguishes callers, such as the id of the token
 * @throws Problem `invalid_parameter` unless the key has 1 to 255 printable ASCII characters
 */
export function idempotencyOf(request: RestRequest, caller: string): Idempotency | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined || request.method !== 'POST') return null;
  if (!KEY_PATTERN.test(key)) {
    throw invalidParameter(
      'Idempotency-Key',
      'Idempotency-Key must have 1 to 255 printable ASCII characters',
    );
  }
  const fingerprint = createHash('sha256')
    .update(`${request.method} ${request.path}?${request.query}\n`)
    .update(request.body)
    .digest('hex');
  return { scope: `${caller} ${request.path}`, key, fingerprint, keepMs: KEEP_MS, note: '' };
}

/** The idempotency keys of requests in progress in this process. A request runs only once at a time. */
export class RunningKeys {
  readonly #running = new Set<string>();

  /**
   * Runs a request unless a request with the same key is in progress.
   *
   * @param idempotency null for a request without a key
   * @throws Problem `idempotency_in_progress`
   */
  async during<T>(tenant: string, idempotency: Idempotency | null, run: () => T | Promise<T>): Promise<T> {
    if (idempotency === null) return run();
    const { scope, key } = idempotency;
    const name = `${tenant}\n${scope}\n${key}`;
    if (this.#running.has(name)) {
      throw retryLater(
        'idempotency_in_progress',
        'A request with this Idempotency-Key is still in progress. Retry in a second.',
      );
    }
    this.#running.add(name);
    try {
      return await run();
    } finally {
      this.#running.delete(name);
    }
  }
}

/** The response if a key was used for a different request. */
export function keyReused(): Problem {
  return new Problem(
    'idempotency_key_reused',
    'This Idempotency-Key was used for a different request. A key belongs to one method, path and body.',
  );
}

/** The record with which a store remembers a response; undefined if the request has no `Idempotency-Key`. */
export function recordOf(
  { idempotency }: Pick<Call, 'idempotency'>,
  answer: RestAnswer,
): Idempotency | undefined {
  return idempotency === null ? undefined : { ...idempotency, note: answerNote(answer) };
}

/**
 * The response to the first request with the same key; null if the store has applied the changes of this request.
 *
 * @throws Problem `idempotency_key_reused`
 */
export function replayOf(applied: Exclude<ApplyAnswer, { readonly kind: 'refused' }>): RestAnswer | null {
  if (applied.kind === 'reused') throw keyReused();
  return applied.kind === 'replayed' ? replayedAnswer(applied.note) : null;
}

/** The note that stores a response. */
function answerNote({ status, headers, json }: RestAnswer): string {
  return JSON.stringify({ status, headers, json });
}

/** The response that a note stores, marked as replayed. */
function replayedAnswer(note: string): RestAnswer {
  const answer = JSON.parse(note) as RestAnswer;
  return { ...answer, headers: { ...answer.headers, ...REPLAYED } };
}

/**
 * The response to an earlier request with the same key; null for a new request. A repeated request gets this response
 * even if it would now be rejected, for example because its worker was deleted.
 *
 * @throws Problem idempotency_key_reused
 */
export async function earlierAnswer(
  store: TaskStore,
  { tenant, idempotency }: Pick<Call, 'tenant' | 'idempotency'>,
): Promise<RestAnswer | null> {
  if (idempotency === null) return null;
  const known = await store.recall(tenant, idempotency);
  if (known.kind === 'reused') throw keyReused();
  return known.kind === 'replayed' ? replayedAnswer(known.note) : null;
}

/** Maximum size of a note. Longer responses are not remembered. */
const MAX_NOTE_BYTES = 64 * 1024;

/**
 * Runs a handler once per idempotency key, and replays its response afterwards. For handlers that make several calls of
 * the store: if the process crashes before the response is stored, the handler runs again.
 */
export async function remembered(
  store: TaskStore,
  { tenant, idempotency }: Pick<Call, 'tenant' | 'idempotency'>,
  run: () => RestAnswer | Promise<RestAnswer>,
): Promise<RestAnswer> {
  if (idempotency === null) return run();
  const earlier = await earlierAnswer(store, { tenant, idempotency });
  if (earlier !== null) return earlier;
  const answer = await run();
  const note = answerNote(answer);
  if (answer.status < 300 && Buffer.byteLength(note) <= MAX_NOTE_BYTES) {
    await store.remember(tenant, { ...idempotency, note });
  }
  return answer;
}
