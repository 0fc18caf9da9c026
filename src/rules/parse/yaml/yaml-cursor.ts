import { MAX_YAML_NODES } from './bounds.ts';

/** Codes of the ASCII characters that the fast reader distinguishes. */
export const CODE = {
  tab: 0x09,
  lineFeed: 0x0a,
  carriageReturn: 0x0d,
  space: 0x20,
  doubleQuote: 0x22,
  hash: 0x23,
  singleQuote: 0x27,
  comma: 0x2c,
  dash: 0x2d,
  dot: 0x2e,
  colon: 0x3a,
  openList: 0x5b,
  backslash: 0x5c,
  closeList: 0x5d,
  openMap: 0x7b,
  closeMap: 0x7d,
  delete: 0x7f,
} as const;

const NO_BREAK_SPACE = 0xa0;
const BYTE_ORDER_MARK = 0xfeff;
const LAST_CHARACTER = 0xfffd;

/** Rule files repeat a few keys and values: a cache of this size avoids most string allocations. */
const RECENT_TEXTS = 64;

/** 1 for ASCII characters that cannot start a plain scalar. `-` can, as in `-1`. */
const INDICATOR = new Uint8Array(128);
for (const character of '?:,[]{}#&*!|>\'"%@`') INDICATOR[character.charCodeAt(0)] = 1;

/** Line breaks, tabs, and characters that YAML does not allow: they end or invalidate a one-line scalar. */
function isStrange(code: number): boolean {
  if (code < CODE.delete) return code < CODE.space;
  return code < NO_BREAK_SPACE || code === BYTE_ORDER_MARK || code > LAST_CHARACTER;
}

/** YAML allows keys of up to 1024 characters (YAML 1.2, section 7.4.2). The complete reader checks longer keys. */
const LONGEST_KEY = 1000;

/**
 * A position in a YAML text, and the last scanned scalar. Scans within one line only. A method that returns false has
 * found an unknown construct, and `at` is its position.
 */
export class YamlCursor {
  /** Ends with a line feed, so that loops over a line need not check for the end of the text. */
  readonly text: string;
  at = 0;
  scalarText = '';
  scalarPlain = true;
  scalarOffset = 0;
  /** Recent texts, by length and first letter. */
  readonly #recent: string[] = new Array(RECENT_TEXTS).fill('');
  /** The frequent words, by length. */
  readonly #words: string[][] = [];
  #nodes = 0;

  /** @param words frequent texts */
  constructor(text: string, words: readonly string[]) {
    for (const word of words) {
      this.#words[word.length] ??= [];
      this.#words[word.length].push(word);
    }
    this.text = text.endsWith('\n') ? text : `${text}\n`;
  }

  get code(): number {
    return this.text.charCodeAt(this.at);
  }

  /** Counts a value of the tree; false if there are too many. */
  countNode(): boolean {
    return ++this.#nodes <= MAX_YAML_NODES;
  }

  passSpaces(): void {
    while (this.text.charCodeAt(this.at) === CODE.space) this.at++;
  }

  atDash(): boolean {
    return this.code === CODE.dash && this.text.charCodeAt(this.at + 1) <= CODE.space;
  }

  /** Whether the cursor is at the colon after a key. */
  atKeyColon(): boolean {
    return this.code === CODE.colon && this.text.charCodeAt(this.at + 1) <= CODE.space;
  }

  /** Whether the scalar before the colon is not an ordinary key: a merge key, or too long. */
  isOddKey(): boolean {
    return this.scalarText === '<<' || this.at - this.scalarOffset > LONGEST_KEY;
  }

  /** Whether the cursor is at a line break, or at a comment if a space precedes it. */
  atLineEnd(): boolean {
    const code = this.code;
    return code === CODE.lineFeed || code === CODE.carriageReturn || code === CODE.hash;
  }

  /** Skips a comment and the line break. */
  passLineEnd(): boolean {
    const text = this.text;
    let at = this.at;
    // A `#` only starts a comment at the start of a line or after white space.
    if (text.charCodeAt(at) === CODE.hash && (at === 0 || text.charCodeAt(at - 1) <= CODE.space)) {
      while (text.charCodeAt(at) === CODE.tab || !isStrange(text.charCodeAt(at))) at++;
    }
    this.at = at;
    if (text.charCodeAt(at) === CODE.carriageReturn) at++;
    if (text.charCodeAt(at) !== CODE.lineFeed) return false;
    this.at = at + 1;
    return true;
  }

  /** Scans a scalar outside flow collections, and the spaces after it. */
  scan(): boolean {
    const quoted = this.#scanQuoted();
    return quoted ?? this.#scanPlain();
  }

  /** Scans a scalar inside a flow collection, where `,`, brackets and braces end a plain scalar. */
  scanInFlow(): boolean {
    const quoted = this.#scanQuoted();
    return quoted ?? this.#scanPlainInFlow();
  }

  #scanPlain(): boolean {
    if (INDICATOR[this.code] === 1) return false;
    const text = this.text;
    let end = this.at;
    let at = this.at;
    for (; ; at++) {
      const code = text.charCodeAt(at);
      // Letters first: they are most of every file.
      if (code > CODE.colon && code < CODE.delete) end = at + 1;
      else if (code === CODE.colon && text.charCodeAt(at + 1) <= CODE.space) break;
      else if (code === CODE.hash && text.charCodeAt(at - 1) === CODE.space) break;
      else if (isStrange(code)) break;
      else if (code !== CODE.space) end = at + 1;
    }
    return this.#takePlain(end, at);
  }

  #scanPlainInFlow(): boolean {
    if (INDICATOR[this.code] === 1) return false;
    const text = this.text;
    let end = this.at;
    let at = this.at;
    for (; ; at++) {
      const code = text.charCodeAt(at);
      // `:` and `#` may be text here, and so may a dash without letters: that is left to the complete reader.
      if (code === CODE.comma || code === CODE.colon || code === CODE.hash) break;
      if (code === CODE.openList || code === CODE.closeList) break;
      if (code === CODE.openMap || code === CODE.closeMap || isStrange(code)) break;
      if (code !== CODE.space) end = at + 1;
    }
    const loneDash = end === this.at + 1 && this.code === CODE.dash;
    return !loneDash && !this.atDash() && this.#takePlain(end, at);
  }

  #takePlain(end: number, stop: number): boolean {
    this.scalarOffset = this.at;
    this.scalarPlain = true;
    this.at = stop;
    if (end === this.scalarOffset) return false;
    this.scalarText = this.#shared(this.scalarOffset, end);
    return true;
  }

  /** The text between two offsets. Frequent words and recent texts share one string. */
  #shared(start: number, end: number): string {
    const text = this.text;
    const length = end - start;
    const words = this.#words[length];
    if (words !== undefined) for (const word of words) if (text.startsWith(word, start)) return word;
    const slot = (length * 5 + text.charCodeAt(start)) % RECENT_TEXTS;
    const recent = this.#recent[slot];
    if (recent.length === length && text.startsWith(recent, start)) return recent;
    const fresh = text.slice(start, end);
    this.#recent[slot] = fresh;
    return fresh;
  }

  /** Scans a quoted scalar; null if there is no quoted scalar. */
  #scanQuoted(): boolean | null {
    const quote = this.code;
    if (quote !== CODE.singleQuote && quote !== CODE.doubleQuote) return null;
    this.scalarOffset = this.at;
    this.scalarPlain = false;
    const value = quote === CODE.singleQuote ? this.#singleQuoted() : this.#doubleQuoted();
    if (value === null) return false;
    this.scalarText = value;
    this.passSpaces();
    return true;
  }

  #singleQuoted(): string | null {
    const text = this.text;
    const start = this.at + 1;
    let doubled = false;
    for (let at = start; ; at++) {
      const code = text.charCodeAt(at);
      this.at = at;
      if (isStrange(code)) return null;
      if (code !== CODE.singleQuote) continue;
      if (text.charCodeAt(at + 1) === CODE.singleQuote) {
        doubled = true;
        at++;
        continue;
      }
      this.at = at + 1;
      const raw = text.slice(start, at);
      return doubled ? raw.replaceAll("''", "'") : raw;
    }
  }

  #doubleQuoted(): string | null {
    const text = this.text;
    const start = this.at + 1;
    let escaped = false;
    for (let at = start; ; at++) {
      const code = text.charCodeAt(at);
      this.at = at;
      if (isStrange(code)) return null;
      if (code === CODE.backslash) {
        escaped = true;
        // The escaped character may be a quote. A line break is left for the next iteration, which stops there.
        if (!isStrange(text.charCodeAt(at + 1))) at++;
      } else if (code === CODE.doubleQuote) {
        this.at = at + 1;
        const raw = text.slice(start, at);
        return escaped ? unescaped(raw) : raw;
      }
    }
  }
}

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(.))/gs;
const ESCAPED: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  '/': '/',
  '\\': '\\',
};

/** A double-quoted text without its escapes; null if it has rare escapes, which only the complete reader knows. */
function unescaped(raw: string): string | null {
  let known = true;
  const text = raw.replace(ESCAPE, (_, hex: string | undefined, letter: string) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    const meaning = ESCAPED[letter];
    if (meaning === undefined) known = false;
    return meaning ?? '';
  });
  // A lone surrogate is not a character.
  return known && text.isWellFormed() ? text : null;
}
