import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../base/clock.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';

/** What is told about each limit. */
export const FIGURES = ['hits', 'refused', 'nearLimit', 'shadowRefused'] as const;
export type Figures = Readonly<Record<(typeof FIGURES)[number], number>>;

/** Figures from the numbers of the columns, which are in the order of {@link FIGURES}. */
export function figuresOf(at: (column: number) => number): Figures {
  return { hits: at(0), refused: at(1), nearLimit: at(2), shadowRefused: at(3) };
}

/** What was counted in an interval. */
export interface RatePoint extends Figures {
  /** The end of the interval, in milliseconds since the epoch. */
  readonly atMs: number;
  readonly seconds: number;
}

/** A limit and what it has counted. */
interface LimitPoints {
  /** The path of the limit when it was counted. */
  readonly path: string;
  /** The number of the limit in the rules of the last sample; null if it has had no hits since they were loaded. */
  readonly limit: number | null;
  readonly points: readonly RatePoint[];
}

const MINUTES = HOUR_MS / MINUTE_MS;
const REFUSED = FIGURES.indexOf('refused');
const SHADOW_REFUSED = FIGURES.indexOf('shadowRefused');

/** Maximum number of limits with a history, and the part of it that only limits with refusals can have. */
const MAX_LIMITS = 8_192;
const RESERVED_LIMITS = MAX_LIMITS / 4;

/** The hits of a limit in each minute of the last hour: a ring of minutes for each figure. */
class Series {
  readonly path: string;
  /** The first minute that is known. */
  readonly fromMinute: number;
  limit: number | null = null;
  /** The last minute in which something was counted. */
  lastMinute: number;
  readonly #hits = new Float32Array(FIGURES.length * MINUTES);

  constructor(path: string, fromMinute: number, minute: number) {
    this.path = path;
    this.fromMinute = fromMinute;
    this.lastMinute = minute;
  }

  /** Adds the hits of a sample, in the order of {@link FIGURES}. Minutes never decrease. */
  add(minute: number, hits: Float64Array): void {
    for (let old = Math.max(this.lastMinute + 1, minute - MINUTES + 1); old <= minute; old++) {
      for (let column = 0; column < FIGURES.length; column++) this.#hits[placeOf(column, old)] = 0;
    }
    this.lastMinute = minute;
    for (let column = 0; column < FIGURES.length; column++) {
      this.#hits[placeOf(column, minute)] += hits[column];
    }
  }

  /** The hits of one minute; 0 for minutes that are not known. `minute` is at most an hour before the last sample. */
  at(column: number, minute: number): number {
    const isKept = minute <= this.lastMinute && minute > this.lastMinute - MINUTES;
    return isKept ? this.#hits[placeOf(column, minute)] : 0;
  }
}

function placeOf(column: number, minute: number): number {
  return column * MINUTES + (minute % MINUTES);
}

/**
 * What limits have counted in each minute of the last hour, fed by the samples of `RuleRates`. Only limits with hits in
 * the last hour are kept, at most {@link MAX_LIMITS}, by their path, so that loads of rules do not interrupt their
 * history: a kilobyte each and their paths, about 12 MB in all. With more limits, the first ones stay, because taking
 * turns would leave no history at all; but some places are reserved for limits with refusals.
 */
export class LimitHistory {
  readonly #byPath = new Map<string, Series>();
  /** By number in the rules of the last sample: limits that were counted with these rules. */
  readonly #byLimit = new Map<number, Series>();
  #rules: CompiledRules | null = null;
  #all: Series | null = null;
  #nowMs = 0;
  #minute = -1;
  /** The first minute. */
  #startMinute = 0;
  /** The last minute in which there was no place for a limit. */
  #fullMinute = Number.NEGATIVE_INFINITY;

  /** Begins a sample of these rules. A clock that was set back begins the history anew. */
  begin(rules: CompiledRules, nowMs: number): void {
    // A minute includes its end, so that a sample at its end belongs to it.
    const minute = Math.ceil(nowMs / MINUTE_MS) - 1;
    if (minute < this.#minute || this.#all === null) this.#clear(minute);
    else if (minute > this.#minute) this.#forgetBefore(minute - MINUTES + 1);
    this.#minute = minute;
    this.#nowMs = nowMs;
    if (rules === this.#rules) return;
    this.#rules = rules;
    for (const series of this.#byLimit.values()) series.limit = null;
    this.#byLimit.clear();
  }

  /** Adds what a limit has counted since the sample before, in the order of {@link FIGURES}. */
  add(limit: number, hits: Float64Array): void {
    this.#all?.add(this.#minute, hits);
    const series = this.#byLimit.get(limit) ?? this.#find(limit, hits);
    series?.add(this.#minute, hits);
  }

  /**
   * The minutes of the last hour, the oldest first; fewer after a start. The last one ends with the last sample.
    Null if there was no place for the limit.
   *
   * @param path of the limit
   */
  pointsOf(path: string): readonly RatePoint[] | null {
    const series = this.#byPath.get(path);
    if (series !== undefined) return this.#points(column => minute => series.at(column, minute), series);
    return this.#isFull ? null : this.#points(() => () => 0);
  }

  /** One figure of the last minutes, the oldest first, with 0 for unknown minutes. Null if there was no place. */
  lastOf(path: string, figure: (typeof FIGURES)[number], minutes: number): number[] | null {
    const series = this.#byPath.get(path);
    if (series === undefined && this.#isFull) return null;
    const column = FIGURES.indexOf(figure);
    return Array.from({ length: minutes }, (_, i) => series?.at(column, this.#minute - minutes + 1 + i) ?? 0);
  }

  /**
   * The limits with the most refusals of the last hour, all limits together, and those that are not among the first.
   */
  mostRefused(count: number): {
    readonly all: readonly RatePoint[];
    readonly first: readonly LimitPoints[];
    readonly rest: readonly RatePoint[];
  } {
    const all = this.#all;
    if (all === null) return { all: [], first: [], rest: [] };
    const first = [...this.#byPath.values()]
      .map(series => ({ series, refused: this.#sum(series, REFUSED) }))
      .filter(({ refused }) => refused > 0)
      .sort((a, b) => b.refused - a.refused)
      .slice(0, count)
      .map(({ series }) => series);
    const rest = (column: number) => (minute: number) =>
      Math.max(
        first.reduce((hits, series) => hits - series.at(column, minute), all.at(column, minute)),
        0,
      );
    return {
      all: this.#points(column => minute => all.at(column, minute)),
      first: first.map(series => ({
        path: series.path,
        limit: series.limit,
        points: this.#points(column => minute => series.at(column, minute)),
      })),
      rest: this.#points(rest),
    };
  }

  get #isFull(): boolean {
    return this.#fullMinute > this.#minute - MINUTES;
  }

  #find(limit: number, hits: Float64Array): Series | null {
    const path = this.#rules?.path(limit) ?? '';
    let series = this.#byPath.get(path);
    if (series === undefined) {
      const isRefusing = hits[REFUSED] > 0 || hits[SHADOW_REFUSED] > 0;
      if (this.#byPath.size >= (isRefusing ? MAX_LIMITS : MAX_LIMITS - RESERVED_LIMITS)) {
        this.#fullMinute = this.#minute;
        return null;
      }
      series = new Series(path, this.#isFull ? this.#minute : this.#startMinute, this.#minute);
      this.#byPath.set(path, series);
    }
    series.limit = limit;
    this.#byLimit.set(limit, series);
    return series;
  }

  #sum(series: Series, column: number): number {
    let sum = 0;
    for (let minute = this.#minute - MINUTES + 1; minute <= this.#minute; minute++)
      sum += series.at(column, minute);
    return sum;
  }

  #points(
    at: (column: number) => (minute: number) => number,
    { fromMinute }: { readonly fromMinute: number } = { fromMinute: this.#startMinute },
  ): RatePoint[] {
    const columns = FIGURES.map((_, column) => at(column));
    const first = Math.max(fromMinute, this.#minute - MINUTES + 1);
    return Array.from({ length: Math.max(this.#minute - first + 1, 0) }, (_, i) => {
      const minute = first + i;
      const atMs = Math.min((minute + 1) * MINUTE_MS, this.#nowMs);
      const seconds = (atMs - minute * MINUTE_MS) / SECOND_MS;
      return { atMs, seconds, ...figuresOf(column => columns[column](minute)) };
    });
  }

  #forgetBefore(minute: number): void {
    for (const [path, series] of this.#byPath) {
      if (series.lastMinute >= minute) continue;
      this.#byPath.delete(path);
      if (series.limit !== null) this.#byLimit.delete(series.limit);
    }
  }

  #clear(minute: number): void {
    this.#byPath.clear();
    this.#byLimit.clear();
    this.#startMinute = minute;
    this.#fullMinute = Number.NEGATIVE_INFINITY;
    this.#all = new Series('', minute, minute);
  }
}
