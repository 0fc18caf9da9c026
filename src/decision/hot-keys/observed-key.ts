import { Fingerprinter, type FingerprintKey } from '../../counters/fingerprint.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import type { DecisionBatch } from '../batch.ts';
import { windowBytes } from '../cache-key.ts';
import type { KeySample } from './key-table.ts';
import { type KeyPlace, KeyTextWriter } from './key-text.ts';
import { RuleIds } from './rule-ids.ts';

/** What identifies a key in all threads. */
export interface KeyIdentity {
  /** The same in all threads of the process. */
  readonly fingerprintKey: FingerprintKey;
  /** `CACHE_KEY_PREFIX`. */
  readonly cacheKeyPrefix: string;
}

/** The key of a decided limit. Reused; the text is only written when it is needed. */
export class ObservedKey implements KeySample, KeyPlace {
  tag = 0;
  check = 0;
  ruleA = 0;
  ruleB = 0;
  limit = 0;
  hits = 0;
  refused = 0;
  variance = 0;
  /** The cache key, without the prefix of all cache keys and without the window. */
  bytes: Uint8Array = new Uint8Array(0);
  start = 0;
  end = 0;
  request = 0;
  row = 0;
  readonly #prefixBytes: number;
  readonly #fingerprinter: Fingerprinter;
  readonly #ids: RuleIds;
  readonly #writer = new KeyTextWriter();
  #batch: DecisionBatch | null = null;

  constructor({ fingerprintKey, cacheKeyPrefix }: KeyIdentity) {
    this.#prefixBytes = Buffer.byteLength(cacheKeyPrefix);
    this.#fingerprinter = new Fingerprinter(fingerprintKey);
    this.#ids = new RuleIds(fingerprintKey);
  }

  /** Selects the descriptor of a request. {@link limited} selects one of its limits. */
  descriptor(request: number, row: number): void {
    this.request = request;
    this.row = row;
  }

  /**
   * Sets everything to the key of a limit of the descriptor.
   * @param row the row of the limit, which is that of the descriptor unless it has several limits
   * @param interval number of descriptors for which this one stands
   */
  limited(batch: DecisionBatch, rules: CompiledRules, row: number, interval: number): void {
    const { decisions, keys } = batch;
    this.#batch = batch;
    this.bytes = keys.bytes;
    this.start = decisions.keyStart[row] + this.#prefixBytes;
    this.end = decisions.keyEnd[row] - windowBytes(batch, row);
    this.#fingerprinter.take(this.bytes, this.start, this.end);
    this.tag = this.#fingerprinter.a;
    this.check = this.#fingerprinter.b;
    this.limit = decisions.limit[row];
    this.#ids.find(rules, this.limit);
    this.ruleA = this.#ids.a;
    this.ruleB = this.#ids.b;
    const hits = decisions.hits[row];
    this.hits = hits * interval;
    this.refused = decisions.isOver[row] === 1 ? this.hits : 0;
    this.variance = hits * hits * interval * (interval - 1);
  }

  /** The first word of the identity of a limit. */
  ruleOf(rules: CompiledRules, limit: number): number {
    this.#ids.find(rules, limit);
    return this.#ids.a;
  }

  /** Sets the rule and the text to those of a descriptor that is banned: it has no cache key, and maybe no rule. */
  banned(batch: DecisionBatch, rules: CompiledRules): void {
    this.limit = batch.decisions.limit[this.row];
    this.#ids.find(rules, this.limit);
    this.ruleA = this.#ids.a;
    this.ruleB = this.#ids.b;
    this.#batch = null;
    this.#writer.writeEntries(batch.requests, this.request, this.row);
  }

  /** The text of the key. Read it before the next batch. */
  get text(): Uint8Array {
    if (this.#batch !== null) {
      this.#writer.write(this.#batch.requests, this);
      this.#batch = null;
    }
    return this.#writer.bytes;
  }

  /** Forgets the batch, which is reused. */
  release(): void {
    this.#batch = null;
  }
}
