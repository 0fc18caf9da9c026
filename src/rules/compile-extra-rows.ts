import type { WordList } from './compile-tables.ts';
import { undotted } from './compiled-rules.ts';
import { EXTRA_ROW, LEVEL_END, LIMIT, LIMIT_FLAG } from './layout.ts';
import type { RuleLimit } from './rule-set.ts';

/** The last level of the name of the statistics of hits that pass after a limit. */
const AFTER_LIMIT = 'after_limit';

/** Collects the rows of statistics that limits have besides their own; see {@link EXTRA_ROW}. */
export class ExtraRows {
  readonly #rows: (readonly [limit: number, path: string])[] = [];

  /**
   * Adds the rows of a limit.
   * @param number the number of the limit
   * @param path the path of its entry
   */
  add({ terms, item }: RuleLimit, number: number, path: string): void {
    if (terms === null) return;
    const own = item === null ? path : path + LEVEL_END + undotted(item.level);
    const { classes, afterLimit } = terms;
    if (classes !== null) {
      const { key, names } = classes;
      for (const level of [key, ...names.map(name => `${key}_${name}`)]) this.#add(number, own, level);
    }
    if (afterLimit > 0) this.#add(number, own, AFTER_LIMIT);
  }

  /** Appends the records, after those of all limits. @param pooled adds text to the pool */
  write(
    limits: WordList,
    pooled: (text: string) => { readonly offset: number; readonly length: number },
  ): void {
    for (const [limit, path] of this.#rows) {
      const at = limits.allocate(LIMIT.words);
      const { offset, length } = pooled(path);
      limits.words[at + EXTRA_ROW.ofLimit] = limit;
      limits.words[at + LIMIT.flags] = LIMIT_FLAG.listed;
      limits.words[at + LIMIT.path] = offset;
      limits.words[at + LIMIT.pathLength] = length;
    }
  }

  #add(limit: number, path: string, level: string): void {
    this.#rows.push([limit, path + LEVEL_END + level]);
  }
}
