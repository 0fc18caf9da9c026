import type { Counter, StatsRegistry } from '../../stats/registry.ts';
import { type Exchange, isError, wholeNumber } from './protocol.ts';

/**
 * The statistics of memcached (`ratelimit.memcache.*`). The names are those of envoyproxy/ratelimit, which writes their
 * tags into the name.
 */
export function memcachedCounters(stats: StatsRegistry) {
  const counter = (name: string): Counter => stats.counter(`ratelimit.memcache.${name}`);
  return {
    /** Batches whose counts were all read, and batches with counts that could not be read. */
    fetched: counter('multiget.__code=success'),
    fetchFailed: counter('multiget.__code=error'),
    keysRequested: counter('keys_requested'),
    keysFound: counter('keys_found'),
    incremented: counter('increment.__code=success'),
    missed: counter('increment.__code=miss'),
    incrementFailed: counter('increment.__code=error'),
    added: counter('add.__code=success'),
    notAdded: counter('add.__code=not_stored'),
    addFailed: counter('add.__code=error'),
    decremented: counter('decrement.__code=success'),
    decrementMissed: counter('decrement.__code=miss'),
    decrementFailed: counter('decrement.__code=error'),
  };
}

export type MemcachedCounters = Readonly<ReturnType<typeof memcachedCounters>>;

/** Commands with one line of response each. */
abstract class LineExchange implements Exchange {
  readonly request: string;
  readonly commands: number;
  #answered = 0;

  /** @param commands at least one */
  constructor(commands: readonly string[]) {
    this.request = commands.join('');
    this.commands = commands.length;
  }

  value(): void {}

  line(text: string): boolean {
    this.answer(text, this.#answered++);
    if (this.#answered < this.commands) return false;
    this.done();
    return true;
  }

  failed(reason: string): void {
    this.lost(this.#answered, reason);
  }

  /** Handles the response to a command. */
  protected abstract answer(text: string, command: number): void;
  /** Called after the last response. */
  protected abstract done(): void;
  /** Called if the connection fails before the response to this command. */
  protected abstract lost(command: number, reason: string): void;
}

/** Hits for a key. */
export interface Addition {
  readonly key: string;
  readonly amount: number;
  /** Time to live of the count if it is created, in seconds. */
  readonly ttlS: number;
}

/** The parts of exchanges that change counts. */
export interface ChangeParts {
  readonly counters: MemcachedCounters;
  /** Sends the next exchange on the same connection. */
  readonly send: (exchange: Exchange) => void;
  /** Called if changes were rejected by a response, or may be lost because the connection failed. */
  readonly lost: (reason: string, by: 'answer' | 'connection') => void;
  /** Seconds since the epoch. */
  readonly nowS: () => number;
}

/**
 * Adds hits to counts, in up to three steps: `incr`; if there is no count, `add`; and if another client has created the
 * count meanwhile, `incr` again. Decisions do not wait for it.
 */
export class IncrementExchange extends LineExchange {
  readonly #parts: ChangeParts;
  readonly #additions: readonly Addition[];
  readonly #step: Step;
  /** The additions of the next step. */
  readonly #left: Addition[] = [];

  /** @param additions at least one */
  constructor(additions: readonly Addition[], parts: ChangeParts, step: Step = 'increment') {
    super(step === 'add' ? addCommands(additions, parts.nowS()) : additions.map(incrementCommand));
    this.#additions = additions;
    this.#parts = parts;
    this.#step = step;
  }

  protected answer(text: string, command: number): void {
    if (this.#step === 'add') this.#added(text, this.#additions[command]);
    else this.#incremented(text, this.#additions[command]);
  }

  protected lost(command: number, reason: string): void {
    const { counters, lost } = this.#parts;
    (this.#step === 'add' ? counters.addFailed : counters.incrementFailed).add(this.commands - command);
    lost(reason, 'connection');
  }

  #incremented(text: string, addition: Addition): void {
    const { counters } = this.#parts;
    if (/^[0-9]/.test(text)) counters.incremented.add(1);
    else if (text === 'NOT_FOUND') {
      counters.missed.add(1);
      // The count existed a moment ago, so it was evicted.
      if (this.#step === 'increment') this.#left.push(addition);
      else this.#parts.lost('the count was evicted as soon as it was created', 'answer');
    } else this.#refused(text, counters.incrementFailed);
  }

  #added(text: string, addition: Addition): void {
    const { counters } = this.#parts;
    if (text === 'STORED') counters.added.add(1);
    else if (text === 'NOT_STORED') {
      counters.notAdded.add(1);
      this.#left.push(addition);
    } else this.#refused(text, counters.addFailed);
  }

  #refused(text: string, counter: Counter): void {
    counter.add(1);
    this.#parts.lost(isError(text) ? text : 'unexpected response', 'answer');
  }

  protected done(): void {
    if (this.#left.length === 0) return;
    const next = this.#step === 'increment' ? 'add' : 'increment again';
    this.#parts.send(new IncrementExchange(this.#left, this.#parts, next));
  }
}

type Step = 'increment' | 'add' | 'increment again';

function incrementCommand({ key, amount }: Addition): string {
  return `incr ${key} ${wholeNumber(amount)}\r\n`;
}

function addCommands(additions: readonly Addition[], nowS: number): string[] {
  return additions.map(({ key, amount, ttlS }) => {
    const text = wholeNumber(amount);
    return `add ${key} 0 ${expiryTime(ttlS, nowS)} ${text.length}\r\n${text}\r\n`;
  });
}

/** memcached interprets a greater time to live as seconds since the epoch. */
const MAX_RELATIVE_S = 2_592_000;

function expiryTime(ttlS: number, nowS: number): number {
  return ttlS > MAX_RELATIVE_S ? nowS + ttlS : ttlS;
}

/** Hits to subtract from a key. memcached itself stops at 0. */
export interface Refund {
  readonly key: string;
  readonly amount: number;
  /** Whether the batch also adds hits to this key. */
  readonly hitsFollow: boolean;
}

type DecrementParts = Omit<ChangeParts, 'nowS'>;

/**
 * Subtracts hits from counts. Does not create a missing key. A key can be missing only because earlier hits are still
 * creating it: their `add` is sent after the response to their `incr`, which arrives before the response to this `decr`.
 * So a refund that finds no key is sent once more, after that `add`. This is not done if its own batch added hits to the
 * key meanwhile, because they would be subtracted.
 */
export class DecrementExchange extends LineExchange {
  readonly #refunds: readonly Refund[];
  readonly #parts: DecrementParts;
  readonly #isSecond: boolean;
  readonly #again: Refund[] = [];

  /** @param refunds at least one */
  constructor(refunds: readonly Refund[], parts: DecrementParts, isSecond = false) {
    super(refunds.map(({ key, amount }) => `decr ${key} ${wholeNumber(amount)}\r\n`));
    this.#refunds = refunds;
    this.#parts = parts;
    this.#isSecond = isSecond;
  }

  protected done(): void {
    if (this.#again.length > 0) this.#parts.send(new DecrementExchange(this.#again, this.#parts, true));
  }

  protected lost(command: number, reason: string): void {
    this.#parts.counters.decrementFailed.add(this.commands - command);
    this.#parts.lost(reason, 'connection');
  }

  protected answer(text: string, command: number): void {
    const { counters, lost } = this.#parts;
    const refund = this.#refunds[command];
    if (/^[0-9]/.test(text)) counters.decremented.add(1);
    else if (text !== 'NOT_FOUND') {
      counters.decrementFailed.add(1);
      lost(isError(text) ? text : 'unexpected response', 'answer');
    } else if (this.#isSecond || refund.hitsFollow) counters.decrementMissed.add(1);
    else this.#again.push(refund);
  }
}

/** Deletes counts, in the order of the requests on the connection: also those that earlier hits are still adding to. */
export class DeleteExchange extends LineExchange {
  readonly #done: (failed: readonly number[], reason: string) => void;
  readonly #failed: number[] = [];
  #reason = '';

  /**
   * @param keys at least one
   * @param done receives the indexes of the keys that were not deleted, and the first reason
   */
  constructor(keys: readonly string[], done: (failed: readonly number[], reason: string) => void) {
    super(keys.map(key => `delete ${key}\r\n`));
    this.#done = done;
  }

  protected answer(text: string, command: number): void {
    if (text !== 'DELETED' && text !== 'NOT_FOUND')
      this.#fail(command, isError(text) ? text : 'unexpected response');
  }

  protected lost(command: number, reason: string): void {
    for (let each = command; each < this.commands; each++) this.#fail(each, reason);
    this.done();
  }

  protected done(): void {
    this.#done(this.#failed, this.#reason);
  }

  #fail(command: number, reason: string): void {
    this.#failed.push(command);
    this.#reason ||= reason;
  }
}
