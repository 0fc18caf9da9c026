import type { RateLimitRequest } from '../../../src/messages/client-codec.ts';
import { descriptor } from '../decisions.ts';
import { SeededRandom } from '../seeded-random.ts';
import type { FrontAnswer, FrontClient } from './fronts.ts';

/** A counter that a load hits. */
export interface Counter {
  /** The entries of its descriptor: `path=/a,method=GET`. */
  readonly text: string;
  /** The metric key of its rule. */
  readonly rule: string;
  readonly limit: number;
}

/** One descriptor of a call: hits on a counter, or on none where no limit applies. */
export interface AskedHits {
  readonly text: string;
  readonly counter: Counter | null;
  readonly hits: number;
}

/** One call of one caller and how it ended. Calls of a caller are in order; it waits for each answer. */
export interface Call {
  readonly caller: number;
  readonly asked: readonly AskedHits[];
  readonly answer: FrontAnswer;
}

export interface LoadOptions {
  readonly domain: string;
  readonly counters: readonly Counter[];
  /** Descriptors that no limit applies to, to mix in. */
  readonly unlimited?: readonly string[];
  /** The same seed makes the same calls; how they interleave is up to the machine. */
  readonly seed: number;
  /** Hits of each descriptor; 0 to 50 unless given. */
  readonly hits?: number;
  /** Descriptors of a call at most; 4 unless given. */
  readonly maxDescriptors?: number;
  /** Whether a call may hit one counter twice; true unless given. */
  readonly repeats?: boolean;
}

/** Callers that ask at the same time, each over a connection of its own, and all that they were told. */
export class ConcurrentLoad {
  readonly calls: Call[] = [];
  readonly #options: LoadOptions;
  readonly #fronts: readonly FrontClient[];
  readonly #randoms: readonly SeededRandom[];
  readonly #listeners = new Set<(call: Call) => void>();

  constructor(fronts: readonly FrontClient[], options: LoadOptions) {
    this.#fronts = fronts;
    this.#options = options;
    this.#randoms = fronts.map((_, caller) => new SeededRandom(options.seed + caller));
  }

  /** Each caller makes so many calls. */
  async run(callsEach: number): Promise<void> {
    await this.#all(async caller => {
      for (let made = 0; made < callsEach; made++) await this.#call(caller);
    });
  }

  /** Callers make calls for as long as `going` holds. */
  async runWhile(going: () => boolean): Promise<void> {
    await this.#all(async caller => {
      while (going()) await this.#call(caller);
    });
  }

  /** Resolves once so many calls, from now on, have ended as `matches` says. */
  heard(times: number, matches: (answer: FrontAnswer) => boolean): Promise<void> {
    return new Promise(resolve => {
      let left = times;
      const listener = ({ answer }: Call) => {
        if (!matches(answer) || --left > 0) return;
        this.#listeners.delete(listener);
        resolve();
      };
      this.#listeners.add(listener);
    });
  }

  close(): void {
    for (const front of this.#fronts) front.close();
  }

  async #all(run: (caller: number) => Promise<void>): Promise<void> {
    await Promise.all(this.#fronts.map((_, caller) => run(caller)));
  }

  async #call(caller: number): Promise<void> {
    const asked = this.#descriptors(this.#randoms[caller]);
    const request: RateLimitRequest = {
      domain: this.#options.domain,
      descriptors: asked.map(({ text, hits }) => descriptor(text, { hitsAddend: hits })),
      hitsAddend: 0,
    };
    const answer = await this.#fronts[caller].ask(request);
    const call: Call = { caller, asked, answer };
    this.calls.push(call);
    for (const listener of this.#listeners) listener(call);
  }

  #descriptors(random: SeededRandom): AskedHits[] {
    const { counters, unlimited = [], maxDescriptors = 4, repeats = true, hits } = this.#options;
    const asked: AskedHits[] = [];
    const count = 1 + random.below(maxDescriptors);
    while (asked.length < count) {
      const ownHits = hits ?? randomHits(random);
      if (unlimited.length > 0 && random.below(8) === 0) {
        asked.push({ text: random.pick(unlimited), counter: null, hits: ownHits });
        continue;
      }
      const counter = random.pick(counters);
      if (!repeats && asked.some(each => each.counter === counter)) continue;
      asked.push({ text: counter.text, counter, hits: ownHits });
    }
    return asked;
  }
}

/** 0 to 50, with many of the usual 1 and some that only ask. */
function randomHits(random: SeededRandom): number {
  const kind = random.below(10);
  if (kind < 4) return 1;
  return kind === 4 ? 0 : random.below(51);
}
