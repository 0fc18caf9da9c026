import { ReplyError } from 'ioredis';
import { asError } from '../../../base/fault.ts';
import { CommandTimeout, noAnswerWithin, RedisReplyError } from '../../../clients/redis/errors.ts';

interface ExchangeParts {
  /** How many replies there will be. */
  readonly commands: number;
  /** Bound of the wait for all of them; 0 for none. */
  readonly timeoutMs: number;
  /** What the replies reject with, by what the client library says when the connection is gone. */
  readonly failureOf: (failure: Error) => Error;
}

/**
 * The replies to commands that were written together, in order. It stands in the client library's queue once for each
 * of them, in place of a command of the library, which would cost more than the counting.
 */
export class Exchange {
  readonly name = 'exchange';
  readonly args = [];
  /** Every reply; an error of Redis as a {@link RedisReplyError}. Rejects when the connection ends or time is over. */
  readonly replies: Promise<unknown[]>;
  readonly #commands: number;
  readonly #received: unknown[] = [];
  readonly #settle: PromiseWithResolvers<unknown[]>;
  readonly #failureOf: (failure: Error) => Error;
  readonly #timer: NodeJS.Timeout | null;

  constructor({ commands, timeoutMs, failureOf }: ExchangeParts) {
    this.#commands = commands;
    this.#failureOf = failureOf;
    this.#settle = Promise.withResolvers();
    this.replies = this.#settle.promise;
    this.#timer = timeoutMs > 0 ? setTimeout(() => this.#timedOut(timeoutMs), timeoutMs) : null;
  }

  /** Called by the client library for each reply that is no error. */
  resolve(reply: unknown): void {
    this.#received.push(reply);
    if (this.#received.length < this.#commands) return;
    this.#clear();
    this.#settle.resolve(this.#received);
  }

  /** Called by the client library for each error of Redis, and when the connection is gone. */
  reject(failure: Error): void {
    if (failure instanceof ReplyError) {
      this.resolve(new RedisReplyError(asError(failure).message));
      return;
    }
    this.#clear();
    this.#settle.reject(this.#failureOf(failure));
  }

  #timedOut(timeoutMs: number): void {
    this.#settle.reject(new CommandTimeout(noAnswerWithin(timeoutMs)));
  }

  #clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
