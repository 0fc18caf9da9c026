import { endOfString, isRawNumber } from './exact-json.ts';
import { pointerPart } from './schema-check.ts';

/**
 * The number of names in all objects of a value that was parsed. It is smaller than the number of names in the text if
 * an object there has a name twice, of which the parser keeps the last one.
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

/** An object or an array that a scan is in. */
interface Level {
  readonly pointer: string;
  /** The names that it has so far; null for an array. */
  readonly names: Set<string> | null;
  /** The name, or the index, of the member that the scan is at. */
  member: string | number;
}

/**
 * The JSON pointer of the first name that an object has twice; null if there is none. It reads all names as texts, so it
 * is only for a text of which {@link countNames} says that it has one.
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

/** Of the member of a level that the scan is at; empty for the whole text. */
function pointerOf(level: Level | undefined): string {
  return level === undefined ? '' : `${level.pointer}/${pointerPart(String(level.member))}`;
}
