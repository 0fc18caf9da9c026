import { BroadcastChannel } from 'node:worker_threads';
import { Rehearsal, type SharedRehearsal } from './rehearsal.ts';

/** What the primary thread tells the others, and what a thread asks when it begins. */
type Message =
  | { readonly kind: 'ask' }
  | { readonly kind: 'current'; readonly rehearsal: SharedRehearsal | null };

/** The rehearsal of a thread that decides; null while there is none. */
export interface RehearsalSource {
  readonly current: Rehearsal | null;
}

/** Runs in the primary thread: tells all threads which rehearsal there is. */
export class RehearsalPublisher implements RehearsalSource {
  readonly #channel: BroadcastChannel;
  #current: Rehearsal | null = null;

  /** @param name differs from that of all other services of the process */
  constructor(name: string) {
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }: { data: unknown }) => {
      if ((data as Message).kind === 'ask') this.#tell();
    };
    this.#channel.unref();
  }

  get current(): Rehearsal | null {
    return this.#current;
  }

  /** Other threads follow as soon as their event loop receives the message. */
  publish(rehearsal: Rehearsal | null): void {
    if (rehearsal === this.#current) return;
    this.#current = rehearsal;
    this.#tell();
  }

  close(): void {
    this.#channel.close();
  }

  #tell(): void {
    const rehearsal = this.#current?.shared ?? null;
    this.#channel.postMessage({ kind: 'current', rehearsal } satisfies Message);
  }
}

/** Runs in every other thread that decides. */
export class RehearsalSubscriber implements RehearsalSource {
  current: Rehearsal | null = null;

  /** Follows the rehearsals until the thread ends. */
  constructor(name: string) {
    const channel = new BroadcastChannel(name);
    channel.onmessage = ({ data }: { data: unknown }) => {
      const message = data as Message;
      if (message.kind === 'current') this.#follow(message.rehearsal);
    };
    channel.unref();
    channel.postMessage({ kind: 'ask' } satisfies Message);
  }

  #follow(shared: SharedRehearsal | null): void {
    if (shared?.number === this.current?.number) return;
    this.current = shared === null ? null : Rehearsal.attach(shared);
  }
}
