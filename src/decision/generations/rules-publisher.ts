import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { RuleGeneration } from '../statistics/rule-statistics.ts';

/** What a thread needs to receive rules. The port must be transferred to the thread. */
export interface RulesFeed {
  readonly port: MessagePort;
  /** One word: the number of the generation that was published last; 0 before the first one. */
  readonly published: Int32Array<SharedArrayBuffer>;
}

/** The message that publishes a generation. */
export interface PublishedRules {
  readonly number: number;
  readonly rules: SharedArrayBuffer;
  readonly statistics: SharedArrayBuffer;
}

/** The answer of a thread: it has replaced this generation, and none of its batches counts there any longer. */
export interface ReleasedRules {
  readonly released: number;
}

/**
 * Passes the rules on to other threads that decide. When {@link publish} returns, every batch that a thread starts is
 * decided with these rules or newer ones.
 *
 * A generation counts each thread as one batch until the thread has released it or has ended, so its statistics are kept
 * while a thread may count there.
 */
export class RulesPublisher {
  readonly #published = new Int32Array(new SharedArrayBuffer(4));
  readonly #threads = new Map<number, AttachedThread>();
  #current: RuleGeneration | null = null;

  /** Publishes the current and all following generations to a thread. */
  attach(threadId: number): RulesFeed {
    const { port1, port2 } = new MessageChannel();
    const thread = new AttachedThread(port1);
    this.#threads.set(threadId, thread);
    if (this.#current !== null) thread.send(this.#current);
    return { port: port2, published: this.#published };
  }

  /** Call when the thread executes nothing anymore. Does nothing if the thread is not attached. */
  detach(threadId: number): void {
    this.#threads.get(threadId)?.end();
    this.#threads.delete(threadId);
  }

  publish(generation: RuleGeneration): void {
    this.#current = generation;
    for (const thread of this.#threads.values()) thread.send(generation);
    // After the messages: a thread that reads the number finds the generation in its port.
    Atomics.store(this.#published, 0, generation.number);
  }
}

/** A thread that receives rules. */
class AttachedThread {
  readonly #port: MessagePort;
  /** Generations that were sent to the thread and that it has not released, by number. */
  readonly #inUse = new Map<number, RuleGeneration>();

  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', ({ released }: ReleasedRules) => {
      this.#inUse.get(released)?.end();
      this.#inUse.delete(released);
    });
    port.unref();
  }

  send(generation: RuleGeneration): void {
    const { number, rules, statistics } = generation;
    generation.begin();
    this.#inUse.set(number, generation);
    this.#port.postMessage({
      number,
      rules: rules.buffer,
      statistics: statistics.buffer,
    } satisfies PublishedRules);
  }

  end(): void {
    this.#port.close();
    for (const generation of this.#inUse.values()) generation.end();
    this.#inUse.clear();
  }
}
