import { addressOf, type TlsOptions } from './address.ts';
import { CallQueue } from './call-queue.ts';
import { type Decision, decisionWithout, decodeDecision } from './decision.ts';
import { NoDecision } from './no-decision.ts';
import { encodeRequest, type LimitRequest } from './request.ts';

export interface LimitClientOptions {
  /**
   * The gRPC port of Sluice: `127.0.0.1:8081`, `https://sluice.example.com:8081` with TLS, or `unix:/run/sluice.sock`.
   * Without a port, it is 8081.
   */
  readonly address: string;
  /** Certificates for `https://`. */
  readonly tls?: TlsOptions;
  /** Deadline of a call in milliseconds, 1 to 60,000. Default: 50. */
  readonly timeoutMs?: number;
  /** Whether requests are allowed if there is no decision. Default: `allow`. */
  readonly onFailure?: 'allow' | 'deny';
  /** Called for each request without a decision, with the reason. */
  readonly onError?: (reason: NoDecision) => void;
  /** Maximum number of calls that wait for an answer. Further calls fail at once. Default: 10,000. */
  readonly maxPending?: number;
}

const DEFAULT_TIMEOUT_MS = 50;
const MAX_TIMEOUT_MS = 60_000;
const DEFAULT_MAX_PENDING = 10_000;

/**
 * Asks Sluice for decisions over one connection, which it opens at once and replaces when it is lost. A connection
 * without calls does not keep the program running.
 */
export class LimitClient {
  readonly #calls: CallQueue;
  readonly #timeoutMs: number;
  readonly #withoutDecision: Decision;
  readonly #onError: (reason: NoDecision) => void;

  /** @throws RangeError if an option has a value that is not accepted */
  constructor(options: LimitClientOptions) {
    const { address, tls, timeoutMs = DEFAULT_TIMEOUT_MS, onFailure = 'allow', onError = () => {} } = options;
    const { maxPending = DEFAULT_MAX_PENDING } = options;
    if (onFailure !== 'allow' && onFailure !== 'deny')
      throw new RangeError(`onFailure is ${String(onFailure)}. It must be "allow" or "deny".`);
    if (!(timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS))
      throw new RangeError(`timeoutMs is ${timeoutMs}. It must be from 1 to ${MAX_TIMEOUT_MS}.`);
    if (!(maxPending >= 1)) throw new RangeError(`maxPending is ${maxPending}. It must be at least 1.`);
    this.#timeoutMs = timeoutMs;
    this.#withoutDecision = decisionWithout(onFailure === 'allow');
    this.#onError = onError;
    this.#calls = new CallQueue(addressOf(address, tls), maxPending);
  }

  /**
   * Asks whether a request may proceed, and counts it. Without a decision, for example because the service does not answer
   * in time, it calls `onError` and returns the answer that `onFailure` chooses. It rejects only if `onError` throws.
   */
  async decide(request: LimitRequest): Promise<Decision> {
    try {
      return decodeDecision(await this.#calls.call(encodeRequest(request), this.#timeoutMs));
    } catch (failure) {
      this.#onError(reasonOf(failure));
      return this.#withoutDecision;
    }
  }

  /** Waits for the answers of earlier calls, and closes the connection. Further calls fail at once. */
  async close(): Promise<void> {
    await this.#calls.close();
  }
}

/** Programs without types may leave out parts of a request. */
function reasonOf(failure: unknown): NoDecision {
  if (failure instanceof NoDecision) return failure;
  return new NoDecision(
    'invalid_request',
    `The request was not sent: ${(failure as Error).message}.`,
    failure,
  );
}
