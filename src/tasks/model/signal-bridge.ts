import type { Signal, SignalListeners, SignalName, Signals } from './signals.ts';

/**
 * One end of a bridge between the signals of two threads. Each signal of one side is forwarded to the other side once.
 */
export class SignalBridge {
  readonly #signals: Signals;
  readonly #listeners: SignalListeners;
  readonly #unlisten: () => void;

  /**
   * @param names signals that the other side listens to
   * @param send sends a signal to the other end
   */
  constructor(signals: Signals, names: readonly SignalName[], send: (signal: Signal) => void) {
    this.#signals = signals;
    this.#listeners = Object.fromEntries(
      names.map(name => [name, (...details: unknown[]) => send([name, ...details] as unknown as Signal)]),
    );
    this.#unlisten = signals.listen(this.#listeners);
  }

  /** Called with a signal from the other end. */
  heard(signals: readonly Signal[]): void {
    for (const signal of signals) this.#signals.tellAllBut(this.#listeners, signal);
  }

  close(): void {
    this.#unlisten();
  }
}
