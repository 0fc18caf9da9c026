import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import { isOutage, type StoreOutage } from '../health/store-outage.ts';
import { FairQueue, MAX_TURN, NOTHING_STARTED, type Turn, type TurnOutcome } from './fair-queue.ts';
import type { PushAttempts } from './push-attempts.ts';
import type { PushSlots } from './push-slots.ts';
import type { PushStarts } from './push-starts.ts';
import type { WaitingWorkers } from './waiting-workers.ts';

interface PushTurnsParts {
  readonly slots: PushSlots;
  readonly waiting: WaitingWorkers;
  readonly starts: PushStarts;
  readonly attempts: Pick<PushAttempts, 'roomBeside'>;
  readonly outage: StoreOutage;
  readonly logger: Logger;
}

/** Number of tasks that a tenant may start before the next tenant has its turn. */
const QUANTUM = 16;
/** Maximum number of turns at the same time, each of which claims tasks from the store. */
const MAX_TURNS = 16;

/** Gives turns to workers that may start tasks, while there is room for attempts and the store is available. */
export class PushTurns {
  readonly #parts: PushTurnsParts;
  readonly #queue: FairQueue;
  #turns = 0;
  /** Number of tasks that the turns in progress may start. */
  #reserved = 0;
  #stopped = false;
  #turnsOver: (() => void) | null = null;

  constructor(parts: PushTurnsParts) {
    this.#parts = parts;
    this.#queue = new FairQueue({ slots: parts.slots, quantum: QUANTUM, maxTurn: MAX_TURN });
    parts.waiting.onReady((tenant, workerId) => {
      this.#queue.add(tenant, workerId);
      this.#giveTurns();
    });
    parts.slots.onRoom(() => this.#giveTurns());
    parts.outage.onOver(() => this.#giveTurns());
  }

  /** Gives no more turns, starts no more tasks, and waits until the turns in progress are over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#parts.starts.stop();
    if (this.#turns === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turnsOver = resolve;
    await promise;
  }

  /** The worker, or one of its secrets, has changed. */
  workerChanged(tenant: string, workerId: string): void {
    this.#parts.starts.workerChanged(tenant, workerId);
  }

  /** Tenants whose workers wait for a turn although other tenants would have one, because they have used their share. */
  heldBack(): string[] {
    return this.#queue.heldBack();
  }

  #giveTurns(): void {
    const { outage, attempts } = this.#parts;
    while (!this.#stopped && !outage.down && this.#turns < MAX_TURNS) {
      const turn = this.#queue.next(attempts.roomBeside(this.#reserved));
      if (turn === null) return;
      void this.#take(turn);
    }
  }

  async #take(turn: Turn): Promise<void> {
    this.#turns++;
    this.#reserved += turn.max;
    let outcome: TurnOutcome;
    try {
      outcome = await this.#parts.starts.take(turn);
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
    const { waiting, outage, logger } = this.#parts;
    if (isOutage(failure)) {
      outage.failed();
      if (outage.down) return { started: 0, more: true };
      waiting.retry(tenant, workerId);
      return NOTHING_STARTED;
    }
    const reason = asError(failure).message;
    logger.error('Could not start tasks of a worker; retrying in a second', {
      tenant,
      worker: workerId,
      reason,
    });
    waiting.ignore(tenant, workerId);
    return NOTHING_STARTED;
  }
}
