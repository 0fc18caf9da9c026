import type { RequestTable } from '../../messages/request-table.ts';
import type { Matcher } from '../../rules/matching/matcher.ts';

/**
 * The entry with a key that limits of the rule read and that is not part of its path, of the descriptor that was matched
 * last; -1 for none. It comes after the entry of the rule, so it is one of the last entries, all of which are set aside;
 * those before belong to rules above. If the entry is there twice, the last one counts.
 */
export function asideEntry(
  key: Uint8Array,
  table: RequestTable,
  { asides, asideCount, end }: Matcher,
): number {
  for (let aside = asideCount - 1, entry = end - 1; aside >= 0 && asides[aside] === entry; aside--, entry--) {
    if (isText(key, table.bytes, table.keyStart[entry], table.keyEnd[entry])) return entry;
  }
  return -1;
}

/** Whether `bytes[start, end)` is a text. */
export function isText(text: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let i = 0; i < text.length; i++) if (text[i] !== bytes[start + i]) return false;
  return true;
}
