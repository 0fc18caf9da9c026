import type { SeededRandom } from '../../../support/seeded-random.ts';

/** A node before it is written: raw YAML for a scalar or an alias, or a collection. */
type Written = { readonly anchor: string } & (
  | { readonly kind: 'raw'; readonly text: string }
  | { readonly kind: 'map'; readonly pairs: readonly (readonly [key: string, value: Written])[] }
  | { readonly kind: 'list'; readonly items: readonly Written[] }
);

type AnchorKind = 'entry' | 'limit' | 'metadata' | 'text' | 'list';

const NULLS = ['', '~', 'null', 'Null', 'NULL'];
const TEXTS = [
  'a',
  'b',
  'c',
  'd',
  "'a'",
  '"b"',
  '"\\u0061"',
  "'it''s'",
  'a b',
  'x:y',
  'a#b',
  '10',
  '010',
  'yes',
];
const ODD_TEXTS = [
  '1.5',
  '[a]',
  '{a: b}',
  '2020-01-01',
  '0x1F',
  '"null"',
  "'~'",
  '! a',
  '!!str 5',
  '>-\n a',
  '.5',
];
const UNITS = ['second', 'minute', 'hour', 'HOUR', '"day"', "'week'", 'month'];
const COUNTS = ['1', '10', '0x10', '1_000', '0', '4294967295', '010'];
const ODD_COUNTS = [
  '1.5',
  '-1',
  '4294967296',
  '"5"',
  'five',
  '1e3',
  '-0.5',
  '!!int 7',
  '0b11',
  '9223372036854775808',
];
const FLAGS = ['true', 'yes', 'on', 'false', 'no', 'Off', 'y', 'n'];
const ODD_FLAGS = ['"true"', 'maybe', '1'];
const VALUES = [...TEXTS, '1.25', '-7', '1e3', '~', 'true', '2020-01-01', '.5', '"~"', '0x10', '1_0'];

/**
 * Writes random rule files, most of which can be loaded: with anchors, aliases, merges in any place, repeated keys,
 * nulls, odd quoting, flow collections, comments, odd indents, several documents, and now and then what is not allowed.
 */
export class RuleFileWriter {
  readonly #random: SeededRandom;
  readonly #anchors = new Map<AnchorKind, string[]>();
  #anchorCount = 0;
  /** How likely each oddity is. */
  #oddity = 0;
  #fancy = true;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** @param fancy false for files without anchors, aliases and merges */
  file(fancy: boolean): string {
    this.#fancy = fancy;
    this.#anchors.clear();
    this.#oddity = this.#random.pick([0, 0, 0, 0, 0.01, 0.05]);
    const pairs: [string, Written][] = [
      ['domain', this.#raw(this.#random.pick(TEXTS))],
      ['descriptors', this.#entries(3)],
    ];
    if (this.#chance(0.05)) pairs.push(['domain', this.#text()]);
    if (this.#chance(0.1)) pairs.push(['descriptors', this.#entries(2)]);
    if (this.#chance(0.1)) pairs.reverse();
    return this.#dressed(this.#print({ kind: 'map', pairs, anchor: '' }, 0));
  }

  #chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  #odd(): boolean {
    return this.#chance(this.#oddity);
  }

  /** What stands around a file: marks, comments, other documents, line ends. */
  #dressed(body: string): string {
    let text = body.startsWith('\n') ? body.slice(1) : body;
    if (!text.endsWith('\n')) text += '\n';
    if (this.#chance(0.1)) text = `# rules\n\n${text}`;
    if (this.#chance(0.15)) text = `---\n${text}`;
    if (this.#chance(0.04)) text = `%YAML 1.1\n---\n${text}`;
    if (this.#chance(0.1))
      text += this.#random.pick(['---\n', '...\n', '--- \nx: [\n', '---\ndomain: other\n']);
    if (this.#chance(0.05)) text = text.replace(/ {2}/, '\t');
    if (this.#chance(0.1)) text = text.replaceAll('\n', '\r\n');
    return this.#chance(0.05) ? `\ufeff${text}` : text;
  }

  #raw(text: string): Written {
    return { kind: 'raw', text, anchor: '' };
  }

  /** The node, maybe with an anchor; or maybe an alias to an earlier one. */
  #shared(kind: AnchorKind, node: Written, aliases = 0.15): Written {
    if (!this.#fancy) return node;
    const known = this.#anchors.get(kind) ?? [];
    if (known.length > 0 && this.#chance(aliases)) return this.#raw(`*${this.#random.pick(known)}`);
    if (node.anchor !== '' || (node.kind === 'raw' && node.text.startsWith('*')) || !this.#chance(0.3))
      return node;
    const anchor = `n${this.#odd() ? 0 : ++this.#anchorCount}`;
    this.#anchors.set(kind, [...known, anchor]);
    return { ...node, anchor };
  }

  #scalar(texts: readonly string[], odd: readonly string[]): Written {
    if (this.#chance(0.01)) return this.#raw(this.#random.pick(NULLS));
    return this.#raw(this.#random.pick(this.#odd() ? odd : texts));
  }

  #text(): Written {
    return this.#shared('text', this.#scalar(TEXTS, ODD_TEXTS), 0.05);
  }

  #flag(): Written {
    return this.#scalar(FLAGS, ODD_FLAGS);
  }

  #entries(depth: number): Written {
    const items = Array.from({ length: 1 + this.#random.below(2) }, () => this.#entry(depth));
    return this.#shared('list', { kind: 'list', items, anchor: '' }, 0.05);
  }

  #entry(depth: number): Written {
    const pairs: [string, Written][] = [['key', this.#key()]];
    if (this.#chance(0.5)) pairs.push(['value', this.#text()]);
    const limits = this.#random.pick([0, 1, 1, 1, 1, 2, 3]);
    for (let i = 0; i < limits; i++) pairs.push(['rate_limit', this.#limit()]);
    if (this.#chance(0.2)) pairs.push(['shadow_mode', this.#flag()]);
    if (this.#chance(0.1)) pairs.push(['shadow_mode', this.#flag()]);
    if (this.#chance(0.2)) pairs.push(['metadata', this.#metadata()]);
    if (this.#chance(0.1)) pairs.push(['metadata', this.#metadata()]);
    if (depth > 0 && this.#chance(0.3)) pairs.push(['descriptors', this.#entries(depth - 1)]);
    if (depth > 0 && this.#chance(0.1)) pairs.push(['descriptors', this.#entries(depth - 1)]);
    if (this.#chance(0.1)) pairs.push(['key', this.#key()]);
    return this.#map('entry', pairs);
  }

  /** Mostly one that no other entry of the level has. */
  #key(): Written {
    return this.#chance(0.1) ? this.#text() : this.#raw(`k${this.#random.below(1000)}`);
  }

  #limit(): Written {
    if (this.#chance(0.05)) return this.#raw(this.#random.pick(NULLS.slice(0, this.#odd() ? 5 : 3)));
    if (this.#odd()) return this.#raw(this.#random.pick(['5', '[]', 'text']));
    const pairs: [string, Written][] = [];
    if (this.#chance(0.9)) pairs.push(['unit', this.#scalar(UNITS, ODD_TEXTS)]);
    if (this.#chance(0.7)) pairs.push(['requests_per_unit', this.#scalar(COUNTS, ODD_COUNTS)]);
    if (this.#chance(0.1)) pairs.push(['requests_per_unit', this.#scalar(COUNTS, ODD_COUNTS)]);
    if (this.#chance(0.2)) pairs.push(['name', this.#text()]);
    if (this.#chance(0.15)) pairs.push(['replaces', this.#replaces()]);
    if (this.#chance(0.05)) pairs.push(['replaces', this.#replaces()]);
    if (this.#chance(0.03)) pairs.push(['unlimited', this.#flag()]);
    return this.#map('limit', pairs);
  }

  #replaces(): Written {
    const items = Array.from({ length: this.#random.below(3) }, (): Written => {
      if (this.#odd()) return this.#raw(this.#random.pick([...NULLS, 'a']));
      const pairs: [string, Written][] = [['name', this.#raw(this.#random.pick(['w', 'x', 'y']))]];
      if (this.#chance(0.1)) pairs.push(['name', this.#text()]);
      if (this.#odd()) pairs.push(['other', this.#text()]);
      return { kind: 'map', pairs, anchor: '' };
    });
    return { kind: 'list', items, anchor: '' };
  }

  #metadata(): Written {
    if (this.#chance(0.08)) return this.#raw(this.#random.pick(NULLS));
    return this.#map('metadata', this.#metadataPairs(2));
  }

  #metadataPairs(depth: number): [string, Written][] {
    return Array.from({ length: this.#random.below(4) }, () => [
      this.#random.pick(['k', 'l', 'm', '"k"', 'n', '010', '1.5e7', '~']),
      this.#metadataValue(depth),
    ]);
  }

  #metadataValue(depth: number): Written {
    if (depth === 0 || this.#chance(0.7)) return this.#raw(this.#random.pick(VALUES));
    if (this.#chance(0.5)) return this.#map('metadata', this.#metadataPairs(depth - 1));
    const items = Array.from({ length: this.#random.below(3) }, () => this.#metadataValue(depth - 1));
    return { kind: 'list', items, anchor: '' };
  }

  /** The pairs in some order, with merges in some place. */
  #map(kind: 'entry' | 'limit' | 'metadata', pairs: [string, Written][]): Written {
    if (this.#odd()) pairs.push([this.#random.pick(['oops', 'unit', 'name', '5', '~']), this.#text()]);
    if (this.#chance(0.1)) pairs.reverse();
    const known = this.#anchors.get(kind) ?? [];
    const some = this.#fancy && (known.length > 0 || this.#odd());
    const merges = some ? this.#random.pick(kind === 'entry' ? [0, 0, 0, 1] : [0, 0, 1, 1, 2]) : 0;
    for (let i = 0; i < merges; i++) {
      pairs.splice(this.#random.below(pairs.length + 1), 0, [this.#mergeKey(), this.#mergeValue(known)]);
    }
    return this.#shared(kind, { kind: 'map', pairs, anchor: '' }, kind === 'entry' ? 0.03 : 0.15);
  }

  #mergeKey(): string {
    return this.#odd() ? this.#random.pick(['"<<"', '!!merge <<']) : '<<';
  }

  #mergeValue(known: readonly string[]): Written {
    if (known.length === 0 || this.#odd()) {
      const any = [...this.#anchors.values()].flat();
      return this.#raw(any.length > 0 ? `*${this.#random.pick(any)}` : this.#random.pick(NULLS));
    }
    const one = (): Written => this.#raw(`*${this.#random.pick(known)}`);
    if (this.#chance(0.6)) return one();
    return { kind: 'list', items: Array.from({ length: this.#random.below(4) }, one), anchor: '' };
  }

  /** What stands behind a colon or a dash, with the space before it. */
  #print(node: Written, column: number): string {
    const anchor = node.anchor === '' ? '' : ` &${node.anchor}`;
    if (node.kind === 'raw') {
      const text = node.text.replaceAll('\n', `\n${' '.repeat(column + 1)}`);
      return `${anchor}${text === '' ? '' : ` ${text}`}${this.#comment()}\n`;
    }
    const parts = node.kind === 'map' ? node.pairs : node.items;
    if (parts.length === 0 || this.#chance(0.2)) return `${anchor} ${this.#flow(node)}${this.#comment()}\n`;
    const lines =
      node.kind === 'map'
        ? node.pairs.map(([key, value]) => this.#pair(key, value, column))
        : node.items.map(item => this.#item(item, column));
    return `${anchor}${this.#comment()}\n${lines.join('')}`;
  }

  #pair(key: string, value: Written, column: number): string {
    const inner = value.kind === 'list' && this.#chance(0.5) ? column : column + 1 + this.#random.below(4);
    return `${' '.repeat(column)}${key}:${this.#print(value, inner)}`;
  }

  #item(item: Written, column: number): string {
    const dash = `${' '.repeat(column)}-`;
    if (item.kind === 'map' && item.pairs.length > 0 && item.anchor === '' && this.#chance(0.7)) {
      const spaces = 1 + this.#random.below(3);
      const inner = column + 1 + spaces;
      const body = item.pairs.map(([key, value]) => this.#pair(key, value, inner)).join('');
      return `${dash}${' '.repeat(spaces)}${body.slice(inner)}`;
    }
    return `${dash}${this.#print(item, column + 2)}`;
  }

  #flow(node: Written): string {
    const anchor = node.anchor === '' ? '' : `&${node.anchor} `;
    if (node.kind === 'raw') return anchor + node.text.replaceAll('\n', ' ');
    const parts =
      node.kind === 'map'
        ? node.pairs.map(([key, value]) => `${key}: ${this.#flow(value)}`)
        : node.items.map(item => this.#flow(item));
    const inner = parts.join(this.#chance(0.95) ? ', ' : `,\n${' '.repeat(60)}`);
    return node.kind === 'map' ? `${anchor}{${inner}}` : `${anchor}[${inner}]`;
  }

  #comment(): string {
    if (this.#chance(0.95)) return '';
    return this.#random.pick([' # what: "it\' is', '  ', '   # x', '\n\n', '\n# alone']);
  }
}
