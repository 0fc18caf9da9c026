import { WordList } from '../base/collections/word-list.ts';
import { CALENDAR_MONTH, withCalendarMonth } from './calendar-month.ts';
import { TERMS } from './layout.ts';
import type { ClassRule, LimitTerms, RuleLimit } from './rule-set.ts';
import { type TextPool, writeTerms } from './rule-terms.ts';

/** The section of the terms, while rules are compiled. Equal terms have one record. */
export class TermsSection {
  readonly words = new WordList();
  /** Number of the terms of a plain limit per month + 1; 0 if a month has 30 days. */
  readonly calendarMonth: number;
  readonly #pooled: TextPool;
  readonly #numbers = new Map<string, number>();
  /** Equal classes of a load are mostly one object. */
  readonly #ofClasses = new Map<ClassRule | null, number>([[null, 0]]);
  readonly #classTexts = new Map<string, number>();

  /** @param calendarMonths whether months are those of the calendar */
  constructor(calendarMonths: boolean, pooled: TextPool) {
    this.#pooled = pooled;
    this.calendarMonth = calendarMonths ? this.#intern(CALENDAR_MONTH) + 1 : 0;
  }

  /** Number of the terms of a limit + 1; 0 for a plain limit. */
  add({ unit, terms: written }: Pick<RuleLimit, 'unit' | 'terms'>): number {
    const terms = this.calendarMonth === 0 ? written : withCalendarMonth(unit, written);
    return terms === null ? 0 : this.#intern(terms) + 1;
  }

  #intern(terms: LimitTerms): number {
    const same = JSON.stringify({ ...terms, classes: this.#classNumber(terms.classes) });
    const known = this.#numbers.get(same);
    if (known !== undefined) return known;
    const at = this.words.allocate(TERMS.words);
    const number = at / TERMS.words;
    this.#numbers.set(same, number);
    writeTerms(this.words.words, at, terms, this.#pooled);
    return number;
  }

  /** Equal classes have the same number, so that their texts are not a part of the text of each limit. */
  #classNumber(classes: ClassRule | null): number {
    let number = this.#ofClasses.get(classes);
    if (number === undefined) {
      const text = JSON.stringify(classes);
      number = this.#classTexts.get(text) ?? this.#classTexts.size + 1;
      this.#classTexts.set(text, number);
      this.#ofClasses.set(classes, number);
    }
    return number;
  }
}
