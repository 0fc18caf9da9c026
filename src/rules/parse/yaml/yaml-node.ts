/**
 * The small tree that both YAML readers give. Values stay text: what they mean depends on the field.
 * Offsets count UTF-16 units from the start of the text; lines and columns are worked out when a fault needs them.
 */
export type YamlNode = YamlScalar | YamlList | YamlMap;

export interface YamlScalar {
  readonly kind: 'scalar';
  readonly text: string;
  /** True when YAML gives the text a type (`yes`, `010`, `~`); false for quoted and block text. */
  readonly plain: boolean;
  /** For a value that is left out, the offset of its key. */
  readonly offset: number;
}

export interface YamlList {
  readonly kind: 'list';
  readonly items: readonly YamlNode[];
  readonly offset: number;
}

export interface YamlMap {
  readonly kind: 'map';
  /** In the order in which they take effect, repeated keys included. Pairs of a merge stand where its `<<` stands. */
  readonly pairs: readonly YamlPair[];
  readonly offset: number;
}

export interface YamlPair {
  readonly key: string;
  readonly keyPlain: boolean;
  readonly keyOffset: number;
  readonly value: YamlNode;
  /** For a pair that a merge brings, the offset of the `<<` in the map that it is brought into. */
  readonly mergedAt?: number;
}

/** What is wrong with a text as YAML, and at which offset. */
export interface YamlFault {
  readonly offset: number;
  readonly message: string;
}

/** A tree (its root is null when the text holds nothing), or at least one fault. */
export interface YamlReading {
  readonly root: YamlNode | null;
  readonly faults: readonly YamlFault[];
}

/**
 * What a plain scalar means under YAML 1.1 as the reference implementation reads it:
 * `bigint` for whole numbers of up to 64 bits, `number` for every other number, `string` for text.
 */
export type TypedScalar = null | boolean | bigint | number | string;

const WORDS: ReadonlyMap<string, null | boolean | number> = new Map<string, null | boolean | number>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map(
    word => [word, true] as const,
  ),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map(
    word => [word, false] as const,
  ),
  ...['', '~', 'null', 'Null', 'NULL'].map(word => [word, null] as const),
  ...['.nan', '.NaN', '.NAN'].map(word => [word, Number.NaN] as const),
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map(word => [word, Infinity] as const),
  ...['-.inf', '-.Inf', '-.INF'].map(word => [word, -Infinity] as const),
]);
const LONGEST_WORD = 5;

/** What most numbers in rule files look like. */
const SHORT_DECIMAL = /^[1-9][0-9]{0,14}$/;
const INTEGER = /^([-+]?)(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)$/;
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
const NO_MORE_THAN_64_BITS = 70;
const LEAST_INT64 = -(2n ** 63n);
const GREATEST_UINT64 = 2n ** 64n - 1n;
/** The greatest whole number that a rule file may hold outside `metadata`. */
export const GREATEST_INT64 = 2n ** 63n - 1n;

const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

/** Gives a plain scalar its type. Dates stay text, as in the reference implementation. */
export function typedScalar(text: string): TypedScalar {
  if (text.length <= LONGEST_WORD) {
    const word = WORDS.get(text);
    if (word !== undefined) return word;
  }
  const first = text.charCodeAt(0);
  const mayBeNumber = (first >= ZERO && first <= NINE) || first === PLUS || first === MINUS || first === DOT;
  return mayBeNumber ? (integer(text) ?? float(text) ?? text) : text;
}

/** Whole numbers: decimal, `0x`, `0o`, `0b`, octal by a leading zero; `_` may stand between digits. */
function integer(text: string): bigint | null {
  if (SHORT_DECIMAL.test(text)) return BigInt(text);
  // Turning digits into a bigint costs more than linear time, so very long ones are not tried.
  if (text.length > NO_MORE_THAN_64_BITS && text.replaceAll('_', '').length > NO_MORE_THAN_64_BITS)
    return null;
  const match = text.charCodeAt(0) === DOT ? null : INTEGER.exec(text.replaceAll('_', ''));
  if (match === null) return null;
  const [, sign, digits] = match;
  const magnitude = BigInt(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits);
  const value = sign === '-' ? -magnitude : magnitude;
  return value >= LEAST_INT64 && value <= GREATEST_UINT64 ? value : null;
}

/** Every other number. What is too large for a double is text, as in the reference implementation. */
function float(text: string): number | null {
  const digits = text.charCodeAt(0) === DOT ? text : text.replaceAll('_', '');
  if (!FLOAT.test(digits)) return null;
  const value = Number(digits);
  return Number.isFinite(value) ? value : null;
}
