import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** Passes a port on to a thread, whose {@link SignalPorts} it connects to those of another thread. */
type ConnectSignals = (port: MessagePort) => void;

/**
 * Gives each pair of threads a channel for their signals (`SignalPorts`). The thread that owns the others makes the
 * channels, and no signal passes through it.
 */
export class SignalMesh {
  readonly #threads = new Set<ConnectSignals>();

  /** Connects a thread with all others. Returns the function to call when the thread has ended. */
  join(connect: ConnectSignals): () => void {
    for (const other of this.#threads) {
      const { port1, port2 } = new MessageChannel();
      other(port1);
      connect(port2);
    }
    this.#threads.add(connect);
    return () => this.#threads.delete(connect);
  }
}
