import { backoffMs } from '../../../../base/backoff.ts';
import { within } from '../../../../base/clock.ts';
import { Fault } from '../../../../base/fault.ts';
import { ReplyTimeouts } from '../../../../clients/reply-timeouts.ts';
import { StoreFault, type TroubleName } from '../../trouble.ts';
import { WaitingBounds } from '../../waiting-bounds.ts';
import { type Call, sharedBy, sizeOf } from './calls.ts';
import { hasNotHappened, isPassing, knownFailure, messageOf, sqlState } from './failure.ts';
import { Lanes } from './lanes.ts';
import type { PostgresTaskStoreOptions } from './options.ts';
import { PrimaryPool } from './primary-pool.ts';
import { ConnectFailed, sendCalls } from './send.ts';

/** Maximum size of the calls in progress, in characters. Payloads can be large. */
const MAX_SIZE_IN_FLIGHT = 256 * 1024 * 1024;

/** Maximum time to wait for connections to close. The other side may be frozen. */
const CLOSE_MS = 1_000;

/** Delays before a statement that has not happened is sent again. */
const RETRIES = { initialMs: 10, maxMs: 1_000, multiplier: 3 };

/** A call from its beginning to its answer. */
interface Pending {
  readonly call: Call;
  /** It has its answer, or its timeout has passed. */
  isOver: boolean;
  /** See `Waiting`. Null as well if an earlier statement with it and others failed because of one of them. */
  shared: string | null;
  readonly answer: (value: unknown) => void;
  readonly fail: (fault: Fault) => void;
}

/**
 * Sends the calls of the task store to PostgreSQL. Each call gets an answer or a fault within a timeout, and the number of
 * calls in progress is limited. What is known not to have happened is sent again within that time, also over a new
 * connection.
 */
export class PostgresClient {
  readonly #options: PostgresTaskStoreOptions;
  readonly #pool: PrimaryPool;
  readonly #timeouts: ReplyTimeouts;
  readonly #bounds: WaitingBounds;
  readonly #lanes: Lanes<Pending>;
  #inFlight = 0;
  #idle: (() => void) | null = null;
  #stopped = false;
  /** Why there is no connection; null while there is one. */
  #outage: { readonly failure: unknown } | null = null;

  constructor(options: PostgresTaskStoreOptions) {
    this.#options = options;
    this.#pool = new PrimaryPool(options, failure => this.#lost(failure));
    this.#timeouts = new ReplyTimeouts(options.clock, options.timeoutMs);
    this.#bounds = new WaitingBounds({ count: options.maxInFlight, size: MAX_SIZE_IN_FLIGHT });
    this.#lanes = new Lanes(options.connections, pending => this.#run(pending));
  }

  get address(): string {
    return this.#options.hosts.map(({ host, port }) => `${host}:${port}`).join(', ');
  }

  get pool(): PrimaryPool {
    return this.#pool;
  }

  /** Waits for the answers to calls in progress, then closes. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const { clock, timeoutMs } = this.#options;
    if (this.#inFlight > 0) {
      const idle = new Promise<void>(resolve => {
        this.#idle = resolve;
      });
      await within(clock, timeoutMs, idle);
    }
    this.#timeouts.stop();
    await within(clock, CLOSE_MS, this.#pool.end());
  }

  /** @throws (rejects with) Fault `store_failed` or `overloaded` */
  ask(call: Call): Promise<unknown> {
    if (this.#stopped) return Promise.reject(this.#fault(call, new Error('the store was stopped')));
    const { tenant } = call;
    const counted = this.#bounds.take(tenant, sizeOf(call));
    if (counted === null) return Promise.reject(this.#overloaded());
    this.#inFlight++;
    return new Promise((resolve, reject) => {
      const over = (end: () => void): void => {
        if (pending.isOver) return;
        pending.isOver = true;
        this.#timeouts.received(timeout);
        this.#bounds.give(tenant, counted);
        if (--this.#inFlight === 0) this.#idle?.();
        end();
      };
      const pending: Pending = {
        call,
        isOver: false,
        shared: sharedBy(call),
        answer: value => over(() => resolve(value)),
        fail: fault => over(() => reject(fault)),
      };
      const timeout = this.#timeouts.begin(() => {
        this.#lanes.leave(pending);
        pending.fail(this.#late(call));
      });
      this.#lanes.enter(pending);
    });
  }

  /** Sends calls as one statement, until they have answers. Never rejects. */
  async #run(all: readonly Pending[]): Promise<void> {
    const { clock, random } = this.#options;
    for (let attempt = 0; ; attempt++) {
      const pending = all.filter(({ isOver }) => !isOver);
      if (pending.length === 0) return;
      try {
        const answers = await sendCalls(
          this.#pool,
          pending.map(({ call }) => call),
          this.#options,
        );
        this.#found();
        for (const [i, each] of pending.entries()) each.answer(answers[i]);
        return;
      } catch (failure) {
        const isUnsent = failure instanceof ConnectFailed;
        if (isUnsent) this.#lost(failure.cause);
        if (!this.#isWorthRepeating(pending[0].call, failure)) {
          this.#failed(pending, isUnsent ? failure.cause : failure);
          return;
        }
      }
      await new Promise<void>(resolve => void clock.after(backoffMs(RETRIES, attempt, random), resolve));
    }
  }

  #isWorthRepeating({ name }: Call, failure: unknown): boolean {
    // A ping is to say at once that nothing can be written.
    if (this.#stopped || name === 'ping') return false;
    if (!(failure instanceof ConnectFailed)) return isPassing(failure);
    // A wrong password stays wrong.
    return knownFailure(failure.cause)?.trouble !== 'postgres_access';
  }

  /** If one of several calls has failed, the others are sent again without it: they have not happened either. */
  #failed(pending: readonly Pending[], failure: unknown): void {
    if (pending.length === 1 || !hasNotHappened(failure)) {
      const otherwise = sqlState(failure) === null ? 'not_connected' : 'other';
      for (const each of pending) each.fail(this.#fault(each.call, failure, otherwise));
      return;
    }
    for (const each of pending) {
      each.shared = null;
      this.#lanes.enter(each);
    }
  }

  #lost(failure: unknown): void {
    const isKnown = this.#outage !== null;
    this.#outage = { failure };
    if (isKnown || this.#stopped) return;
    const reason = this.#options.explain(messageOf(failure));
    const fields = { address: this.address, reason };
    this.#options.logger.info('Connection to PostgreSQL for tasks lost; reconnecting', fields);
  }

  #found(): void {
    if (this.#outage === null) return;
    this.#outage = null;
    this.#options.logger.info('Connected to PostgreSQL for tasks', { address: this.address });
  }

  /** What fails a call without an answer: if there is no connection, the reason for that. */
  #late(call: Call): Fault {
    if (this.#outage !== null) return this.#fault(call, this.#outage.failure, 'not_connected');
    const text = `no answer within ${this.#options.timeoutMs} ms: it is overloaded, frozen or unreachable`;
    return this.#fault(call, new Error(text), 'no_answer');
  }

  #overloaded(): Fault {
    const text = `${this.#inFlight} operations are waiting for PostgreSQL at ${this.address}; try again later`;
    return new Fault('overloaded', text);
  }

  /** @param otherwise the trouble if the failure is not a known one */
  #fault({ name }: Call, failure: unknown, otherwise: TroubleName = 'other'): Fault {
    const known = knownFailure(failure);
    const text = `PostgreSQL at ${this.address}, ${name}: ${this.#options.explain(messageOf(failure))}`;
    if (known === null) return new StoreFault(otherwise, text, { cause: failure });
    const { trouble, advice } = known;
    return new StoreFault(trouble, advice === null ? text : `${text} (${advice})`, { cause: failure });
  }
}
