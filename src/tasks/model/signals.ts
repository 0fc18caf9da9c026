/** What one part of this process tells the others at once. Other processes learn of it from the store, within a second. */
export interface SignalListeners {
  /** A task of the worker is due at `at`, or has been made due again. New tasks are told only if they are due soon. */
  taskDue?(tenant: string, workerId: string, at: number): void;
  /** An attempt of the worker has ended: there is room for another. */
  roomFor?(tenant: string, workerId: string): void;
  /** Somebody wants a running task to stop. */
  cancelRequested?(tenant: string, taskId: string): void;
  /** The document of the worker, or one of its secrets, has changed or is gone. */
  workerChanged?(tenant: string, workerId: string): void;
  /** The document of the account has changed. */
  accountChanged?(tenant: string): void;
  /** A document of the tenant has changed, so cached copies are outdated. */
  documentsChanged?(tenant: string): void;
  /** A schedule was made or changed and is due at `at`; null when it is not due any more. */
  scheduleDue?(tenant: string, scheduleId: string, at: number | null): void;
  /** Tasks of the tenant wait because it has its share of the deliveries of this process; repeated every second. */
  shareUsed?(tenant: string): void;
}

export type SignalName = keyof SignalListeners;

/** Every signal that there is. */
export const SIGNAL_NAMES: readonly SignalName[] = [
  'taskDue',
  'roomFor',
  'cancelRequested',
  'workerChanged',
  'accountChanged',
  'documentsChanged',
  'scheduleDue',
  'shareUsed',
];

type SignalArguments<N extends SignalName> = Parameters<NonNullable<SignalListeners[N]>>;

/** A signal as data that can be sent to other threads. */
export type Signal = { [N in SignalName]: readonly [name: N, ...details: SignalArguments<N>] }[SignalName];

/** Hands signals on to whoever listens, in the order in which they came to listen. A listener must not throw. */
export class Signals {
  readonly #listeners = new Set<SignalListeners>();

  /** Returns the function that ends it. */
  listen(listeners: SignalListeners): () => void {
    this.#listeners.add(listeners);
    return () => this.#listeners.delete(listeners);
  }

  tell<N extends SignalName>(name: N, ...details: SignalArguments<N>): void {
    this.tellAllBut(null, [name, ...details] as unknown as Signal);
  }

  /** Notifies all listeners except those that passed the signal on from another thread. */
  tellAllBut(passers: SignalListeners | null, [name, ...details]: Signal): void {
    for (const listeners of this.#listeners) {
      if (listeners === passers) continue;
      const listener = listeners[name] as ((...details: readonly unknown[]) => void) | undefined;
      listener?.apply(listeners, details);
    }
  }
}
