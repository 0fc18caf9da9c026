import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, HOUR_MS, MINUTE_MS, SECOND_MS, type Timer } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { RULE_STAT } from '../../stats/names.ts';
import { type FullestKey, fullestKey } from './fullest-keys.ts';
import { FIGURES, type Figures, figuresOf, LimitHistory, type RatePoint } from './limit-history.ts';
import { type ActiveTotals, ROW_SLOTS, type RuleStatistics } from './rule-statistics.ts';
import { totalOf } from './shared-totals.ts';

/** Interval between two samples, and while somebody looks. */
export const SAMPLE_MS = 10 * SECOND_MS;
export const WATCHED_SAMPLE_MS = 2 * SECOND_MS;

/** Figures that were sampled longer ago are sampled again for a look. */
const FRESH_MS = SECOND_MS;

/** How long after the last look samples are still frequent. */
const WATCHED_FOR_MS = 30 * SECOND_MS;

/** The last hour is kept in parts of this length. */
const PART_MS = 10 * MINUTE_MS;

/** Number of rows to process before other work may run. */
const ROWS_AT_ONCE = 1_024;

interface Part {
  readonly startMs: number;
  /** Column after column. Exact up to 2^24, and with seven digits above. */
  readonly hits: Float32Array;
}

/** The totals of one generation of rules at the last sample, and what was counted before it. */
class Columns {
  readonly active: ActiveTotals;
  readonly count: number;
  /** Column after column: the totals at the last sample, and the hits between the last two. */
  readonly totals: Float64Array;
  readonly recent: Float32Array;
  /** 1 for limits that had counted nothing between the last two samples. */
  readonly quiet: Uint8Array;
  /** When all figures of all limits were read last. */
  wholeMs = Number.NEGATIVE_INFINITY;
  atMs: number;
  recentMs = 0;
  /** The parts of the last hour, the oldest first. */
  readonly parts: Part[] = [];

  constructor(active: ActiveTotals, nowMs: number) {
    this.active = active;
    this.count = active.generation.rules.limitCount;
    this.totals = new Float64Array(this.count * FIGURES.length);
    this.recent = new Float32Array(this.count * FIGURES.length);
    this.quiet = new Uint8Array(this.count);
    this.atMs = nowMs;
    this.#addPart(nowMs);
  }

  /** The part of the present, after removing parts that are older than an hour. */
  partAt(nowMs: number): Part {
    const last = this.parts[this.parts.length - 1];
    if (nowMs - last.startMs >= PART_MS || nowMs < last.startMs) this.#addPart(nowMs);
    while (this.parts[0].startMs <= nowMs - HOUR_MS - PART_MS || this.parts[0].startMs > nowMs)
      this.parts.shift();
    return this.parts[this.parts.length - 1];
  }

  #addPart(startMs: number): void {
    this.parts.push({ startMs, hits: new Float32Array(this.count * FIGURES.length) });
  }
}

/**
 * What each limit counts per second, now and in the last hour. The totals of all limits are sampled every ten seconds, and
 * every two seconds while somebody looks, a few rows at a time, so that decisions continue. The memory is 32 bytes of
 * totals and 145 bytes of the last hour at most for each limit. The last hour begins anew when rules are replaced, because
 * their limits have other numbers; the history of its minutes continues.
 */
export class RuleRates implements Service {
  readonly name = 'rates of rules';
  readonly #statistics: RuleStatistics;
  readonly #clock: Clock;
  /** The minutes of the last hour. */
  readonly history = new LimitHistory();
  #columns: Columns | null = null;
  #points: RatePoint[] = [];
  #latest: RatePoint | null = null;
  /** Hits of all limits since the last point. */
  #open: { readonly startMs: number; readonly hits: Float64Array } | null = null;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | null = null;
  #sampling: Promise<void> | null = null;
  #stopped = true;

  constructor(statistics: RuleStatistics, clock: Clock) {
    this.#statistics = statistics;
    this.#clock = clock;
  }

  async start(): Promise<void> {
    this.#stopped = false;
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#sampling;
  }

  /** The figures of now, after a new sample if the last one is old. Null before the first load of rules. */
  async look(): Promise<RateView | null> {
    const nowMs = this.#clock.nowMs();
    this.#lookedMs = nowMs;
    const columns = this.#columns;
    const isFresh =
      columns !== null &&
      columns.active.generation === this.#statistics.active?.generation &&
      Math.abs(nowMs - columns.atMs) < FRESH_MS;
    if (!isFresh) {
      await this.#sample();
      this.#schedule();
    }
    return this.#columns === null ? null : new RateView(this.#columns, this.history);
  }

  /** The hits of all limits together in the last hour, the oldest interval first. */
  get points(): readonly RatePoint[] {
    return this.#points;
  }

  /** The hits of all limits together between the last two samples; null before the second one. */
  get latest(): RatePoint | null {
    return this.#latest;
  }

  #schedule(): void {
    this.#timer?.cancel();
    if (this.#stopped) return;
    const isWatched = this.#clock.nowMs() - this.#lookedMs < WATCHED_FOR_MS;
    this.#timer = this.#clock.after(isWatched ? WATCHED_SAMPLE_MS : SAMPLE_MS, () => {
      void this.#sample().then(() => this.#schedule());
    });
  }

  #sample(): Promise<void> {
    this.#sampling ??= this.#takeSample().finally(() => {
      this.#sampling = null;
    });
    return this.#sampling;
  }

  async #takeSample(): Promise<void> {
    for (const _pause of this.#statistics.carryOver()) await nextTurn();
    const { active } = this.#statistics;
    if (active === null) return;
    const nowMs = this.#clock.nowMs();
    const known = this.#columns?.active.generation === active.generation ? this.#columns : null;
    const columns = known ?? new Columns(active, nowMs);
    // With new rules, what they have counted before the first sample would appear as a burst.
    const part = known === null ? null : columns.partAt(nowMs);
    const isWhole = part === null || Math.abs(nowMs - columns.wholeMs) >= SAMPLE_MS;
    if (isWhole) columns.wholeMs = nowMs;
    const sums = new Float64Array(FIGURES.length);
    const counted = new Float64Array(FIGURES.length);
    this.history.begin(active.generation.rules, nowMs);
    for (let limit = 0; limit < columns.count; limit++) {
      if (limit % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await nextTurn();
      // Replaced meanwhile: the totals are being moved to the new rules.
      if (this.#statistics.active?.generation !== active.generation) return;
      if (active.twins.has(limit) || (!isWhole && isStillQuiet(columns, limit))) continue;
      if (!sampleLimit(columns, limit, part, counted)) continue;
      this.history.add(limit, counted);
      for (let column = 0; column < sums.length; column++) sums[column] += counted[column];
    }
    columns.recentMs = part === null ? 0 : Math.max(nowMs - columns.atMs, 1);
    columns.atMs = nowMs;
    this.#columns = columns;
    if (part !== null)
      this.#latest = { atMs: nowMs, seconds: columns.recentMs / SECOND_MS, ...figuresOf(i => sums[i]) };
    this.#addPoint(nowMs, sums);
  }

  #addPoint(nowMs: number, sums: Float64Array): void {
    const open = this.#open;
    if (open === null || nowMs < open.startMs) {
      this.#open = { startMs: nowMs, hits: new Float64Array(FIGURES.length) };
      return;
    }
    for (const [i, hits] of sums.entries()) open.hits[i] += hits;
    if (nowMs - open.startMs < SAMPLE_MS) return;
    const seconds = (nowMs - open.startMs) / SECOND_MS;
    this.#points.push({ atMs: nowMs, seconds, ...figuresOf(i => open.hits[i]) });
    this.#points = this.#points.filter(({ atMs }) => atMs > nowMs - HOUR_MS && atMs <= nowMs);
    this.#open = { startMs: nowMs, hits: new Float64Array(FIGURES.length) };
  }
}

/** The figures of all limits at one time. They may change when the event loop continues. */
export class RateView {
  readonly rules: CompiledRules;
  readonly count: number;
  /** When the figures were sampled, in milliseconds since the epoch. */
  readonly atMs: number;
  /** Number of seconds of the last hour for which there are figures. */
  readonly hourSeconds: number;
  readonly #columns: Columns;
  readonly #twins: ReadonlyMap<number, number> | null;
  readonly #history: LimitHistory;

  constructor(columns: Columns, history: LimitHistory) {
    this.rules = columns.active.generation.rules;
    this.count = columns.count;
    this.atMs = columns.atMs;
    this.hourSeconds = (columns.atMs - columns.parts[0].startMs) / SECOND_MS;
    this.#columns = columns;
    // Most rules have no twins, and then sorting does not look for them.
    this.#twins = columns.active.twins.size === 0 ? null : columns.active.twins;
    this.#history = history;
  }

  /** Totals since the process started. */
  totals(limit: number): Figures {
    const { totals } = this.#columns;
    return this.#figures(limit, place => totals[place]);
  }

  /** Hits per second between the last two samples; 0 after the first one. */
  perSecond(limit: number): Figures {
    return this.#figures(limit, place => this.#rateAt(place));
  }

  /** Hits in the last hour, or since the rules were loaded. */
  lastHour(limit: number): Figures {
    const { parts } = this.#columns;
    return this.#figures(limit, place => parts.reduce((sum, part) => sum + part.hits[place], 0));
  }

  /** What the limit has counted in the minutes of the last hour, see {@link LimitHistory.pointsOf}. */
  minutes(limit: number): readonly RatePoint[] | null {
    return this.#history.pointsOf(this.rules.path(this.#rowOf(limit)));
  }

  /** One figure of the last minutes, see {@link LimitHistory.lastOf}. */
  lastMinutes(limit: number, figure: (typeof FIGURES)[number], minutes: number): number[] | null {
    return this.#history.lastOf(this.rules.path(this.#rowOf(limit)), figure, minutes);
  }

  /** The key that is closest to the limit, see {@link fullestKey}. */
  fullest(limit: number): FullestKey | null {
    return fullestKey(this.#columns.active.generation, limit, this.atMs / SECOND_MS);
  }

  /** One figure of {@link perSecond}. */
  rateOf(limit: number, figure: (typeof FIGURES)[number]): number {
    return this.#rateAt(FIGURES.indexOf(figure) * this.count + this.#rowOf(limit));
  }

  /** One figure of {@link totals}. */
  totalOf(limit: number, figure: (typeof FIGURES)[number]): number {
    return this.#columns.totals[FIGURES.indexOf(figure) * this.count + this.#rowOf(limit)];
  }

  #rateAt(place: number): number {
    const { recent, recentMs } = this.#columns;
    return recentMs === 0 ? 0 : (recent[place] * SECOND_MS) / recentMs;
  }

  #rowOf(limit: number): number {
    return this.#twins?.get(limit) ?? limit;
  }

  #figures(limit: number, at: (place: number) => number): Figures {
    const row = this.#rowOf(limit);
    return figuresOf(column => at(column * this.count + row));
  }
}

/**
 * Adds what a limit has counted since the last sample to `part`, and puts it into `counted`; only reads its totals without
 * a part. Returns whether it has counted anything.
 */
function sampleLimit(
  { active, count, totals, recent, quiet }: Columns,
  limit: number,
  part: Part | null,
  counted: Float64Array,
): boolean {
  const { statistics } = active.generation;
  const base = limit * ROW_SLOTS;
  const shadow = totalOf(statistics, base + RULE_STAT.shadowMode);
  const over = totalOf(statistics, base + RULE_STAT.overLimit);
  const nearLimit = totalOf(statistics, base + RULE_STAT.nearLimit);
  const hits = totalOf(statistics, base + RULE_STAT.totalHits);
  let hasCounted = false;
  for (let column = 0; column < FIGURES.length; column++) {
    const total =
      column === 0 ? hits : column === 1 ? Math.max(over - shadow, 0) : column === 2 ? nearLimit : shadow;
    const place = column * count + limit;
    if (part !== null) {
      counted[column] = Math.max(total - totals[place], 0);
      recent[place] = counted[column];
      part.hits[place] += counted[column];
      hasCounted ||= counted[column] > 0;
    }
    totals[place] = total;
  }
  quiet[limit] = hasCounted ? 0 : 1;
  return hasCounted;
}

/**
 * Whether a limit that had counted nothing before the last sample still has no new hits. Its refusals are then not read:
 * of 100,000 limits, most are quiet. Refusals are counted when the store has answered, after their hits. Those of a store
 * that is slow are found by the next whole sample.
 */
function isStillQuiet({ active, totals, quiet }: Columns, limit: number): boolean {
  if (quiet[limit] === 0) return false;
  return totalOf(active.generation.statistics, limit * ROW_SLOTS + RULE_STAT.totalHits) === totals[limit];
}
