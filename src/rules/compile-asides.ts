import { ENTRY, ENTRY_FLAG } from './layout.ts';
import { LEASE_ACTION_KEY, type RuleEntry } from './rule-set.ts';

/** The keys of the entries of a descriptor that limits of an entry read; see `ENTRY_FLAG.aside`. */
export function asideKeys({ limits }: RuleEntry): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const { terms } of limits) {
    if (terms?.classes != null) keys.add(terms.classes.key);
    if (terms?.lease != null && terms.lease.holder !== '') keys.add(terms.lease.holder).add(LEASE_ACTION_KEY);
  }
  return keys;
}

/**
 * Writes the record of such an entry.
 *
 * @param at index of its first word
 * @param key where the key is in the pool
 * @param rule index of the record of the entry whose limits read it, which is complete
 */
export function writeAside(
  words: Int32Array,
  at: number,
  key: { readonly offset: number; readonly length: number },
  rule: number,
): void {
  words[at + ENTRY.composite] = key.offset;
  words[at + ENTRY.compositeLength] = key.length;
  words[at + ENTRY.keyLength] = key.length;
  for (const field of [ENTRY.limit, ENTRY.level, ENTRY.domain, ENTRY.file, ENTRY.line]) {
    words[at + field] = words[rule + field];
  }
  words[at + ENTRY.flags] = ENTRY_FLAG.aside | (words[rule + ENTRY.flags] & ENTRY_FLAG.detailedMetric);
  words[at + ENTRY.above] = rule / ENTRY.words + 1;
}
