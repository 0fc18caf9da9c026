/** Between the levels of a path, and between the key and the value of a level. No key or value of a request has them. */
const LEVEL_END = '\0';
const VALUE_START = '\x01';

/** Adds a level to the path of the entries above it. The path of a domain is empty. */
export function pathBelow(above: string, key: string, value: string): string {
  const level = value === '' ? key : `${key}${VALUE_START}${value}`;
  return above === '' ? level : `${above}${LEVEL_END}${level}`;
}

/** A path as a pattern without `*` that matches it, with the values that differ from their keys. */
export function pathText(path: string): string {
  return path
    .split(LEVEL_END)
    .map(level => {
      const [key, value = ''] = level.split(VALUE_START);
      return value === '' || value === key ? key : `${key}=${value}`;
    })
    .join('/');
}

/**
 * A text with any number of `*`, each of which stands for any text, that describes a domain or a path of entries.
 *
 * In paths, `/` separates levels, and a level is `key` or `key=value`. Keys and values can contain `/` and `=` as well, and
 * a level without a value matches entries with every value: `*`, `/` and `rule-0-match-0` together match the entries
 * with that key below other entries, at any depth.
 */
export class OverlayPattern {
  /** Number of characters that are not `*`. Of two patterns, the one with more of them is more precise. */
  readonly precision: number;
  /**
   * The text behind the last separator, see {@link tailOf}; null if it contains a `*`. A path can match only if the key or
   * the value of its last level has the same tail.
   */
  readonly tail: string | null;
  /** Tests a text quickly: every match contains it. */
  readonly #literal: string;
  /** Null if there is a `*`. */
  readonly #whole: RegExp | null;
  /** The text before the first `*`, between two, and behind the last one. */
  readonly #first: RegExp;
  readonly #middle: readonly RegExp[];
  readonly #last: RegExp;

  /** @param kind what the pattern describes: the text of a domain, or a path of {@link pathBelow} */
  constructor(text: string, kind: 'domain' | 'path') {
    const parts = text.split('*');
    const source = kind === 'domain' ? escaped : pathSource;
    const end = kind === 'domain' ? '$' : `${ANY_VALUE}$`;
    this.precision = text.length - (parts.length - 1);
    this.tail = tailOf(text).includes('*') ? null : tailOf(text);
    this.#literal = longestLiteral(text, kind);
    this.#whole = parts.length > 1 ? null : new RegExp(`^${source(text)}${end}`, 's');
    this.#first = new RegExp(`^${source(parts[0])}`, 's');
    this.#middle = parts
      .slice(1, -1)
      .filter(part => part !== '')
      .map(part => new RegExp(source(part), 'gs'));
    this.#last = new RegExp(`${source(parts[parts.length - 1])}${end}`, 'gs');
  }

  /** Time is linear in the length of the text, and in the number of `*`. */
  matches(text: string): boolean {
    if (!text.includes(this.#literal)) return false;
    if (this.#whole !== null) return this.#whole.test(text);
    const first = this.#first.exec(text);
    if (first === null) return false;
    let at = first[0].length;
    // Each part takes its first match. Another one could only matter if keys or values contain `/` themselves.
    for (const part of this.#middle) {
      part.lastIndex = at;
      if (!part.test(text)) return false;
      at = part.lastIndex;
    }
    this.#last.lastIndex = at;
    return this.#last.test(text);
  }
}

/** The text behind the last `/` or `=`. */
export function tailOf(text: string): string {
  return text.slice(Math.max(text.lastIndexOf('/'), text.lastIndexOf('=')) + 1);
}

const ANY_VALUE = `(?:${VALUE_START}[^${LEVEL_END}]*)?`;

/** What a separator of a pattern matches in a path: itself in a key or a value, or the end that it stands for. */
const SEPARATORS: Readonly<Record<string, string>> = {
  '/': `(?:/|${ANY_VALUE}${LEVEL_END})`,
  '=': `[=${VALUE_START}]`,
};

function pathSource(text: string): string {
  return text
    .split(/([/=])/)
    .map(part => SEPARATORS[part] ?? escaped(part))
    .join('');
}

/** A regular expression that matches exactly this text. */
function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function longestLiteral(text: string, kind: 'domain' | 'path'): string {
  const literals = text.split(kind === 'domain' ? '*' : /[*/=]/);
  return literals.reduce((longest, literal) => (literal.length > longest.length ? literal : longest), '');
}
