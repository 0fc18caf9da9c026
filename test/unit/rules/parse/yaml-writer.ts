import type { SeededRandom } from '../../../support/seeded-random.ts';

const PLAIN = [
  'key',
  'rate_limit',
  'a',
  'value one',
  '10',
  '010',
  '1.5',
  '-7',
  '~',
  'null',
  'yes',
  '2020-01-01',
  'http://host/path',
  'a#b',
  'it\'s "so"',
  'a[b]{c}',
  'x:y',
  '/api/*',
  'käse',
  '日本',
  '😀',
  '-x',
  'a, b',
  'end ---',
];
const PLAIN_IN_FLOW = ['key', 'value one', '10', '-7', '~', 'yes', 'käse', 'a*', 'a.b/c', "it's"];
const SINGLE_QUOTED = ["''", "'a'", "'it''s'", "'# no comment'", "'a: b'", "'\"'", "'\\'", "' '", "'{}[]'"];
const DOUBLE_QUOTED = [
  '""',
  '"a"',
  '"a\\"b"',
  '"\\\\"',
  '"\\n\\t\\0"',
  '"\\u00e9"',
  '"\\ud83d\\ude00"',
  '"a: #b"',
  '"\\/"',
];

/** Writes random documents in the form that the fast reader knows. */
export class YamlWriter {
  readonly #random: SeededRandom;
  #text = '';

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  document(): string {
    this.#text = '';
    if (this.#chance(0.2)) this.#text += '# before\n\n';
    if (this.#chance(0.3)) this.#text += this.#chance(0.5) ? '---\n' : '--- # mark\n';
    this.#block(0, 3);
    if (this.#chance(0.2)) this.#text = this.#text.slice(0, -1);
    return this.#chance(0.2) ? this.#text.replaceAll('\n', '\r\n') : this.#text;
  }

  #chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  #block(column: number, depth: number): void {
    if (this.#chance(0.35)) this.#list(column, depth);
    else this.#map(column, depth, ' '.repeat(column));
  }

  /** @param lead what stands before the first key: spaces, or nothing after a dash */
  #map(column: number, depth: number, lead: string): void {
    const pairs = 1 + this.#random.below(4);
    for (let i = 0; i < pairs; i++) {
      this.#text += (i === 0 ? lead : ' '.repeat(column)) + this.#key();
      this.#value(column, depth);
    }
  }

  #key(): string {
    const text = this.#chance(0.8) ? this.#random.pick(PLAIN) : this.#quoted();
    return text + (this.#chance(0.1) ? ' :' : ':');
  }

  #value(column: number, depth: number): void {
    const deeper = column + 1 + this.#random.below(3);
    if (depth === 0 || this.#chance(0.5)) {
      this.#text += this.#chance(0.1) ? '' : ` ${' '.repeat(this.#random.below(2))}${this.#oneLine()}`;
      this.#lineEnd();
      return;
    }
    this.#lineEnd();
    if (this.#chance(0.3)) this.#list(column, depth - 1);
    else this.#block(deeper, depth - 1);
  }

  #list(column: number, depth: number): void {
    const items = 1 + this.#random.below(3);
    for (let i = 0; i < items; i++) {
      this.#text += `${' '.repeat(column)}-`;
      const spaces = 1 + this.#random.below(3);
      if (depth === 0 || this.#chance(0.3)) {
        this.#text += ' '.repeat(spaces) + this.#oneLine();
        this.#lineEnd();
      } else if (this.#chance(0.7)) {
        this.#text += ' '.repeat(spaces);
        this.#map(column + 1 + spaces, depth - 1, '');
      } else {
        this.#lineEnd();
        this.#block(column + 1 + this.#random.below(3), depth - 1);
      }
    }
  }

  #oneLine(): string {
    if (this.#chance(0.15)) return this.#flow(2);
    return this.#chance(0.7) ? this.#random.pick(PLAIN) : this.#quoted();
  }

  #quoted(): string {
    return this.#random.pick(this.#chance(0.5) ? SINGLE_QUOTED : DOUBLE_QUOTED);
  }

  #flow(depth: number): string {
    const map = this.#chance(0.5);
    const scalar = (): string => (this.#chance(0.7) ? this.#random.pick(PLAIN_IN_FLOW) : this.#quoted());
    const parts = Array.from({ length: this.#random.below(4) }, () => {
      const value = depth > 0 && this.#chance(0.2) ? this.#flow(depth - 1) : scalar();
      return map ? `${scalar()}: ${value}` : value;
    });
    const inner = parts.join(this.#chance(0.8) ? ', ' : ' ,');
    const tail = parts.length > 0 && this.#chance(0.1) ? ',' : '';
    const space = this.#chance(0.2) ? ' ' : '';
    return `${map ? '{' : '['}${space}${inner}${tail}${space}${map ? '}' : ']'}`;
  }

  #lineEnd(): void {
    if (this.#chance(0.1)) this.#text += ' '.repeat(1 + this.#random.below(2));
    if (this.#chance(0.1)) this.#text += ' # comment: \'"[\t';
    this.#text += '\n';
    if (this.#chance(0.05)) this.#text += this.#chance(0.5) ? '   \n' : '  # alone\n';
  }
}

const INSERTED = [
  ...'\n\n\r\t    ::---##\'"{}[],,&*!|>%@`?<~ab1\\_.$',
  '- ',
  ': ',
  ' #',
  '<<',
  '\n  ',
  '\n---\n',
  'é',
  '\u0085',
  '\u2028',
];

/** The text with a few characters put in, left out or moved. */
export function mutated(text: string, random: SeededRandom): string {
  let result = text;
  for (let changes = 1 + random.below(3); changes > 0; changes--) {
    const at = random.below(result.length + 1);
    const kind = random.below(3);
    if (kind === 0) result = result.slice(0, at) + random.pick(INSERTED) + result.slice(at);
    else if (kind === 1) result = result.slice(0, at) + result.slice(at + 1 + random.below(3));
    else {
      const from = random.below(result.length + 1);
      result = result.slice(0, at) + result.slice(from, from + random.below(20)) + result.slice(at);
    }
  }
  // Half a surrogate pair cannot come out of UTF-8.
  return result.toWellFormed();
}
