import { Fault } from '../../../../src/base/fault.ts';
import { CounterBatch } from '../../../../src/counters/batch.ts';
import { packBatch, packCounts, unpackBatch, unpackCounts } from '../../../../src/counters/packed-batch.ts';
import type { CounterStore } from '../../../../src/counters/store.ts';
import type { SeededRandom } from '../../../support/seeded-random.ts';
import { TEST_FINGERPRINT_KEY } from '../../../support/stores.ts';
import type { SimulatedTime } from '../../world/simulated-time.ts';
import type { Round } from './round.ts';
import type { StoreTroubles } from './store-troubles.ts';

/** `KVCACHE_TIMEOUT`. */
export const TIMEOUT_MS = 5_000;

/** A batch on its way to the store. */
export interface SentBatch {
  readonly batch: CounterBatch;
  readonly holdsBack: boolean;
  /** Null for a probe. */
  readonly round: Round | null;
  /** Whether some keys cannot be counted. */
  readonly isPartial: boolean;
}

export interface LinkParts {
  readonly time: SimulatedTime;
  readonly troubles: StoreTroubles;
  readonly random: SeededRandom;
  /** How long each way takes at most. */
  readonly delayMs: number;
  /** The store counts a batch. */
  readonly count: (sent: SentBatch) => void;
}

/** The instance at this end. */
export interface LinkedInstance {
  readonly number: number;
  readonly isAlive: boolean;
  /** The batch that is being decided; null while none is. */
  readonly current: Round | null;
  /** The engine has planned it, and asks the store. */
  readonly planned: () => void;
  /** A probe of the store begins. */
  probes(): void;
  /** The call for this batch has ended, or a probe. */
  settled(round: Round | null, store: 'answered' | 'failed'): void;
  die(): void;
}

/** One call in some takes this much longer than usual. */
const SLOW_ONE_IN = 40;
const SLOW_TIMES = 20;

/** The batch that the store is counting. */
const atServer = new CounterBatch(TEST_FINGERPRINT_KEY);

/**
 * The way from an instance to the store and back, which takes time and can lose what is sent. What an instance has sent
 * cannot be taken back when it dies or when its patience ends.
 */
export class StoreLink implements CounterStore {
  readonly name = 'model';
  readonly #parts: LinkParts;
  readonly #instance: LinkedInstance;

  constructor(parts: LinkParts, instance: LinkedInstance) {
    this.#parts = parts;
    this.#instance = instance;
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  increment(batch: CounterBatch): Promise<void> {
    return this.#ask(batch, false);
  }

  incrementHoldingBack(batch: CounterBatch): Promise<void> {
    return this.#ask(batch, true);
  }

  #ask(batch: CounterBatch, holdsBack: boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const instance = this.#instance;
    const round = instance.current;
    if (!instance.isAlive) return promise;
    if (round === null) instance.probes();
    else {
      instance.planned();
      round.store = 'asked';
    }
    const buffer = packBatch(batch, null);
    const { kind, ms } = this.#parts.troubles.fateOf(instance.number);
    let isOpen = true;
    const settle = (text: string | null, failureText = '') => {
      if (!isOpen) return;
      isOpen = false;
      timeout.cancel();
      if (text === null) unpackCounts(buffer, batch);
      batch.failureText = failureText;
      const isLost = text !== null || (round === null && failureText !== '');
      instance.settled(round, isLost ? 'failed' : 'answered');
      if (text === null) resolve();
      else reject(new Fault('store_failed', text));
    };
    const timeout = this.#parts.time.after(TIMEOUT_MS, () => {
      if (instance.isAlive) settle('the store did not answer in time');
    });
    const fail = (delayMs: number, text: string) => this.#back(delayMs, () => settle(text));
    const send = (delayMs: number, answered: (failureText: string) => void) =>
      this.#there(buffer, { holdsBack, round, isPartial: kind === 'partial' }, delayMs, answered);
    if (kind === 'lost') fail(ms, 'the store is away');
    else if (kind !== 'dies_before') {
      const isAnswered = kind === 'none' || kind === 'late' || kind === 'partial';
      const delayMs = kind === 'late' || kind === 'afterwards' ? ms : 0;
      send(delayMs, text => isAnswered && settle(null, text));
      if (kind === 'unanswered') fail(ms, 'the answer was lost');
      if (kind === 'afterwards') fail(0, 'the connection was lost');
    }
    if (kind === 'dies_before' || kind === 'dies_after') instance.die();
    return promise;
  }

  /** The batch reaches the store after this delay and that of the way. */
  #there(
    buffer: ArrayBuffer,
    sent: Omit<SentBatch, 'batch'>,
    delayMs: number,
    answered: (failureText: string) => void,
  ): void {
    const { time, count } = this.#parts;
    time.after(delayMs + this.#wayMs(), () => {
      unpackBatch(buffer, atServer);
      count({ ...sent, batch: atServer });
      packCounts(atServer, buffer);
      const { failureText } = atServer;
      this.#back(0, () => answered(failureText));
    });
  }

  #back(delayMs: number, arrived: () => void): void {
    this.#parts.time.after(delayMs + this.#wayMs(), () => {
      if (this.#instance.isAlive) arrived();
    });
  }

  #wayMs(): number {
    const { random, delayMs } = this.#parts;
    if (delayMs === 0) return 0;
    const ms = random.below(delayMs + 1);
    return random.below(SLOW_ONE_IN) === 0 ? ms * SLOW_TIMES : ms;
  }
}
