import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { isFinal, type Task } from './task.ts';

/** Events that one part of this process sends to the others. Other processes notice them through the store within a second. */
interface SignalListeners {
  /** A task of the worker is due at `at`, or has been made due again. New tasks are signaled only if they are due soon. */
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
  /** Limits of the decision service may have changed. */
  limitsChanged?(): void;
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
  'limitsChanged',
  'shareUsed',
];

type SignalArguments<N extends SignalName> = Parameters<NonNullable<SignalListeners[N]>>;

/** A signal as data that can be sent to other threads. */
type Signal = { [N in SignalName]: readonly [name: N, ...details: SignalArguments<N>] }[SignalName];

/** Calls the listeners of each signal, in the order in which they were added. A listener must not throw. */
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

/**
 * Sends the signals that follow from the end of an attempt: there is room for another attempt of the worker, and a task may
 * have become due, either the same one or one that was held by it.
 *
 * @param task as it is now
 * @param nowMs by the store's clock
 */
export function tellEnd(signals: Signals, tenant: string, task: Task, nowMs: number): void {
  signals.tell('roomFor', tenant, task.workerId);
  if (task.dueAt !== null) signals.tell('taskDue', tenant, task.workerId, task.dueAt);
  else if (isFinal(task.status) && mayHold(task)) signals.tell('taskDue', tenant, task.workerId, nowMs);
}

/**
 * Sends the signals that follow if a task stops waiting without an attempt, or waits longer: a task that it held, or that
 * was behind it in a fifo group, may have become due.
 *
 * @param nowMs by the store's clock
 */
export function tellLetGo(
  signals: Signals,
  tenant: string,
  task: Pick<Task, 'workerId' | 'key' | 'scheduleId' | 'group'>,
  nowMs: number,
): void {
  if (mayHold(task) || task.group !== null) signals.tell('taskDue', tenant, task.workerId, nowMs);
}

/** Only a task with a key, or of a schedule, can hold others. */
function mayHold({ key, scheduleId }: Pick<Task, 'key' | 'scheduleId'>): boolean {
  return key !== null || scheduleId !== null;
}

/** Messages between two threads over their port. */
type PeerMessage =
  | { readonly kind: 'signals'; readonly signals: readonly Signal[] }
  /** The signals that the sender listens to from now on. */
  | { readonly kind: 'wants'; readonly names: readonly SignalName[] };

const ALL_SIGNALS: ReadonlySet<SignalName> = new Set(SIGNAL_NAMES);
/** These say that cached data is outdated. */
const OF_DOCUMENTS: ReadonlySet<SignalName> = new Set([
  'documentsChanged',
  'accountChanged',
  'workerChanged',
]);

/**
 * The signals of one thread, connected to those of other threads over a port to each of them (`SignalMesh`). A signal
 * of this thread goes to each thread that wants it. The signals of one turn of the event loop go in one message.
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
    this.#peers.set(port, ALL_SIGNALS);
    port.once('close', () => this.#peers.delete(port));
    port.on('message', (message: PeerMessage) => this.#receive([this.#took(port, message)]));
    post(port, { kind: 'wants', names: this.#wants });
  }

  /** Changes what this thread wants to hear. */
  want(names: readonly SignalName[]): void {
    this.#wants = names;
    for (const port of this.#peers.keys()) post(port, { kind: 'wants', names });
  }

  /** Sends the signals of this turn of the event loop now. Otherwise they are sent at the end of the turn. */
  flush(): void {
    if (this.#untold.length === 0) return;
    const untold = this.#untold;
    this.#untold = [];
    // Another thread may have begun to want something before it happened.
    this.receive();
    for (const [port, wants] of this.#peers) {
      const signals = wants === ALL_SIGNALS ? untold : untold.filter(([name]) => wants.has(name));
      if (signals.length > 0) post(port, { kind: 'signals', signals });
    }
  }

  /** Handles the signals that other threads have sent so far. */
  receive(): void {
    this.#receive([]);
  }

  close(): void {
    this.#unlisten();
    for (const port of this.#peers.keys()) port.close();
  }

  #tell(signal: Signal): void {
    // Attempts that end together send equal signals about their worker. One is enough.
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

function post(port: MessagePort, message: PeerMessage): void {
  port.postMessage(message);
}

function isSame(last: Signal | undefined, next: Signal): boolean {
  return last?.length === next.length && last.every((each, i) => each === next[i]);
}

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
