import { WordList } from '../base/collections/word-list.ts';
import { EXTRA_ROW } from './layout.ts';
import type { LimitTerms } from './rule-set.ts';
import type { TextPool } from './rule-terms.ts';

/**
 * The rows of a limit with leases, by the last level of their names. Each one counts hits in its `total_hits`: those that
 * leases have held, those that were spent when leases were settled (of slots: those that are free again), those of leases
 * that expired without being settled, and those by which settlements exceeded what their leases had held.
 */
export const LEASE_ROWS = { held: 0, settled: 1, expired: 2, overdrawn: 3 } as const;

/** The last level of the names of the rows of statistics that a limit has besides its own, in the order of the rows. */
export function extraLevels({
  classes,
  afterLimit,
  lease,
}: Pick<LimitTerms, 'classes' | 'afterLimit' | 'lease'>): readonly string[] {
  if (lease !== null) return lease.mode === 'once' ? [] : Object.keys(LEASE_ROWS);
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
