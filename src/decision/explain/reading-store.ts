import { Fault } from '../../base/fault.ts';
import { REFUSED } from '../../counters/admission/admission.ts';
import { Penalty } from '../../counters/admission/penalty.ts';
import type { CounterBatch } from '../../counters/batch.ts';
import { holdBack, holdBackAfterLeases } from '../../counters/holding-back.ts';
import { type CounterStore, callIfAble } from '../../counters/store.ts';
import type { PresentLeases } from './explain-leases.ts';

/** How the counts of a batch are read. */
export interface Reading {
  /** Sets the counts of a batch to those of the store. */
  readonly counts: (batch: CounterBatch) => Promise<void>;
  /** How many leases to list of each limit; null if only their number matters. */
  readonly mostLeases: number | null;
}

/** A store that computes the result of another store from its current counts, without counting. */
export class ReadingStore implements CounterStore {
  readonly name: string;
  readonly secondsApart: boolean;
  /** By slot of the batch: the current count; NaN if unknown. */
  present = new Float64Array(0);
  /** By slot of the batch: the current state of its penalty. */
  penalties: readonly Penalty[] = [];
  /** What leases hold at present. */
  presentLeases: PresentLeases = NO_LEASES;
  readonly #store: CounterStore;
  readonly #reading: Reading;

  constructor(store: CounterStore, reading: Reading) {
    this.name = store.name;
    this.secondsApart = store.secondsApart === true;
    this.#store = store;
    this.#reading = reading;
  }

  async increment(batch: CounterBatch): Promise<void> {
    await this.#read(batch);
    batch.spreadCounts();
  }

  async incrementHoldingBack(batch: CounterBatch): Promise<void> {
    await this.#read(batch);
    if (batch.leases.count === 0) {
      holdBack(batch);
      return;
    }
    await this.#preview(batch);
    holdBackAfterLeases(batch);
    this.#leaveHeldBack(batch);
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  async #read(batch: CounterBatch): Promise<void> {
    await this.#reading.counts(batch);
    this.present = batch.counts.slice(0, batch.slotCount);
    this.penalties = Array.from({ length: batch.slotCount }, (_, slot) => {
      const state = new Penalty();
      if (batch.admissions.penalties.of(slot) !== null) batch.admissions.penalties.read(slot, state);
      return state;
    });
    if (batch.leases.count > 0) this.presentLeases = await this.#readLeases(batch);
  }

  async #readLeases(batch: CounterBatch): Promise<PresentLeases> {
    const { mostLeases } = this.#reading;
    const { slotHeld, slotEndsMs } = batch.leases;
    const held = slotHeld.slice(0, batch.slotCount);
    const endsMs = slotEndsMs.slice(0, batch.slotCount);
    const areListed = mostLeases !== null;
    let lists: PresentLeases['lists'] = [];
    const isRead = this.present.some(
      (count, slot) => batch.admissions.isLeased(slot) && !Number.isNaN(count),
    );
    // A store that cannot read leases need not be asked for them.
    if (!isRead) return { held, endsMs, lists, areListed };
    try {
      lists = (await this.#store.leases?.(batch, mostLeases ?? 0)) ?? [];
    } catch (failure) {
      if (areListed || !(failure instanceof Fault)) throw failure;
    }
    return { held, endsMs, lists, areListed };
  }

  /** Sets what the ops with leases would do. Those that cannot be read remain without a count. */
  async #preview(batch: CounterBatch): Promise<void> {
    const { counts, leases, admissions, opAfters, opSlots, opRefused } = batch;
    try {
      await callIfAble(this.#store, 'preview', batch);
    } catch (failure) {
      if (!(failure instanceof Fault)) throw failure;
      for (let slot = 0; slot < batch.slotCount; slot++) {
        if (!admissions.isLeased(slot)) continue;
        counts[slot] = Number.NaN;
        this.present[slot] = Number.NaN;
      }
    }
    for (let op = 0; op < batch.opCount; op++) {
      const slot = opSlots[op];
      if (!admissions.isLeased(slot) || !Number.isNaN(counts[slot])) continue;
      opAfters[op] = Number.NaN;
      opRefused[op] = REFUSED.no;
      leases.slotHeld[slot] = this.presentLeases.held[slot];
    }
  }

  /** What is held back does not change the limits with leases. */
  #leaveHeldBack({ counts, leases, admissions, opCount, opHeld, opSlots, opAfters }: CounterBatch): void {
    for (let op = 0; op < opCount; op++) {
      const slot = opSlots[op];
      if (opHeld[op] === 0 || !admissions.isLeased(slot)) continue;
      counts[slot] = this.present[slot];
      opAfters[op] = this.present[slot];
      leases.slotHeld[slot] = this.presentLeases.held[slot];
      leases.slotEndsMs[slot] = this.presentLeases.endsMs[slot];
    }
  }
}

const NO_LEASES: PresentLeases = {
  held: new Float64Array(0),
  endsMs: new Float64Array(0),
  lists: [],
  areListed: false,
};
