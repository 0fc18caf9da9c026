import type { MessagePort } from 'node:worker_threads';
import type { SignalMesh } from '../../model/signals.ts';
import {
  askForThread,
  type LimitAnswerMessage,
  type LimitAsker,
  type LimitAskMessage,
} from '../../scheduler/attempts/start-limits.ts';
import type { SentFault } from '../../store/trouble.ts';

/** A task store whose thread accepts operations from other threads over ports. */
export interface SharedStore {
  addClient(client: StoreClient): () => void;
  wanted(client: StoreClient): void;
}

interface StoreClient {
  connect(port: MessagePort): void;
  refused(fault: SentFault): void;
}

/** Messages that connect a thread with the store and with other threads, and answers about limits. */
export type LinkMessage =
  | LimitAnswerMessage
  /** A port to the thread that owns the file (see `PortOperator`), or the reason why there is no port. */
  | { readonly kind: 'store'; readonly port: MessagePort }
  | { readonly kind: 'store_refused'; readonly fault: SentFault }
  /** A port to another thread, for the signals of both (see `SignalPorts`). */
  | { readonly kind: 'signals'; readonly port: MessagePort };

/** Requests of a thread for what it is connected with. */
export type LinkRequest =
  | LimitAskMessage
  /** The thread has a store operation to run, but no port to the store. */
  | { readonly kind: 'store_wanted' };

interface LinkedThread {
  post(message: LinkMessage, transfer?: readonly MessagePort[]): void;
}

/** The connections of a running thread. */
interface Link {
  readonly store: StoreClient;
  readonly leave: () => void;
}

interface ThreadLinksParts {
  /** Connects the threads with each other. */
  readonly signals: SignalMesh;
  /** Null if the threads have store connections of their own. */
  readonly store: SharedStore | null;
  readonly limitAsker: LimitAsker;
}

/**
 * Connects the threads of the task service with each other, with the thread of the store, and with the decision engine.
 * It runs in the thread that starts the others.
 */
export class ThreadLinks {
  readonly #parts: ThreadLinksParts;
  readonly #links = new Map<LinkedThread, Link>();

  constructor(parts: ThreadLinksParts) {
    this.#parts = parts;
  }

  connect(thread: LinkedThread): void {
    const { signals, store: shared } = this.#parts;
    const store: StoreClient = {
      connect: port => thread.post({ kind: 'store', port }, [port]),
      refused: fault => thread.post({ kind: 'store_refused', fault }),
    };
    const leaveSignals = signals.join(port => thread.post({ kind: 'signals', port }, [port]));
    const leaveStore = shared?.addClient(store);
    const leave = (): void => {
      leaveSignals();
      leaveStore?.();
    };
    this.#links.set(thread, { store, leave });
  }

  /** Does nothing if the thread is not connected. */
  disconnect(thread: LinkedThread): void {
    this.#links.get(thread)?.leave();
    this.#links.delete(thread);
  }

  /** Handles a request. A thread that is not connected gets no answer. */
  heard(thread: LinkedThread, request: LinkRequest): void {
    if (request.kind === 'store_wanted') {
      const link = this.#links.get(thread);
      if (link !== undefined) this.#parts.store?.wanted(link.store);
      return;
    }
    askForThread(this.#parts.limitAsker, request, answer => {
      if (this.#links.has(thread)) thread.post(answer);
    });
  }
}
