import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { RULE_PREFIX, RULE_STAT, RULE_STATS } from '../../stats/names.ts';
import { type CounterSource, type CounterTotal, PAUSE } from '../../stats/registry.ts';
import { TermsOfRules } from '../limits/terms-of-rules.ts';
import {
  DOMAIN_NOT_FOUND,
  NAMED_STATS,
  type NameBounds,
  NamedRows,
  type NamedStatistics,
} from './named-rows.ts';
import { RuleNames } from './rule-names.ts';
import { addTotal, ownTotals, sharedTotals, takeTotal, totalOf } from './shared-totals.ts';

/**
 * Distance between two rows of totals, in slots, so that each row has its own cache line. The slot that a row leaves free
 * has the fullest key of the limit; see `fullest-keys.ts`.
 */
export const ROW_SLOTS = 8;

let generations = 0;

/** What identifies a generation in every thread, and the totals that the threads share. */
interface SharedGeneration {
  readonly number: number;
  readonly statistics: SharedArrayBuffer;
}

/**
 * One loaded set of rules with its statistics, in memory that all threads share. Each thread has an object of its own,
 * which knows the batches of this thread. The primary thread counts each thread that may use the generation as a batch.
 */
export class RuleGeneration {
  /** Identifies the generation within the process, so that a thread recognizes a known one. */
  readonly number: number;
  readonly rules: CompiledRules;
  /** How the limits count that are not plain. */
  readonly terms: TermsOfRules;
  /** A row of `RULE_STATS.length` totals for each limit, {@link ROW_SLOTS} apart; see `shared-totals.ts`. */
  readonly statistics: Int32Array<SharedArrayBuffer>;
  /** The same memory as numbers; see `fullest-keys.ts`. */
  readonly shares: Float32Array<SharedArrayBuffer>;
  /** Number of batches that still count here. */
  #batches = 0;
  #whenIdle: (() => void) | null = null;

  /** @param shared number and statistics of the same generation in another thread; by default it is a new one */
  constructor(rules: CompiledRules, shared?: SharedGeneration) {
    this.number = shared?.number ?? ++generations;
    this.rules = rules;
    this.terms = new TermsOfRules(rules);
    this.statistics =
      shared === undefined ? sharedTotals(rules.rowCount * ROW_SLOTS) : new Int32Array(shared.statistics);
    this.shares = new Float32Array(this.statistics.buffer);
  }

  /** True if no batch counts here. */
  get isIdle(): boolean {
    return this.#batches === 0;
  }

  /** A batch starts to count here. Call {@link end} once when it has counted for the last time. */
  begin(): void {
    this.#batches++;
  }

  end(): void {
    if (--this.#batches === 0 && this.#whenIdle !== null) this.#announceIdle();
  }

  /** Other rules have replaced the generation, so no further batch begins. Calls `idle` when the last batch has ended. */
  replaced(idle: () => void): void {
    this.#whenIdle = idle;
    if (this.isIdle) this.#announceIdle();
  }

  #announceIdle(): void {
    const idle = this.#whenIdle;
    this.#whenIdle = null;
    idle?.();
  }
}

/** Limits for names made from request values, and separately for names of rules that no longer exist. */
export const NAME_BOUNDS: NameBounds = { bytes: 16 * 1024 * 1024, nameBytes: 512 };

/** What another thread has counted under names made from requests since its last report. */
export interface NamedReport {
  readonly names: readonly string[];
  /** The totals of all names, in the order of {@link NAMED_STATS}, one name after the other. */
  readonly totals: Int32Array;
  /** Names and hits that the thread has dropped. */
  readonly namesDropped: number;
  readonly hitsDropped: number;
}

/** Number of rows to process before other work may run. */
const ROWS_AT_ONCE = 512;

/** The totals of one name: slots of `numbers`, starting at `base`. */
interface Row {
  readonly numbers: Int32Array;
  readonly base: number;
}

interface Published {
  readonly generation: RuleGeneration;
  readonly names: RuleNames;
}

/** The active rules, and where the totals of their limits are. */
export interface ActiveTotals {
  readonly generation: RuleGeneration;
  /** By limit whose statistics have the name of an earlier limit: that limit, which has the totals of both. */
  readonly twins: ReadonlyMap<number, number>;
}

/**
 * The statistics of all rules.
 *
 * Most rules have a name that is known when they are loaded. Their totals are in a row of the generation, by the number of
 * the limit. Names that contain request values (`detailed_metric`, `value_to_metric`, overrides, unknown domains) are
 * created on first use, and names of rules that no longer exist are kept separately. The memory for both is limited.
 * Dropped names are counted as `ratelimit.stats.names_dropped`, and their hits as `ratelimit.stats.hits_dropped`.
 *
 * The totals of one name can be in several places: in a replaced generation, under a name made from a request, or in rules
 * whose names are equal after sanitizing. Before reading, they are moved to one place, so that each name is reported once
 * with its sum.
 */
export class RuleStatistics implements CounterSource, NamedStatistics {
  #current: Published | null = null;
  #retiring: RuleGeneration[] = [];
  readonly #requested: NamedRows;
  readonly #gone: NamedRows;
  /** What other threads have dropped before they reported it. */
  readonly #droppedElsewhere = { names: 0, hits: 0 };

  constructor(bounds: NameBounds = NAME_BOUNDS) {
    this.#requested = new NamedRows(bounds);
    this.#gone = new NamedRows(bounds);
  }

  /** Switches to `generation`. Iterate over {@link carryOver} soon, which discards the previous generation. */
  publish(generation: RuleGeneration): void {
    if (this.#current !== null) this.#retiring.push(this.#current.generation);
    this.#current = { generation, names: new RuleNames(generation.rules) };
  }

  /** Null before the first load. Totals of replaced rules are missing until {@link carryOver}. */
  get active(): ActiveTotals | null {
    if (this.#current === null) return null;
    const { generation, names } = this.#current;
    return { generation, twins: names.twins };
  }

  rowFor(metricKey: string): Int32Array {
    return this.#requested.row(metricKey);
  }

  domainNotFound(domain: string, descriptors: number): void {
    addTotal(this.#requested.row(domain), DOMAIN_NOT_FOUND, descriptors);
  }

  /** Adds the totals, from slot `base`, that another thread has counted under a name made from requests. */
  addNamed(metricKey: string, totals: Int32Array, base = 0): void {
    const row = this.rowFor(metricKey);
    for (let stat = 0; stat < NAMED_STATS.length; stat++) addTotal(row, stat, totalOf(totals, base + stat));
  }

  /** Adds what another thread has counted under many names, and what it has dropped. */
  addReport({ names, totals, namesDropped, hitsDropped }: NamedReport): void {
    for (const [i, name] of names.entries()) this.addNamed(name, totals, i * NAMED_STATS.length);
    this.#droppedElsewhere.names += namesDropped;
    this.#droppedElsewhere.hits += hitsDropped;
  }

  /**
   * Moves the totals of replaced rules to the active rules, or to the names that no longer exist. Works while it is
   * iterated over; other work may run at each {@link PAUSE}.
   */
  *carryOver(): Iterable<CounterTotal> {
    const current = this.#current;
    if (current === null) return;
    while (current.names.indexSome()) yield PAUSE;
    for (const retired of [...this.#retiring]) {
      // Checked before the first row is read, because batches may still count in rows that were already read.
      const done = retired.isIdle;
      for (let limit = 0; limit < retired.rules.rowCount; limit++) {
        if (limit % ROWS_AT_ONCE === 0) yield PAUSE;
        // Other rules were published meanwhile, so the rows of `current` may already have been carried over.
        if (this.#current !== current) return;
        this.#carryRow(retired, limit, current);
      }
      if (done) this.#retiring = this.#retiring.filter(each => each !== retired);
    }
    for (const [limit, first] of current.names.twins) {
      move(rowOf(current.generation, limit), rowOf(current.generation, first));
    }
  }

  /** Rules that are replaced during the iteration may be missing; they are reported the next time. */
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
    const { names, hits } = this.#droppedElsewhere;
    yield ['ratelimit.stats.names_dropped', names + namesDropped + this.#gone.namesDropped];
    yield ['ratelimit.stats.hits_dropped', hits + hitsDropped + this.#gone.hitsDropped];
  }

  #carryRow(from: RuleGeneration, limit: number, to: Published): void {
    const row = rowOf(from, limit);
    if (isZero(row)) return;
    const same = to.names.limitNamedAs(from.rules, limit);
    move(
      row,
      same < 0 ? whole(this.#gone.row(from.rules.statisticsPath(limit))) : rowOf(to.generation, same),
    );
  }

  /** The kept names that no rule has. The totals of the other names are moved to their rules. */
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
          // The row of a rule has no slot for this total.
          if (totalOf(numbers, DOMAIN_NOT_FOUND) > 0) others.push([name, onlyDomain(numbers)]);
        }
      }
    }
    return others;
  }

  /** The row to which the totals of a name in `kept` belong; null if that is the row in `kept`. */
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

/** Ends early if the rules are replaced, because their totals are moved from then on. */
function* ruleTotals({ generation, names }: Published, isCurrent: () => boolean): Iterable<CounterTotal> {
  for (let limit = 0; limit < generation.rules.rowCount; limit++) {
    if (limit % ROWS_AT_ONCE === 0) yield PAUSE;
    if (!isCurrent()) return;
    const row = rowOf(generation, limit);
    // Every hit is in one of two totals, so rules without hits are skipped before their names are built.
    if (!isUsed(row) || names.twins.has(limit)) continue;
    yield* rowTotals(names.name(limit), row, RULE_STATS);
  }
}

function* rowTotals(name: string, { numbers, base }: Row, stats: readonly string[]): Iterable<CounterTotal> {
  const prefix = `${RULE_PREFIX}${name}.`;
  // Read together, because totals may be moved between two yields.
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

/** Moves the totals of a row. Decisions in progress may still count in `from`; those hits are moved the next time. */
function move(from: Row, to: Row): void {
  for (let stat = 0; stat < RULE_STATS.length; stat++) {
    addTotal(to.numbers, to.base + stat, takeTotal(from.numbers, from.base + stat));
  }
}
