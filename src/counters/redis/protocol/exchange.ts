import { type Redis, ReplyError } from 'ioredis';
import { asError } from '../../../base/fault.ts';
import { CommandTimeout, noAnswerWithin, RedisReplyError } from '../../../clients/redis/errors.ts';

interface ExchangeParts {
  /** Number of commands in the bytes, and of replies. At least 1. */
  readonly commands: number;
  /** Timeout for all replies together; 0 for none. */
  readonly timeoutMs: number;
  /** Converts an error of ioredis about the connection into the error of the caller. */
  readonly failureOf: (failure: Error) => Error;
}

/**
 * Sends encoded commands on a connection that is ready, and waits for their replies. It bypasses the commands of ioredis,
 * because creating these costs more than counting. Texts in the replies are buffers, and error replies are
 * {@link RedisReplyError}s.
 *
 * This relies on internals of ioredis. `exchange.test.ts` fails if they change. Check at each upgrade that
 *
 * - `commandQueue` holds an item `{ command, stream, select }` for each command in flight, in the order of sending
 * - for each reply, the first item is removed and its `command.resolve` or `command.reject` is called, also outside of
 *   pipelines and transactions, with texts as buffers
 * - all items are rejected when the connection is lost (`flushQueue`)
 * - of `command`, nothing else but `name` and `args` is needed (`DataHandler`, `event_handler`)
 *
 * @throws (rejects with) CommandTimeout, or what `failureOf` returns if the connection is lost
 */
export function exchange(redis: Redis, bytes: Buffer, parts: ExchangeParts): Promise<unknown[]> {
  const { stream, commandQueue } = redis;
  const command = new Exchange(parts);
  stream.write(bytes);
  for (let i = 0; i < parts.commands; i++) commandQueue.push({ command, stream, select: 0 });
  return command.replies;
}

/** Takes the place of a command of ioredis in its queue, once for each command that was sent. Collects the replies. */
class Exchange {
  readonly name = 'exchange';
  readonly args = [];
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

  /** Called by ioredis for each reply that is not an error. */
  resolve(reply: unknown): void {
    this.#received.push(reply);
    if (this.#received.length < this.#commands) return;
    this.#clear();
    this.#settle.resolve(this.#received);
  }

  /** Called by ioredis for each error reply, and when the connection is lost. */
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
