import type { Clock, Timer } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { SharedRecordsReader } from '../../steering/shared-records.ts';
import { type SignalMesh, SignalPorts, Signals } from '../../tasks/model/signals.ts';

/** A change of limits goes unnoticed for this time, after this process has learned of it. */
const LOOK_MS = 1_000;

/**
 * Signals the threads of the task service that limits may have changed: other rules are active, or an override, a ban or a
 * pass was made, changed or deleted, by any process, or has ended. Tasks that wait for a limit would otherwise wait for
 * up to a minute.
 */
export class LimitWatch implements Service {
  readonly name = 'watch of limits';
  readonly #mesh: SignalMesh;
  readonly #rules: () => object | null;
  readonly #steering: Pick<SharedRecordsReader, 'at'> | null;
  readonly #clock: Clock;
  readonly #signals = new Signals();
  readonly #ports = new SignalPorts(this.#signals, []);
  #leave: () => void = () => {};
  #timer: Timer | null = null;
  #seen: readonly unknown[] = [];

  /**
   * @param mesh the threads of the task service
   * @param rules returns the active rules, another object after each load; null before the first one
   * @param steering null if steering records are disabled
   */
  constructor(
    mesh: SignalMesh,
    rules: () => object | null,
    steering: Pick<SharedRecordsReader, 'at'> | null,
    clock: Clock,
  ) {
    this.#mesh = mesh;
    this.#rules = rules;
    this.#steering = steering;
    this.#clock = clock;
  }

  async start(): Promise<void> {
    this.#leave = this.#mesh.join(port => this.#ports.connect(port));
    this.#seen = this.#current();
    this.#wait();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#leave();
    this.#ports.close();
  }

  #wait(): void {
    this.#timer = this.#clock.after(LOOK_MS, () => {
      const before = this.#seen;
      this.#seen = this.#current();
      if (this.#seen.some((each, i) => each !== before[i])) this.#signals.tell('limitsChanged');
      this.#wait();
    });
  }

  /** At least one is another object after a change. */
  #current(): readonly unknown[] {
    return [this.#rules(), this.#steering?.at(this.#clock.nowMs())];
  }
}
