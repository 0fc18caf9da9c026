import { createHash } from 'node:crypto';
import { DAY_MS } from '../../../base/clock.ts';
import type { Idempotency } from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { invalidParameter, Problem } from '../checks/problem.ts';
import type { RestRequest } from './http.ts';
import type { Call, RestAnswer } from './route.ts';

/** How long an answer is remembered (specification 3.7). */
const KEEP_MS = DAY_MS;
/** Printable ASCII. */
const KEY_PATTERN = /^[\x20-\x7e]{1,255}$/;

/** On answers that are those of an earlier request. */
export const REPLAYED = { 'Idempotency-Replayed': 'true' } as const;

/**
 * What the `Idempotency-Key` of a POST asks to be remembered; null without one.
 *
 * @param caller the id of the token, or whatever else tells callers apart
 * @throws Problem invalid_parameter when the key is not 1 to 255 printable characters of ASCII
 */
export function idempotencyOf(request: RestRequest, caller: string): Idempotency | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined || request.method !== 'POST') return null;
  if (!KEY_PATTERN.test(key)) {
    throw invalidParameter('Idempotency-Key', 'Idempotency-Key has 1 to 255 printable characters of ASCII');
  }
  const fingerprint = createHash('sha256')
    .update(`${request.method} ${request.path}?${request.query}\n`)
    .update(request.body)
    .digest('hex');
  return { scope: `${caller} ${request.path}`, key, fingerprint, keepMs: KEEP_MS, note: '' };
}

/** The keys of requests that run in this process, so that the same one cannot run twice at once. */
export class RunningKeys {
  readonly #running = new Set<string>();

  /**
   * Runs a request unless one with the same key runs already.
   *
   * @throws Problem idempotency_in_progress when one does
   */
  async during<T>(tenant: string, { scope, key }: Idempotency, run: () => T | Promise<T>): Promise<T> {
    const name = `${tenant}\n${scope}\n${key}`;
    if (this.#running.has(name)) {
      throw new Problem(
        'idempotency_in_progress',
        'the first request with this Idempotency-Key is still running: repeat this one in a second',
        { headers: { 'Retry-After': '1' } },
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

/** What to throw when a key comes with another request than before. */
export function keyReused(): Problem {
  return new Problem(
    'idempotency_key_reused',
    'another request had this Idempotency-Key: a key belongs to one method, path and body',
  );
}

/** The note that holds an answer. */
export function answerNote({ status, headers, json }: RestAnswer): string {
  return JSON.stringify({ status, headers, json });
}

/** The answer that a note holds. */
export function replayedAnswer(note: string): RestAnswer {
  const answer = JSON.parse(note) as RestAnswer;
  return { ...answer, headers: { ...answer.headers, ...REPLAYED } };
}

/**
 * What the same request was answered before, though it could not be accepted any more: what it needs may be gone, and
 * what it asks for may be over. Null for a request that is new.
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

/** Longer answers are not remembered: stores take no more. */
const MAX_NOTE_BYTES = 64 * 1024;

/**
 * For handlers that are no single call of the store: runs once for each key, and answers the same again afterwards. A
 * crash between the run and the note makes it run again.
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
