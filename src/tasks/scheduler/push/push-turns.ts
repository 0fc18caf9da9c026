import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import { isOutage, type StoreOutage } from '../health/store-outage.ts';
import { FairQueue, MAX_TURN, NOTHING_STARTED, type Turn, type TurnOutcome } from './fair-queue.ts';
import type { PushAttempts } from './push-attempts.ts';
import type { PushStarts } from './push-starts.ts';
import type { WaitingWorkers } from './waiting-workers.ts';

/** Number of tasks that a tenant may start before the next tenant has its turn. */
const QUANTUM = 16;
/** Maximum number of turns at the same time, each of which claims tasks from the store. */
const MAX_TURNS = 16;

/** Gives turns to workers that may start tasks, while there is room for attempts and the store is available. */
export class PushTurns {
  readonly #attempts: PushAttempts;
  readonly #waiting: WaitingWorkers;
  readonly #starts: PushStarts;
  readonly #outage: StoreOutage;
  readonly #logger: Logger;
  readonly #queue: FairQueue;
  #turns = 0;
  /** Number of tasks that the turns in progress may start. */
  #reserved = 0;
  #stopped = false;
  #turnsOver: (() => void) | null = null;

  constructor(
    attempts: PushAttempts,
    waiting: WaitingWorkers,
    starts: PushStarts,
    outage: StoreOutage,
    logger: Logger,
  ) {
    this.#attempts = attempts;
    this.#waiting = waiting;
    this.#starts = starts;
    this.#outage = outage;
    this.#logger = logger;
    const { slots } = attempts;
    this.#queue = new FairQueue({ slots, quantum: QUANTUM, maxTurn: MAX_TURN });
    waiting.onReady((tenant, workerId) => {
      this.#queue.add(tenant, workerId);
      this.#giveTurns();
    });
    slots.onRoom(() => this.#giveTurns());
    outage.onOver(() => this.#giveTurns());
  }

  /** Gives no more turns, starts no more tasks, and waits until the turns in progress are over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#starts.stop();
    if (this.#turns === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turnsOver = resolve;
    await promise;
  }

  /** The worker, or one of its secrets, has changed. */
  workerChanged(tenant: string, workerId: string): void {
    this.#starts.workerChanged(tenant, workerId);
  }

  /** Tenants whose workers wait for a turn although other tenants would have one, because they have used their share. */
  heldBack(): string[] {
    return this.#queue.heldBack();
  }

  #giveTurns(): void {
    while (!this.#stopped && !this.#outage.down && this.#turns < MAX_TURNS) {
      const turn = this.#queue.next(this.#attempts.roomBeside(this.#reserved));
      if (turn === null) return;
      void this.#take(turn);
    }
  }

  async #take(turn: Turn): Promise<void> {
    this.#turns++;
    this.#reserved += turn.max;
    let outcome: TurnOutcome;
    try {
      outcome = await this.#starts.take(turn);
    } catch (failure) {
      outcome = this.#failed(turn, failure);
    }
    this.#turns--;
    this.#reserved -= turn.max;
    this.#queue.done(turn, outcome.started, outcome.more);
    if (this.#turns === 0) this.#turnsOver?.();
    this.#giveTurns();
  }

  #failed({ tenant, workerId }: Turn, failure: unknown): TurnOutcome {
    if (isOutage(failure)) {
      this.#outage.failed();
      if (this.#outage.down) return { started: 0, more: true };
      this.#waiting.retry(tenant, workerId);
      return NOTHING_STARTED;
    }
    const reason = asError(failure).message;
    this.#logger.error('Could not start tasks of a worker; retrying in a second', {
      tenant,
      worker: workerId,
      reason,
    });
    this.#waiting.ignore(tenant, workerId);
    return NOTHING_STARTED;
  }
}
