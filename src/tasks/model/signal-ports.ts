import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { SIGNAL_NAMES, type Signal, type SignalListeners, type SignalName, type Signals } from './signals.ts';

/** What two threads tell each other over their port. */
type PeerMessage =
  | { readonly kind: 'signals'; readonly signals: readonly Signal[] }
  /** The signals that the sender listens to from now on. */
  | { readonly kind: 'wants'; readonly names: readonly SignalName[] };

/** These say that cached data is outdated. */
const OF_DOCUMENTS: ReadonlySet<SignalName> = new Set([
  'documentsChanged',
  'accountChanged',
  'workerChanged',
]);

/**
 * The signals of one thread, connected to those of other threads over a port to each of them (`SignalMesh`). A signal
 * that is told in this thread goes to each thread that wants it; what one turn of the event loop tells goes in one
 * message.
 *
 * A thread that has sent a signal can then let a third thread act on what it is about, through other ports. So a thread
 * that depends on the order calls {@link flush} before it sends anything else, and {@link receive} before it acts on
 * what it was sent. Signals that say that documents have changed are heard before others that have arrived, from any thread:
 * to read a document again does no harm, to act on an outdated one does.
 */
export class SignalPorts {
  readonly #signals: Signals;
  readonly #listeners: SignalListeners;
  readonly #unlisten: () => void;
  /** With what the other side wants. */
  readonly #peers = new Map<MessagePort, ReadonlySet<SignalName>>();
  #wants: readonly SignalName[];
  #untold: Signal[] = [];

  /** @param wants signals that this thread listens to */
  constructor(signals: Signals, wants: readonly SignalName[]) {
    this.#signals = signals;
    this.#wants = wants;
    this.#listeners = Object.fromEntries(
      SIGNAL_NAMES.map(name => [
        name,
        (...details: unknown[]) => this.#tell([name, ...details] as unknown as Signal),
      ]),
    );
    this.#unlisten = signals.listen(this.#listeners);
  }

  /** @param port leads to another thread, and closes when that thread ends */
  connect(port: MessagePort): void {
    this.#peers.set(port, ALL);
    port.once('close', () => this.#peers.delete(port));
    port.on('message', (message: PeerMessage) => this.#receive([this.#took(port, message)]));
    post(port, { kind: 'wants', names: this.#wants });
  }

  /** Changes what this thread wants to hear. */
  want(names: readonly SignalName[]): void {
    this.#wants = names;
    for (const port of this.#peers.keys()) post(port, { kind: 'wants', names });
  }

  /** Sends what was told in this turn of the event loop. It is sent at the end of the turn at the latest. */
  flush(): void {
    if (this.#untold.length === 0) return;
    const untold = this.#untold;
    this.#untold = [];
    // Another thread may have begun to want something before it happened.
    this.receive();
    for (const [port, wants] of this.#peers) {
      const signals = wants === ALL ? untold : untold.filter(([name]) => wants.has(name));
      if (signals.length > 0) post(port, { kind: 'signals', signals });
    }
  }

  /** Hears what other threads have sent by now. */
  receive(): void {
    this.#receive([]);
  }

  close(): void {
    this.#unlisten();
    for (const port of this.#peers.keys()) port.close();
  }

  #tell(signal: Signal): void {
    // Attempts that end together tell the same of the same worker. Once is enough.
    if (this.#peers.size === 0 || isSame(this.#untold.at(-1), signal)) return;
    this.#untold.push(signal);
    if (this.#untold.length === 1) setImmediate(() => this.flush());
  }

  #receive(arrived: (readonly Signal[])[]): void {
    for (const port of this.#peers.keys()) {
      for (let more = receiveMessageOnPort(port); more !== undefined; more = receiveMessageOnPort(port)) {
        arrived.push(this.#took(port, more.message));
      }
    }
    for (const signals of arrived) this.#hear(signals, true);
    for (const signals of arrived) this.#hear(signals, false);
  }

  #took(port: MessagePort, message: PeerMessage): readonly Signal[] {
    if (message.kind === 'signals') return message.signals;
    this.#peers.set(port, new Set(message.names));
    return [];
  }

  #hear(signals: readonly Signal[], ofDocuments: boolean): void {
    for (const signal of signals) {
      if (OF_DOCUMENTS.has(signal[0]) === ofDocuments) this.#signals.tellAllBut(this.#listeners, signal);
    }
  }
}

const ALL: ReadonlySet<SignalName> = new Set(SIGNAL_NAMES);

function post(port: MessagePort, message: PeerMessage): void {
  port.postMessage(message);
}

function isSame(last: Signal | undefined, next: Signal): boolean {
  return last?.length === next.length && last.every((each, i) => each === next[i]);
}
