import type { Clock, Timer } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { SharedRecordsReader } from '../../steering/shared-records.ts';
import { type SignalMesh, SignalPorts, Signals } from '../../tasks/model/signals.ts';

interface LimitWatchParts {
  /** The threads of the task service. */
  readonly mesh: SignalMesh;
  /** The active rules, another object after each load; null before the first one. */
  readonly rules: () => object | null;
  /** Null if steering records are disabled. */
  readonly steering: Pick<SharedRecordsReader, 'at'> | null;
  readonly clock: Clock;
}

/** A change of limits goes unnoticed for this time, after this process has learned of it. */
const LOOK_MS = 1_000;

/**
 * Signals the threads of the task service that limits may have changed: other rules are active, or an override, a ban or a
 * pass was made, changed or deleted, by any process, or has ended. Tasks that wait for a limit would otherwise wait for
 * up to a minute.
 */
export class LimitWatch implements Service {
  readonly name = 'watch of limits';
  readonly #parts: LimitWatchParts;
  readonly #signals = new Signals();
  readonly #ports = new SignalPorts(this.#signals, []);
  #leave: () => void = () => {};
  #timer: Timer | null = null;
  #seen: readonly unknown[] = [];

  constructor(parts: LimitWatchParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    this.#leave = this.#parts.mesh.join(port => this.#ports.connect(port));
    this.#seen = this.#current();
    this.#wait();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#leave();
    this.#ports.close();
  }

  #wait(): void {
    this.#timer = this.#parts.clock.after(LOOK_MS, () => {
      const before = this.#seen;
      this.#seen = this.#current();
      if (this.#seen.some((each, i) => each !== before[i])) this.#signals.tell('limitsChanged');
      this.#wait();
    });
  }

  /** At least one is another object after a change. */
  #current(): readonly unknown[] {
    const { rules, steering, clock } = this.#parts;
    return [rules(), steering?.at(clock.nowMs())];
  }
}
