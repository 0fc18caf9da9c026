import type { Signal, SignalListeners, SignalName, Signals } from './signals.ts';

/** Every signal there is. */
const NAMES: Readonly<Record<SignalName, true>> = {
  taskDue: true,
  roomFor: true,
  cancelRequested: true,
  workerChanged: true,
  accountChanged: true,
  documentsChanged: true,
  scheduleDue: true,
};

/** One end of a bridge between the signals of two threads: what is told on one side is told on the other, once. */
export class SignalBridge {
  readonly #signals: Signals;
  readonly #listeners: SignalListeners;
  readonly #unlisten: () => void;

  /** @param send passes a signal to the other end */
  constructor(signals: Signals, send: (signal: Signal) => void) {
    this.#signals = signals;
    const names = Object.keys(NAMES) as SignalName[];
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
