import { WordList } from './compile-tables.ts';
import { EXTRA_ROW } from './layout.ts';
import type { LimitTerms } from './rule-set.ts';
import type { TextPool } from './rule-terms.ts';

/** The last level of the names of the rows of statistics that a limit has besides its own, in the order of the rows. */
export function extraLevels({
  classes,
  afterLimit,
}: Pick<LimitTerms, 'classes' | 'afterLimit'>): readonly string[] {
  const ofClasses =
    classes === null ? [] : [classes.key, ...classes.names.map(name => `${classes.key}_${name}`)];
  return afterLimit > 0 ? [...ofClasses, 'after_limit'] : ofClasses;
}

/** The section of the rows of statistics that limits have besides their own; see {@link EXTRA_ROW}. */
export class ExtraRows {
  readonly words = new WordList();
  readonly #pooled: TextPool;
  /** By number of the terms: words with the place and the length of each level in the pool. */
  readonly #ofTerms: Int32Array[] = [];

  /** @param pooled adds text to the pool */
  constructor(pooled: TextPool) {
    this.#pooled = pooled;
  }

  /** Adds the rows of a limit. @param number the number of its terms */
  add(limit: number, terms: LimitTerms, number: number): void {
    this.#ofTerms[number] ??= this.#levelsOf(terms);
    const levels = this.#ofTerms[number];
    for (let i = 0; i < levels.length; i += 2) {
      const at = this.words.allocate(EXTRA_ROW.words);
      this.words.words[at + EXTRA_ROW.ofLimit] = limit;
      this.words.words[at + EXTRA_ROW.level] = levels[i];
      this.words.words[at + EXTRA_ROW.levelLength] = levels[i + 1];
    }
  }

  #levelsOf(terms: LimitTerms): Int32Array {
    const pooled = extraLevels(terms).map(this.#pooled);
    return Int32Array.from(pooled.flatMap(({ offset, length }) => [offset, length]));
  }
}
