import { DAY_MS } from '../clock.ts';
import { recentlyUsed } from '../collections/recently-used.ts';

/** A clock of the zone is changed at `at`, from one offset to another. Milliseconds; offsets are what is added to UTC. */
interface Transition {
  readonly at: number;
  readonly before: number;
  readonly after: number;
}

interface ZoneYear {
  /** When the year begins (in UTC). */
  readonly offset: number;
  /** In the year, in order. */
  readonly transitions: readonly Transition[];
}

/** No clock was ever changed by more: places crossed the date line. In milliseconds. */
export const LONGEST_CHANGE_MS = 26 * 3_600_000;
/**
 * How far apart the times are at which the offset is read. Since 1970, no clock was changed twice within less than a week
 * (Recife had summer time for seven days in 2000).
 */
const LOOK_MS = 3 * DAY_MS;
const MAX_NAME_LENGTH = 64;
const MAX_NAMES = 500;
const MAX_YEARS = 40;
/** `Europe/Berlin`, `UTC`, `Etc/GMT+5`, and not `+05:30`, which JavaScript takes as well. */
const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;

/**
 * By the name in the schedule. The number of such names is unlimited, because any mixture of letter cases is accepted.
 */
const named = recentlyUsed<string, TimeZone>(MAX_NAMES);
/** By the name that the runtime uses. Their number is limited by the time zone data, so entries are never evicted. */
const zones = new Map<string, TimeZone>();

/** The accepted names, for error texts. */
export const TIME_ZONE_ACCEPTED = 'the IANA name of a time zone, such as "Europe/Berlin" or "UTC"';

/** The zone with this IANA name; null if there is no such zone. */
export function timeZone(name: string): TimeZone | null {
  const known = named.get(name);
  if (known !== undefined) return known;
  if (name.length > MAX_NAME_LENGTH || !NAME.test(name)) return null;
  try {
    const made = new TimeZone(name);
    const zone = zones.get(made.name) ?? made;
    zones.set(zone.name, zone);
    named.set(name, zone);
    return zone;
  } catch {
    return null;
  }
}

/**
 * Offsets of a time zone, from the data that the runtime has. Transitions are looked for once for each year: a tenth
 * of a millisecond that later questions about the year do not pay.
 */
export class TimeZone {
  /** The name that the runtime uses. It is the same for all names of one zone. */
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  readonly #years = new Map<number, ZoneYear>();

  /** @throws RangeError when there is no such zone */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      weekday: 'narrow',
      timeZoneName: 'longOffset',
    });
    this.name = this.#format.resolvedOptions().timeZone;
  }

  offsetAt(ms: number): number {
    const { offset, transitions } = this.#yearOf(ms);
    let current = offset;
    for (const transition of transitions) {
      if (transition.at > ms) break;
      current = transition.after;
    }
    return current;
  }

  /** The first transition after `after` and not after `until`. */
  nextTransition(after: number, until: number): Transition | null {
    const lastYear = new Date(until).getUTCFullYear();
    for (let year = new Date(after).getUTCFullYear(); year <= lastYear; year++) {
      for (const transition of this.#year(year).transitions) {
        if (transition.at > until) return null;
        if (transition.at > after) return transition;
      }
    }
    return null;
  }

  /** Readings of the clock below this one were there before `ms` already, if they are there again. */
  readBefore(ms: number): number {
    let reading = Number.NEGATIVE_INFINITY;
    let from = ms - LONGEST_CHANGE_MS;
    for (;;) {
      const transition = this.nextTransition(from, ms);
      if (transition === null) return reading;
      reading = Math.max(reading, transition.at + transition.before);
      from = transition.at;
    }
  }

  #yearOf(ms: number): ZoneYear {
    return this.#year(new Date(ms).getUTCFullYear());
  }

  #year(year: number): ZoneYear {
    let found = this.#years.get(year);
    if (found === undefined) {
      if (this.#years.size >= MAX_YEARS) this.#years.clear();
      found = this.#readYear(year);
      this.#years.set(year, found);
    }
    return found;
  }

  #readYear(year: number): ZoneYear {
    const begin = Date.UTC(year, 0, 1);
    const end = Date.UTC(year + 1, 0, 1);
    const first = this.#readOffset(begin);
    const transitions: Transition[] = [];
    let before = first;
    for (let from = begin; from < end; from += LOOK_MS) {
      const to = Math.min(from + LOOK_MS, end);
      const after = this.#readOffset(to);
      if (after !== before) transitions.push({ at: this.#changedAt(from, to), before, after });
      before = after;
    }
    return { offset: first, transitions };
  }

  /** The time between the two at which the offset changes, in whole seconds. */
  #changedAt(from: number, to: number): number {
    const after = this.#readOffset(to);
    let low = from / 1_000;
    let high = to / 1_000;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.#readOffset(middle * 1_000) === after) high = middle;
      else low = middle;
    }
    return high * 1_000;
  }

  /** The runtime writes `S, GMT+05:30`; seconds follow where there are any. */
  #readOffset(ms: number): number {
    const text = this.#format.format(ms);
    const start = text.lastIndexOf('GMT') + 3;
    const minutes = Number(text.slice(start + 1, start + 3)) * 60 + Number(text.slice(start + 4, start + 6));
    const seconds = minutes * 60 + Number(text.slice(start + 7, start + 9));
    return (text[start] === '-' ? -seconds : seconds) * 1_000;
  }
}
