import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Rehearsal, type SharedRehearsal } from './rehearsal.ts';

/** The rehearsal of a thread that decides; null while there is none. */
export interface RehearsalSource {
  readonly current: Rehearsal | null;
}

/**
 * Runs in the primary thread: tells all threads that follow which rehearsal there is. Each has a port of its own. With the
 * first message of a `BroadcastChannel`, Node.js would load its HTTP client into every thread, which takes 4 MB and 50 ms.
 */
export class RehearsalPublisher implements RehearsalSource {
  readonly #followers = new Set<MessagePort>();
  #current: Rehearsal | null = null;

  get current(): Rehearsal | null {
    return this.#current;
  }

  /** Tells the current and all following rehearsals over a port, until the thread with its other end has ended. */
  attach(port: MessagePort): void {
    this.#followers.add(port);
    port.once('close', () => this.#followers.delete(port));
    port.unref();
    this.#tell(port);
  }

  /** Other threads follow as soon as their event loop receives the message. */
  publish(rehearsal: Rehearsal | null): void {
    if (rehearsal === this.#current) return;
    this.#current = rehearsal;
    for (const port of this.#followers) this.#tell(port);
  }

  close(): void {
    for (const port of this.#followers) port.close();
  }

  #tell(port: MessagePort): void {
    port.postMessage((this.#current?.shared ?? null) satisfies SharedRehearsal | null);
  }
}

/** Runs in every other thread that decides: follows the rehearsals until the thread ends. */
export class RehearsalSubscriber implements RehearsalSource {
  current: Rehearsal | null = null;

  /** @param follow sends the port to the primary thread, for {@link RehearsalPublisher.attach} */
  constructor(follow: (port: MessagePort) => void) {
    const { port1, port2 } = new MessageChannel();
    port1.on('message', (shared: SharedRehearsal | null) => this.#follow(shared));
    port1.unref();
    follow(port2);
  }

  #follow(shared: SharedRehearsal | null): void {
    if (shared?.number === this.current?.number) return;
    this.current = shared === null ? null : Rehearsal.attach(shared);
  }
}
