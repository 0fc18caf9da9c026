import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { CompiledRules } from '../../rules/compiled-rules.ts';
import type { GenerationSource } from '../batching/batcher.ts';
import { RuleGeneration } from '../statistics/rule-statistics.ts';
import type { PublishedRules, ReleasedRules, RulesFeed } from './rules-publisher.ts';

/** The rules of a thread that decides: those that the primary thread published last. See `RulesPublisher`. */
export class RulesSubscriber implements GenerationSource {
  readonly #port: MessagePort;
  readonly #published: Int32Array;
  #number = 0;
  #generation: RuleGeneration | null = null;

  constructor({ port, published }: RulesFeed) {
    this.#port = port;
    this.#published = published;
    // A thread without requests replaces its rules as well. Otherwise, it would keep old rules in memory.
    port.on('message', (message: PublishedRules) => this.#use(message));
    port.unref();
  }

  current(): RuleGeneration | null {
    if (Atomics.load(this.#published, 0) !== this.#number) this.#receive();
    return this.#generation;
  }

  /** Does not wait for the event loop, because the batch that is about to start must use these rules. */
  #receive(): void {
    for (;;) {
      const received = receiveMessageOnPort(this.#port);
      if (received === undefined) return;
      this.#use(received.message);
    }
  }

  #use({ number, rules, statistics }: PublishedRules): void {
    const before = this.#generation;
    this.#number = number;
    this.#generation = new RuleGeneration(new CompiledRules(rules), { number, statistics });
    before?.replaced(() => this.#port.postMessage({ released: before.number } satisfies ReleasedRules));
  }
}
