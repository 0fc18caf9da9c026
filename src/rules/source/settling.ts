import type { RuleFile } from '../rule-set.ts';

/** How long a set that lacks files must stay as it is before it is believed. */
export const SETTLE_MS = 100;

/** Reads in a row that find files lacking, and never the same; the last of them is believed. */
export const MAX_LACKING_READS = 10;

/**
 * Tells files that were removed from files that are being replaced. Editors and backups move the old file away before
 * they write the new one, `cp` empties a file before it fills it, and a directory is emptied before it is removed: a
 * set that is read in between would take rules out of force for a moment.
 */
export class Settling {
  /** Of the set that was believed last. */
  #known: ReadonlySet<string> = new Set();
  /** The names of the last read, when it lacked files. */
  #lacking: string | null = null;
  #reads = 0;

  /** True when the set may be handed on; false when it is to be read again after {@link SETTLE_MS}. */
  believes(files: readonly RuleFile[]): boolean {
    const names = new Set(files.filter(file => file.content.length > 0).map(file => file.name));
    const text = [...names].join('\0');
    this.#reads++;
    const settled = [...this.#known].every(name => names.has(name)) || text === this.#lacking;
    if (!settled && this.#reads < MAX_LACKING_READS) {
      this.#lacking = text;
      return false;
    }
    this.#known = names;
    this.forget();
    return true;
  }

  /** The files could not be read: the next set is judged anew, by the set that was believed last. */
  forget(): void {
    this.#lacking = null;
    this.#reads = 0;
  }
}
