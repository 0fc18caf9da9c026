import type { OverlayEntry } from './overlay-entries.ts';
import { pathBelow, tailOf } from './overlay-pattern.ts';

/**
 * Finds the overlay entries whose path matches that of an entry of the rules. Paths mostly end with a key, so only those
 * with the same end are compared: with many rules and many overlay entries, comparing all of them would take minutes.
 */
export class OverlayIndex {
  readonly #byTail = new Map<string, OverlayEntry[]>();
  /** Those whose path has no tail. */
  readonly #others: OverlayEntry[] = [];

  /** @param entries those with a path that apply to the domain */
  constructor(entries: readonly OverlayEntry[]) {
    for (const entry of entries) {
      const tail = entry.path?.tail ?? null;
      const same = tail === null ? this.#others : this.#byTail.get(tail);
      if (same !== undefined) same.push(entry);
      else if (tail !== null) this.#byTail.set(tail, [entry]);
    }
  }

  get isEmpty(): boolean {
    return this.#byTail.size === 0 && this.#others.length === 0;
  }

  /** The entries that match the path of an entry with this key and value, below the path `above`; and that path. */
  find(above: string, key: string, value: string): { readonly path: string; readonly found: OverlayEntry[] } {
    const path = pathBelow(above, key, value);
    const tails = new Set([tailOf(key), tailOf(value)]);
    const candidates = [...tails].flatMap(tail => this.#byTail.get(tail) ?? []);
    return { path, found: [...candidates, ...this.#others].filter(entry => entry.path!.matches(path)) };
  }
}
