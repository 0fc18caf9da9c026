import { CalendarWindows } from '../../base/calendar/calendar-windows.ts';
import { windowLengthS } from '../../counters/window.ts';
import type { RuleTerms } from '../../rules/rule-terms.ts';

const TILDE = 126;

/**
 * The windows of limits that are not plain: of equal length since the epoch, or of a calendar. Limits with the same terms
 * share one object, which knows the window of the current second.
 */
export class LimitWindow {
  readonly terms: RuleTerms;
  /** Number of the unit; see `window.ts`. */
  readonly unit: number;
  /** Length of the windows in seconds; 0 for those of a calendar, whose lengths differ. */
  readonly lengthS: number;
  /** The current window: `[startS, endS)` in seconds since the epoch. Empty before the first {@link moveTo}. */
  startS = 0;
  endS = 0;
  /**
   * The end of a cache key in the current window: its start (unless the store counts across windows), and if there is a tag,
   * `~` and the tag.
   */
  keyEnd: Uint8Array;
  readonly #calendar: CalendarWindows | null;

  constructor(terms: RuleTerms, unit: number) {
    this.terms = terms;
    this.unit = unit;
    this.#calendar = terms.calendar === null ? null : new CalendarWindows(terms.calendar);
    this.lengthS = terms.calendar === null ? lengthOf(terms, unit) : 0;
    this.keyEnd = keyEndOf('', terms.tag);
  }

  /** Whether keys of the limit are those of plain limits with its unit. */
  get hasKeysOfUnit(): boolean {
    return this.terms.tag.length === 0 && this.lengthS > 0;
  }

  /** Makes the window that contains a second the current one. This is cheap if it is the current one already. */
  moveTo(nowS: number): void {
    if (nowS >= this.startS && nowS < this.endS) return;
    const { terms } = this;
    if (this.#calendar === null) {
      this.startS = nowS - (nowS % this.lengthS);
      this.endS = this.startS + this.lengthS;
    } else {
      this.#calendar.moveTo(nowS);
      this.startS = this.#calendar.startS;
      this.endS = this.#calendar.endS;
    }
    if (!isAdmitted(terms)) this.keyEnd = keyEndOf(String(this.startS), terms.tag);
  }
}

/** Whether the store admits the hits of a limit, which then has one key for all times. */
export function isAdmitted({ algorithm, penalty, classes, lease }: RuleTerms): boolean {
  return algorithm !== 'fixed_window' || penalty !== null || classes !== null || lease !== null;
}

/** A limit on what runs at the same time has no unit. */
function lengthOf({ lease, multiplier }: RuleTerms, unit: number): number {
  return lease?.mode === 'concurrency' ? lease.forS : windowLengthS(unit) * multiplier;
}

function keyEndOf(start: string, tag: Uint8Array): Uint8Array {
  if (tag.length === 0) return Buffer.from(start);
  const end = new Uint8Array(start.length + 1 + tag.length);
  end.set(Buffer.from(start));
  end[start.length] = TILDE;
  end.set(tag, start.length + 1);
  return end;
}
