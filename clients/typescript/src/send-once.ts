import { retryAfterMs, SluiceProblem, SluiceUnreachable } from './failures.ts';
import type { Problem } from './schemas.ts';

/** One attempt of a call. */
export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** A successful answer; `body` is the parsed JSON, undefined for an empty body. */
export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** Answers of the service are at most a few MiB. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Sends a request and reads its answer, within its timeout.
 *
 * @throws SluiceProblem if the answer is an error
 * @throws SluiceUnreachable if there is no complete answer
 * @throws the reason of the signal
 */
export async function sendOnce({ url, method, headers, body, timeoutMs, signal }: Sent): Promise<Received> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const end = (): void => controller.abort();
  signal?.addEventListener('abort', end, { once: true });
  const timer = setTimeout(end, timeoutMs);
  let response: Response;
  let text: string;
  try {
    // A redirect would lead a token, or a POST, to an address that nobody has chosen.
    response = await fetch(url, { method, headers, body, redirect: 'manual', signal: controller.signal });
    text = await textOf(response);
  } catch (failure) {
    signal?.throwIfAborted();
    const { origin } = new URL(url);
    const reason = controller.signal.aborted ? `no answer within ${timeoutMs} ms` : reasonOf(failure);
    throw new SluiceUnreachable(`The request to ${origin} failed: ${reason}.`, failure);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }
  const parsed = parse(text);
  const { status } = response;
  if (response.ok && (parsed !== null || text === '')) {
    return { status, headers: response.headers, body: text === '' ? undefined : parsed };
  }
  const problem = typeof parsed === 'object' && parsed !== null ? (parsed as Partial<Problem>) : {};
  throw new SluiceProblem(status, problem, retryAfterMs(response.headers.get('retry-after'), Date.now()));
}

/** @throws Error if the answer is too large */
async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new Error('the answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Null for text that is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** `fetch` reports most failures as "fetch failed", with the reason as their cause. */
function reasonOf(failure: unknown): string {
  const { message, cause } = failure as Error;
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}
