import type { CompiledRules } from '../compiled-rules.ts';
import { EDGE_WORDS, ENTRY, edgeHash, HEADER } from '../layout.ts';

/** Bytes of the length of a value in the pool. */
const VALUE_LENGTH_BYTES = 4;

/**
 * Finds the entry of a level whose text is `bytes[start, end)`, `key_value` or a key alone, or that has the value in a list.
 * An entry with the text itself is found first, because lists leave out such values.
 *
 * @param keyEnd the end of the key; `end` to find an entry by its key alone
 * @returns the index of the first word of a slot of the table of edges, or -1
 */
export function findEdge(
  rules: CompiledRules,
  level: number,
  hash: number,
  bytes: Uint8Array,
  start: number,
  keyEnd: number,
  end: number,
): number {
  const words = rules.words;
  const table = words[HEADER.edgeTable];
  const mask = words[HEADER.edgeMask];
  const entries = words[HEADER.entries];
  for (let at = edgeHash(level, hash) & mask; ; at = (at + 1) & mask) {
    const slot = table + at * EDGE_WORDS;
    if (words[slot] === 0) return -1;
    if (words[slot] !== level + 1 || words[slot + 1] !== hash) continue;
    const record = entries + (words[slot + 2] - 1) * ENTRY.words;
    const composite = words[record + ENTRY.composite];
    const value = words[slot + 3] - 1;
    if (value < 0) {
      if (rules.holds(composite, words[record + ENTRY.compositeLength], bytes, start, end)) return slot;
    } else if (
      keyEnd < end &&
      rules.holds(composite, words[record + ENTRY.keyLength], bytes, start, keyEnd) &&
      holdsValue(rules, value, bytes, keyEnd + 1, end)
    )
      return slot;
  }
}

/** Whether the value at a place of the pool is `bytes[start, end)`. */
function holdsValue(
  rules: CompiledRules,
  place: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  const { pool } = rules;
  const length = pool[place] | (pool[place + 1] << 8) | (pool[place + 2] << 16) | (pool[place + 3] << 24);
  return rules.holds(place + VALUE_LENGTH_BYTES, length, bytes, start, end);
}
