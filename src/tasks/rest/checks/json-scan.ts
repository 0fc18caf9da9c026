import { pointerPart } from '../../../base/schema/problem-part.ts';
import { endOfString, isRawNumber } from './exact-json.ts';

/** Limits of a JSON text that are checked before it is parsed. */
export interface JsonBounds {
  /** Maximum nesting depth of arrays and objects. */
  readonly depth: number;
  /**
   * Maximum number of values and names in total. `JSON.parse` needs time and memory for each of them, in addition to
   * the bytes.
   */
  readonly parts: number;
  /** Maximum number of items of an array, by the name of the member of the outermost object that holds the array. */
  readonly items: ReadonlyMap<string, number>;
}

/** The first limit that a text exceeds. */
export type JsonExcess =
  | { readonly kind: 'depth' | 'parts' }
  | { readonly kind: 'items'; readonly name: string; readonly max: number };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** Array names in the limits are short ASCII strings. A longer name cannot match any of them. */
const MAX_NAME_BYTES = 32;

/**
 * Scans a text without parsing it: one pass over the bytes that stops at the first exceeded limit. The result for a
 * text that is not JSON is arbitrary: the parser rejects such a text afterwards, at no greater cost.
 *
 * @param text UTF-8
 * @returns the number of names in all objects, if no limit is exceeded
 */
export function scanJson(
  text: Uint8Array,
  { depth: maxDepth, parts: maxParts, items }: JsonBounds,
): JsonExcess | number {
  let depth = 0;
  let names = 0;
  // An array with n items counts n: n - 1 commas and the bracket. An object counts its colons as well.
  let parts = 0;
  let name = { start: 0, end: 0 };
  let list: { readonly name: string; readonly max: number } | null = null;
  let commas = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case QUOTE: {
        const start = i + 1;
        i = endOfStringBytes(text, start);
        if (depth === 1) name = { start, end: i };
        continue;
      }
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > maxDepth) return { kind: 'depth' };
        if (depth === 2) {
          commas = 0;
          if (text[i] === OPEN_ARRAY) list = listOf(text, name, items);
        }
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (--depth === 1) list = null;
        continue;
      case COMMA:
        if (depth === 2 && list !== null && ++commas >= list.max) return { kind: 'items', ...list };
        break;
      case COLON:
        names++;
        break;
      default:
        continue;
    }
    if (++parts > maxParts) return { kind: 'parts' };
  }
  return names;
}

/** The index of the quote that ends the string, or an index beyond the end of the text if the quote is missing. */
function endOfStringBytes(text: Uint8Array, start: number): number {
  let end = start;
  while (end < text.length && text[end] !== QUOTE) end += text[end] === BACKSLASH ? 2 : 1;
  return end;
}

function listOf(
  text: Uint8Array,
  { start, end }: { readonly start: number; readonly end: number },
  items: JsonBounds['items'],
): { readonly name: string; readonly max: number } | null {
  if (items.size === 0 || end - start > MAX_NAME_BYTES) return null;
  const name = String.fromCharCode(...text.subarray(start, end));
  const max = items.get(name);
  return max === undefined ? null : { name, max };
}

/**
 * The number of names in all objects of a parsed value. It is smaller than the number of names in the text if an object
 * in the text has a name twice, because the parser keeps only the last one.
 */
export function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return 0;
  let names = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') names += countNames(item);
    return names;
  }
  for (const name in value) {
    names++;
    const member = (value as Record<string, unknown>)[name];
    if (typeof member === 'object') names += countNames(member);
  }
  return names;
}

/** An object or an array that the scan is in. */
interface Level {
  readonly pointer: string;
  /** The names found so far; null for an array. */
  readonly names: Set<string> | null;
  /** The name or the index of the current member. */
  member: string | number;
}

/**
 * The JSON pointer of the first name that occurs twice in an object; null if no name does. It is slow, so call it only
 * if {@link countNames} shows that the text has such a name.
 *
 * @param text valid JSON
 */
export function repeatedName(text: string): string | null {
  const levels: Level[] = [];
  let level: Level | undefined;
  let isName = false;
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case '"': {
        const start = i;
        i = endOfString(text, start + 1);
        if (!isName || level === undefined) break;
        isName = false;
        level.member = JSON.parse(text.slice(start, i + 1)) as string;
        if (level.names?.has(level.member)) return pointerOf(level);
        level.names?.add(level.member);
        break;
      }
      case '{':
      case '[':
        isName = text[i] === '{';
        level = { pointer: pointerOf(level), names: isName ? new Set() : null, member: 0 };
        levels.push(level);
        break;
      case '}':
      case ']':
        levels.pop();
        level = levels.at(-1);
        break;
      case ',':
        isName = level?.names != null;
        if (typeof level?.member === 'number') level.member++;
    }
  }
  return null;
}

/** The JSON pointer of the current member of a level; empty for the whole text. */
function pointerOf(level: Level | undefined): string {
  return level === undefined ? '' : `${level.pointer}/${pointerPart(String(level.member))}`;
}
