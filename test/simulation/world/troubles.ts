import type { Operation } from '../../../src/tasks/store/operations.ts';
import { tenantOf } from '../../../src/tasks/store/operations.ts';
import type { Action, StoreFaultKind } from '../steps/step.ts';

type PlannedFault = Extract<Action, { do: 'fault' }>;
type Outage = Extract<Action, { do: 'outage' }>;
type ReceiverTrouble = Extract<Action, { do: 'receiver' }>;

/** What an operation of the store is to suffer. */
export interface Fate {
  readonly kind: StoreFaultKind | 'none';
  readonly ms: number;
}

const NO_FAULT: Fate = { kind: 'none', ms: 0 };

/** What goes wrong at the moment, because steps say so, and when something went wrong. */
export class Troubles {
  readonly #nowMs: () => number;
  readonly #faults: PlannedFault[] = [];
  readonly #outages: { readonly outage: Outage; readonly untilMs: number }[] = [];
  readonly #receivers: { readonly trouble: ReceiverTrouble; readonly untilMs: number }[] = [];
  #network = { percent: 0, untilMs: 0 };
  /** By number of the process. */
  readonly #deafUntilMs = new Map<number, number>();
  /** Spans of time in which nobody can rely on anything to be quick. */
  readonly #spans: { readonly fromMs: number; untilMs: number }[] = [];
  /** How many operations reach the store late. */
  underway = 0;
  /** How often each kind of trouble came. */
  readonly seen = new Map<string, number>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Something goes wrong from now on, for this long. */
  note(what: string, ms: number): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
    this.#spans.push({ fromMs: this.#nowMs(), untilMs: this.#nowMs() + ms });
  }

  /** Whether anything went wrong in this span of time. */
  wereWithin(fromMs: number, untilMs: number): boolean {
    return this.#spans.some(span => span.fromMs <= untilMs && span.untilMs >= fromMs);
  }

  plan(fault: PlannedFault): void {
    this.#faults.push(fault);
  }

  begin(outage: Outage): void {
    this.note(outage.tenant === null ? 'outage' : 'outage of a tenant', outage.ms);
    this.#outages.push({ outage, untilMs: this.#nowMs() + outage.ms });
  }

  disturb(trouble: ReceiverTrouble): void {
    this.note(`receiver ${trouble.how}`, trouble.ms);
    this.#receivers.push({ trouble, untilMs: this.#nowMs() + trouble.ms });
  }

  loseMessages(percent: number, ms: number): void {
    this.note('network', ms);
    this.#network = { percent, untilMs: this.#nowMs() + ms };
  }

  /**
   * What the threads of a process tell each other is lost. This is no trouble: they notice everything through the store,
   * as other processes do.
   */
  loseSignals(process: number, ms: number): void {
    this.seen.set('signals', (this.seen.get('signals') ?? 0) + 1);
    this.#deafUntilMs.set(process, this.#nowMs() + ms);
  }

  /** Whether a signal between the threads of this process is lost. */
  isDeaf(process: number): boolean {
    return (this.#deafUntilMs.get(process) ?? 0) > this.#nowMs();
  }

  /** Nothing goes wrong any more. */
  end(): void {
    this.#deafUntilMs.clear();
    this.#faults.length = 0;
    this.#outages.length = 0;
    this.#receivers.length = 0;
    this.#network = { percent: 0, untilMs: 0 };
  }

  /** How many of a hundred messages of callers are lost. */
  get lossPercent(): number {
    return this.#network.untilMs > this.#nowMs() ? this.#network.percent : 0;
  }

  receiverOf(tenant: string, worker: string): ReceiverTrouble['how'] | null {
    const found = this.#receivers.find(
      ({ trouble, untilMs }) =>
        untilMs > this.#nowMs() && trouble.tenant === tenant && trouble.worker === worker,
    );
    return found?.trouble.how ?? null;
  }

  /** @param process the number of the process that asks */
  fateOf(process: number, operation: Operation): Fate {
    const tenant = tenantOf(operation);
    for (const { outage, untilMs } of this.#outages) {
      const leftMs = untilMs - this.#nowMs();
      if (leftMs <= 0 || (outage.tenant !== null && outage.tenant !== tenant)) continue;
      return outage.hangs ? { kind: 'late', ms: leftMs } : { kind: 'lost', ms: 0 };
    }
    const at = this.#faults.findIndex(
      fault => fault.operation === operation.name && (fault.process === null || fault.process === process),
    );
    if (at < 0) return NO_FAULT;
    const [{ kind, ms }] = this.#faults.splice(at, 1);
    this.note(`${kind} ${operation.name}`, ms);
    return { kind, ms };
  }
}
