import type { ListCondition, ValueCondition } from './condition.ts';

/** An entry with a list, and its number in whatever numbers entries. */
interface ListEntry {
  readonly condition: ListCondition;
  readonly entry: number;
}

/** A value, and the entry that has it. */
export interface ListValue {
  readonly value: string;
  readonly entry: number;
}

/** The values of the lists of one key, each with the entry that a request with the value is matched by. */
interface ListValues {
  /** Compared as they are written. */
  readonly exact: readonly ListValue[];
  /** In lower case, as values of requests are compared after those of `exact`. */
  readonly folded: readonly ListValue[];
}

/**
 * Resolves values that several entries have: a plain value comes first, then a value that ignores case, then the first list in
 * definition order.
 *
 * @param plain the values of the entries with the same key that are written as a plain value
 */
export function listValues(plain: ReadonlySet<string>, lists: readonly ListEntry[]): ListValues {
  const folded = new Map<string, number>();
  const addFolded = (list: ListEntry): void => {
    for (const value of list.condition.values) {
      const lower = lowerCase(value);
      if (!folded.has(lower)) folded.set(lower, list.entry);
    }
  };
  const single = lists.filter(({ condition }) => condition.isValue);
  for (const list of single) addFolded(list);
  const exact = new Map<string, number>();
  for (const { condition, entry } of lists) {
    if (condition.ignoreCase) continue;
    for (const value of condition.values)
      if (!plain.has(value) && !exact.has(value) && !folded.has(lowerCase(value))) exact.set(value, entry);
  }
  for (const list of lists) if (list.condition.ignoreCase && !list.condition.isValue) addFolded(list);
  return { exact: listOf(exact), folded: listOf(folded) };
}

/** The values of entries of one key that are written as a plain value: without `*`. */
export function plainValues(
  entries: readonly { readonly value: string; readonly condition?: ValueCondition }[],
): ReadonlySet<string> {
  const values = new Set<string>();
  for (const { value, condition } of entries)
    if (condition === undefined && value !== '' && !value.includes('*')) values.add(value);
  return values;
}

function listOf(values: ReadonlyMap<string, number>): ListValue[] {
  return Array.from(values, ([value, entry]) => ({ value, entry }));
}

const [UPPER_A, UPPER_Z, CASE_BIT] = [0x41, 0x5a, 0x20];

/** A byte of a text in lower case, as {@link lowerCase}. */
export function lowerCaseByte(byte: number): number {
  return byte >= UPPER_A && byte <= UPPER_Z ? byte | CASE_BIT : byte;
}

/** A text with the letters A to Z in lower case. Other letters have no case here, because requests are compared as bytes. */
export function lowerCase(text: string): string {
  return /[A-Z]/.test(text) ? text.replace(/[A-Z]/g, letter => letter.toLowerCase()) : text;
}
