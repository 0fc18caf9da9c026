import type { Action, StoreFaultKind } from '../steps/step.ts';

type PlannedFault = Extract<Action, { do: 'fault' }>;
type Outage = Extract<Action, { do: 'outage' }>;

/** What a call of the store is to suffer. */
export interface Fate {
  readonly kind: StoreFaultKind | 'none';
  readonly ms: number;
}

const NO_FAULT: Fate = { kind: 'none', ms: 0 };

/** What goes wrong with the store, because steps say so. */
export class StoreTroubles {
  readonly #nowMs: () => number;
  readonly #faults: PlannedFault[] = [];
  readonly #outages: { readonly outage: Outage; readonly untilMs: number }[] = [];
  /** How often each kind of trouble came. */
  readonly seen = new Map<string, number>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  note(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  plan(fault: PlannedFault): void {
    this.#faults.push(fault);
  }

  begin(outage: Outage): void {
    this.note(outage.hangs ? 'the store hangs' : 'the store is away');
    this.#outages.push({ outage, untilMs: this.#nowMs() + outage.ms });
  }

  /** Nothing goes wrong any more. */
  end(): void {
    this.#faults.length = 0;
    this.#outages.length = 0;
  }

  /** Whether an instance has no connection. */
  isAway(instance: number): boolean {
    return this.#outageOf(instance) !== undefined;
  }

  /** @param instance the number of the one that asks */
  fateOf(instance: number): Fate {
    const found = this.#outageOf(instance);
    if (found !== undefined) {
      const leftMs = found.untilMs - this.#nowMs();
      return found.outage.hangs ? { kind: 'late', ms: leftMs } : { kind: 'lost', ms: 0 };
    }
    const at = this.#faults.findIndex(fault => fault.instance === null || fault.instance === instance);
    if (at < 0) return NO_FAULT;
    const [{ kind, ms }] = this.#faults.splice(at, 1);
    this.note(`call ${kind}`);
    return { kind, ms };
  }

  #outageOf(instance: number) {
    const nowMs = this.#nowMs();
    return this.#outages.find(
      ({ outage, untilMs }) => untilMs > nowMs && (outage.instance ?? instance) === instance,
    );
  }
}
