import { extraLevels } from '../compile-extra-rows.ts';
import {
  type ClassRule,
  type LimitTerms,
  type RuleEntry,
  type RuleLimit,
  UNIT_NUMBERS,
} from '../rule-set.ts';
import type { ConditionScope } from './conditions/condition-scope.ts';
import type { EntryPlace, FileCheck } from './fields/file-check.ts';
import { MAX_ENTRIES, MAX_EXTRA_ROWS, MAX_NAME_CHARACTERS } from './yaml/bounds.ts';

/** What the checks of all files of a load share. */
export interface LoadScope {
  readonly budget: EntryBudget;
  readonly plainLimits: PlainLimits;
  readonly extraRows: ExtraRowBudget;
  readonly classes: SharedClasses;
  readonly conditions: ConditionScope;
  /** Where each `quota` is written, by its rule. Their rules are compared when all files are read. */
  readonly quotas: Map<RuleEntry, EntryPlace>;
  /** Whether the counters are in memcached, which cannot admit hits. */
  readonly forMemcached: boolean;
}

/** Limits the number of entries of a load and the total length of their full names. */
export class EntryBudget {
  #left = MAX_ENTRIES;
  #charactersLeft = MAX_NAME_CHARACTERS;

  /** False if there are too many entries, which is reported once. */
  take(check: FileCheck, offset: number): boolean {
    this.#left--;
    if (this.#left === -1) {
      check.fault(offset, `there are more than ${MAX_ENTRIES} entries in all files: remove some`);
    }
    return this.#left >= 0;
  }

  /** Reports once if the full names are too long in total. */
  takeName(check: FileCheck, offset: number): void {
    if (this.#charactersLeft < 0) return;
    this.#charactersLeft -= check.nameLength;
    if (this.#charactersLeft >= 0) return;
    check.fault(
      offset,
      `the full names of all entries have more than ${MAX_NAME_CHARACTERS} characters: write fewer levels or shorter values`,
    );
  }
}

/** Limits the number of rows of statistics that the limits of a load have besides their own; see `extraLevels`. */
export class ExtraRowBudget {
  #left = MAX_EXTRA_ROWS;

  /** Reports once if there are too many. */
  take(check: FileCheck, offset: number, terms: LimitTerms): void {
    if (this.#left < 0) return;
    this.#left -= extraLevels(terms).length;
    if (this.#left >= 0) return;
    check.fault(
      offset,
      `the limits of all files have more than ${MAX_EXTRA_ROWS} classes, each with statistics of its own (one more for each ` +
        'limit with `classes`, one for each `after_limit`, and four for each `reserve` and `concurrency`): write fewer classes, or `default` for several of them',
    );
  }
}

/** Maximum number of different limits, and of different classes, that are kept to be shared. */
const MAX_SHARED = 10_000;

/**
 * The plain limits of a load. Rules mostly repeat a few limits, so equal ones are one object: with many rules, the limits
 * would take more memory than anything else in a rule set.
 */
export class PlainLimits {
  /** By unit and requests. */
  readonly #known = Array.from(Object.keys(UNIT_NUMBERS), () => new Map<number, readonly RuleLimit[]>());
  #count = 0;

  /** A list of this limit alone: an earlier one if there is an equal limit. */
  listOf(limit: RuleLimit): readonly RuleLimit[] {
    const { unit, requestsPerUnit, name, replaces, terms } = limit;
    if (unit === null || name !== '' || replaces.length > 0 || terms !== null) return [limit];
    const ofUnit = this.#known[UNIT_NUMBERS[unit] - 1];
    const known = ofUnit.get(requestsPerUnit);
    if (known !== undefined) return known;
    const list = [limit];
    if (this.#count++ < MAX_SHARED) ofUnit.set(requestsPerUnit, list);
    return list;
  }
}

/** The classes of a load. Rules mostly repeat a few of them, so equal ones are one object. */
export class SharedClasses {
  /** By the classes as text. */
  readonly #known = new Map<string, ClassRule>();

  /** The same terms, with classes of earlier terms if they are equal. */
  with(terms: LimitTerms): LimitTerms {
    if (terms.classes === null) return terms;
    const text = JSON.stringify(terms.classes);
    const known = this.#known.get(text);
    if (known !== undefined) return { ...terms, classes: known };
    if (this.#known.size < MAX_SHARED) this.#known.set(text, terms.classes);
    return terms;
  }
}
