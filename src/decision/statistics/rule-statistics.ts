import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { RULE_PREFIX, RULE_STAT, RULE_STATS } from '../../stats/names.ts';
import { type CounterSource, type CounterTotal, PAUSE } from '../../stats/registry.ts';
import {
  DOMAIN_NOT_FOUND,
  NAMED_STATS,
  type NameBounds,
  NamedRows,
  type NamedStatistics,
} from './named-rows.ts';
import { RuleNames } from './rule-names.ts';
import { addTotal, ownTotals, sharedTotals, takeTotal, totalOf } from './shared-totals.ts';

/** Slots from one row of totals to the next: more than a row has, so that each lies in one cache line of its own. */
export const ROW_SLOTS = 8;

let generations = 0;

/** One loaded set of rules with the statistics counted under it: memory that all threads share. */
export class RuleGeneration {
  /** Tells generations of this process apart, so that a thread need not look at one that it knows. */
  readonly number: number;
  readonly rules: CompiledRules;
  /** A row of `RULE_STATS.length` totals for each limit, {@link ROW_SLOTS} apart; see `shared-totals.ts`. */
  readonly statistics: Int32Array<SharedArrayBuffer>;
  /**
   * Batches that still count here, those in other threads included. A generation that is replaced lives on until they
   * are done. Kept by the thread that hands out the batches; elsewhere it says nothing.
   */
  batches = 0;

  /** @param statistics those of another thread that counts under the same rules; without them new ones */
  constructor(rules: CompiledRules, statistics?: SharedArrayBuffer) {
    this.number = ++generations;
    this.rules = rules;
    this.statistics =
      statistics === undefined ? sharedTotals(rules.limitCount * ROW_SLOTS) : new Int32Array(statistics);
  }
}

/** Bounds of the names that hold request values, and again of those that only rules of the past had. */
export const NAME_BOUNDS: NameBounds = { bytes: 16 * 1024 * 1024, nameBytes: 512 };

/** How many rows are looked at, or names moved, before others may run. */
const ROWS_AT_ONCE = 512;

/** The numbers of one name: seven or more totals of `numbers`, from the slot `base` on. */
interface Row {
  readonly numbers: Int32Array;
  readonly base: number;
}

interface Published {
  readonly generation: RuleGeneration;
  readonly names: RuleNames;
}

/**
 * The statistics of all rules.
 *
 * Most rules count under a name that is known when they are loaded; their numbers lie in one row of the generation,
 * found by the number of the limit. Names that hold request values (`detailed_metric`, `value_to_metric`, overrides,
 * unknown domains) are made when they first occur, and names of rules that are gone are kept beside them. Both are
 * bounded by bytes. What does not fit is counted as `ratelimit.stats.names_dropped`, and its hits as
 * `ratelimit.stats.hits_dropped`.
 *
 * Numbers of one name may lie in several places: in a generation that was replaced, under a name made from a request,
 * in rules whose names differ only in what a statistic cannot show. Whoever reads first moves them to one place, so
 * that each name is told once, with its sum.
 */
export class RuleStatistics implements CounterSource, NamedStatistics {
  #current: Published | null = null;
  #retiring: RuleGeneration[] = [];
  readonly #requested: NamedRows;
  readonly #gone: NamedRows;

  constructor(bounds: NameBounds = NAME_BOUNDS) {
    this.#requested = new NamedRows(bounds);
    this.#gone = new NamedRows(bounds);
  }

  /** Makes `generation` the one that counts. Iterate over {@link carryOver} soon, which lets go of the one before. */
  publish(generation: RuleGeneration): void {
    if (this.#current !== null) this.#retiring.push(this.#current.generation);
    this.#current = { generation, names: new RuleNames(generation.rules) };
  }

  rowFor(metricKey: string): Int32Array {
    return this.#requested.row(metricKey);
  }

  domainNotFound(domain: string, descriptors: number): void {
    addTotal(this.#requested.row(domain), DOMAIN_NOT_FOUND, descriptors);
  }

  /** Adds what another thread has counted under a name made from requests. */
  addNamed(metricKey: string, totals: Int32Array): void {
    const row = this.rowFor(metricKey);
    for (let stat = 0; stat < NAMED_STATS.length; stat++) addTotal(row, stat, totalOf(totals, stat));
  }

  /**
   * Adds what was counted under rules that were replaced to those in force, or to the names that are gone. The work is
   * done while this is iterated over, and may be left to rest at each {@link PAUSE}.
   */
  *carryOver(): Iterable<CounterTotal> {
    const current = this.#current;
    if (current === null) return;
    while (current.names.indexSome()) yield PAUSE;
    for (const retired of [...this.#retiring]) {
      // Asked before the first row is looked at: what is counted from now on may come behind the look.
      const done = retired.batches === 0;
      for (let limit = 0; limit < retired.rules.limitCount; limit++) {
        if (limit % ROWS_AT_ONCE === 0) yield PAUSE;
        // Other rules were published meanwhile, and the rows of `current` may have been looked at for the last time.
        if (this.#current !== current) return;
        this.#carryRow(retired, limit, current);
      }
      if (done) this.#retiring = this.#retiring.filter(each => each !== retired);
    }
    for (const [limit, first] of current.names.twins) {
      move(rowOf(current.generation, limit), rowOf(current.generation, first));
    }
  }

  /** Rules that are replaced while this is iterated over may be missing; they are told the next time. */
  *totals(): Iterable<CounterTotal> {
    let current: Published | null;
    let others: readonly NamedRow[];
    do {
      current = this.#current;
      yield* this.carryOver();
      others = yield* this.#namesWithoutRule();
    } while (current !== this.#current);
    const isCurrent = (): boolean => this.#current === current;
    if (current !== null) yield* ruleTotals(current, isCurrent);
    for (const [name, numbers] of others) {
      if (isCurrent()) yield* rowTotals(name, whole(numbers), NAMED_STATS);
    }
    const { namesDropped, hitsDropped } = this.#requested;
    yield ['ratelimit.stats.names_dropped', namesDropped + this.#gone.namesDropped];
    yield ['ratelimit.stats.hits_dropped', hitsDropped + this.#gone.hitsDropped];
  }

  #carryRow(from: RuleGeneration, limit: number, to: Published): void {
    const row = rowOf(from, limit);
    if (isZero(row)) return;
    const same = to.names.limitNamedAs(from.rules, limit);
    move(row, same < 0 ? whole(this.#gone.row(from.rules.path(limit))) : rowOf(to.generation, same));
  }

  /** Names kept here that are not those of a rule. The numbers of the others are moved to where their name is. */
  *#namesWithoutRule(): Generator<CounterTotal, readonly NamedRow[]> {
    const others: NamedRow[] = [];
    let looked = 0;
    for (const kept of [this.#gone, this.#requested]) {
      for (const entry of kept.entries()) {
        if (looked++ % ROWS_AT_ONCE === 0) yield PAUSE;
        const [name, numbers] = entry;
        const into = this.#otherRow(name, kept);
        if (into === null) others.push(entry);
        else {
          move(whole(numbers), into);
          // No row of a rule has a place for this one.
          if (totalOf(numbers, DOMAIN_NOT_FOUND) > 0) others.push([name, onlyDomain(numbers)]);
        }
      }
    }
    return others;
  }

  /** Where the numbers of a name belong that is kept in `kept`; null when it is there. */
  #otherRow(name: string, kept: NamedRows): Row | null {
    if (this.#current !== null) {
      const limit = this.#current.names.limitNamed(name);
      if (limit >= 0) return rowOf(this.#current.generation, limit);
    }
    const requested = kept === this.#gone ? this.#requested.peek(name) : undefined;
    return requested === undefined ? null : whole(requested);
  }
}

type NamedRow = readonly [name: string, numbers: Int32Array];

/** Ends early when the rules are replaced: numbers move away from then on, and what is left is no total. */
function* ruleTotals({ generation, names }: Published, isCurrent: () => boolean): Iterable<CounterTotal> {
  for (let limit = 0; limit < generation.rules.limitCount; limit++) {
    if (limit % ROWS_AT_ONCE === 0) yield PAUSE;
    if (!isCurrent()) return;
    const row = rowOf(generation, limit);
    // Every hit is in one of two totals, so a rule without any is passed over before its name is read.
    if (!isUsed(row) || names.twins.has(limit)) continue;
    yield* rowTotals(names.name(limit), row, RULE_STATS);
  }
}

function* rowTotals(name: string, { numbers, base }: Row, stats: readonly string[]): Iterable<CounterTotal> {
  const prefix = `${RULE_PREFIX}${name}.`;
  // All at once: time may pass between two that are told, and numbers may move.
  const totals = stats.map((_, stat) => totalOf(numbers, base + stat));
  for (const [stat, total] of totals.entries()) if (total !== 0) yield [prefix + stats[stat], total];
}

function rowOf(generation: RuleGeneration, limit: number): Row {
  return { numbers: generation.statistics, base: limit * ROW_SLOTS };
}

function whole(numbers: Int32Array): Row {
  return { numbers, base: 0 };
}

function onlyDomain(numbers: Int32Array): Int32Array {
  const row = ownTotals(NAMED_STATS.length);
  addTotal(row, DOMAIN_NOT_FOUND, totalOf(numbers, DOMAIN_NOT_FOUND));
  return row;
}

function isUsed({ numbers, base }: Row): boolean {
  const counted = totalOf(numbers, base + RULE_STAT.totalHits);
  return counted !== 0 || totalOf(numbers, base + RULE_STAT.totalNegativeHits) !== 0;
}

function isZero({ numbers, base }: Row): boolean {
  for (let stat = 0; stat < RULE_STATS.length; stat++) if (totalOf(numbers, base + stat) !== 0) return false;
  return true;
}

/** Decisions under way may still count in `from`; that is moved the next time. */
function move(from: Row, to: Row): void {
  for (let stat = 0; stat < RULE_STATS.length; stat++) {
    addTotal(to.numbers, to.base + stat, takeTotal(from.numbers, from.base + stat));
  }
}
