import type { Signal, SignalListeners, SignalName, Signals } from './signals.ts';

/** One end of a bridge between the signals of two threads: what is told on one side is told on the other, once. */
export class SignalBridge {
  readonly #signals: Signals;
  readonly #listeners: SignalListeners;
  readonly #unlisten: () => void;

  /**
   * @param names signals that the other side listens to
   * @param send passes one to the other end
   */
  constructor(signals: Signals, names: readonly SignalName[], send: (signal: Signal) => void) {
    this.#signals = signals;
    this.#listeners = Object.fromEntries(
      names.map(name => [name, (...details: unknown[]) => send([name, ...details] as unknown as Signal)]),
    );
    this.#unlisten = signals.listen(this.#listeners);
  }

  /** What the other end has sent. */
  heard(signals: readonly Signal[]): void {
    for (const signal of signals) this.#signals.tellAllBut(this.#listeners, signal);
  }

  close(): void {
    this.#unlisten();
  }
}
