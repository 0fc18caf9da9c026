import type { Clock, Timer } from '../../../base/clock.ts';
import { recentlyUsed } from '../../../base/collections/recently-used.ts';
import type { SignalName, SignalPorts, Signals } from '../../model/signals.ts';

/** Signals that a REST thread always needs: for cached documents, and for what tasks wait for. */
const ALWAYS: readonly SignalName[] = [
  'workerChanged',
  'accountChanged',
  'documentsChanged',
  'limitsChanged',
  'shareUsed',
];
/** Signals for calls that wait for a task. */
const OF_TASKS: readonly SignalName[] = ['taskDue', 'roomFor'];

/** How long the thread still wants signals of tasks after the last call: the next call often comes soon. */
const QUIET_MS = 1_000;

/**
 * Signals that a REST thread receives from other threads. There is a signal for each task that becomes due and for each
 * attempt that ends, which would wake up the thread for nothing while no call waits for tasks.
 */
export class PullSignals {
  readonly #ports: SignalPorts;
  readonly #clock: Clock;
  #waiting = false;
  #wanted = false;
  #timer: Timer | null = null;

  constructor(ports: SignalPorts, clock: Clock) {
    this.#ports = ports;
    this.#clock = clock;
    ports.want(ALWAYS);
  }

  /** @param waiting whether calls wait for tasks */
  callersChanged(waiting: boolean): void {
    this.#waiting = waiting;
    if (!waiting) this.#timer ??= this.#clock.after(QUIET_MS, () => this.#quiet());
    else if (!this.#wanted) this.#want(true);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #quiet(): void {
    this.#timer = null;
    if (!this.#waiting) this.#want(false);
  }

  #want(wanted: boolean): void {
    this.#wanted = wanted;
    this.#ports.want(wanted ? [...ALWAYS, ...OF_TASKS] : ALWAYS);
  }
}

/** The dispatcher repeats the signal every second while the share is used up. */
const VALID_MS = 2_500;
const MAX_TENANTS = 10_000;

/** The tenants that have used their shares of the push deliveries of this process, according to the last signals. */
export class UsedShares {
  readonly #clock: Clock;
  /** The time of the last signal, by tenant. */
  readonly #heardAt = recentlyUsed<string, number>(MAX_TENANTS);

  constructor(clock: Clock, signals: Signals) {
    this.#clock = clock;
    signals.listen({ shareUsed: tenant => this.#heardAt.set(tenant, clock.nowMs()) });
  }

  has(tenant: string): boolean {
    const heardAt = this.#heardAt.get(tenant);
    // The signal must expire even if the clock was set back.
    return heardAt !== undefined && Math.abs(this.#clock.nowMs() - heardAt) <= VALID_MS;
  }
}
