/**
 * The tree that both YAML readers return. Scalars are kept as text: their types depend on the field. Offsets count UTF-16
 * units from the start of the text; lines and columns are computed when a fault needs them.
 */
export type YamlNode = YamlScalar | YamlList | YamlMap;

export interface YamlScalar {
  readonly kind: 'scalar';
  readonly text: string;
  /** True if YAML gives the text a type (`yes`, `010`, `~`); false for quoted and block text. */
  readonly plain: boolean;
  /** For an omitted value, the offset of its key. */
  readonly offset: number;
}

export interface YamlList {
  readonly kind: 'list';
  readonly items: readonly YamlNode[];
  readonly offset: number;
}

export interface YamlMap {
  readonly kind: 'map';
  /** In the order in which they apply, with repeated keys. Merged pairs are at the position of their `<<`. */
  readonly pairs: readonly YamlPair[];
  readonly offset: number;
  /** The offset of the overlay entry that has changed the map; absent if none has. */
  readonly overlaidAt?: number;
}

export interface YamlPair {
  readonly key: string;
  readonly keyPlain: boolean;
  readonly keyOffset: number;
  readonly value: YamlNode;
  /** For a merged pair, the offset of the `<<`. */
  readonly mergedAt?: number;
}

/** A fault in the YAML syntax, with its offset. */
export interface YamlFault {
  readonly offset: number;
  readonly message: string;
}

/** A tree (with a null root if the text is empty), or at least one fault. */
export interface YamlReading {
  readonly root: YamlNode | null;
  readonly faults: readonly YamlFault[];
}

/**
 * The YAML 1.1 value of a plain scalar, as envoyproxy/ratelimit reads it: `bigint` for whole numbers of up to 64 bits,
 * `number` for other numbers, `string` for text.
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

/** Matches most numbers in rule files. */
const SHORT_DECIMAL = /^[1-9][0-9]{0,14}$/;
const INTEGER = /^([-+]?)(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)$/;
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
const NO_MORE_THAN_64_BITS = 70;
const LEAST_INT64 = -(2n ** 63n);
const GREATEST_UINT64 = 2n ** 64n - 1n;
/** The greatest whole number that is accepted outside `metadata`. */
export const GREATEST_INT64 = 2n ** 63n - 1n;

const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

/** The value of a plain scalar. Dates remain text, as in envoyproxy/ratelimit. */
export function typedScalar(text: string): TypedScalar {
  if (text.length <= LONGEST_WORD) {
    const word = WORDS.get(text);
    if (word !== undefined) return word;
  }
  const first = text.charCodeAt(0);
  const mayBeNumber = (first >= ZERO && first <= NINE) || first === PLUS || first === MINUS || first === DOT;
  return mayBeNumber ? (integer(text) ?? float(text) ?? text) : text;
}

/** A whole number: decimal, `0x`, `0o`, `0b`, or octal with a leading zero. `_` may separate digits. */
function integer(text: string): bigint | null {
  if (SHORT_DECIMAL.test(text)) return BigInt(text);
  // Converting digits to a bigint takes more than linear time, so very long texts are not converted.
  if (text.length > NO_MORE_THAN_64_BITS && text.replaceAll('_', '').length > NO_MORE_THAN_64_BITS)
    return null;
  const match = text.charCodeAt(0) === DOT ? null : INTEGER.exec(text.replaceAll('_', ''));
  if (match === null) return null;
  const [, sign, digits] = match;
  const magnitude = BigInt(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits);
  const value = sign === '-' ? -magnitude : magnitude;
  return value >= LEAST_INT64 && value <= GREATEST_UINT64 ? value : null;
}

/** Any other number. A number too large for a double is text, as in envoyproxy/ratelimit. */
function float(text: string): number | null {
  const digits = text.charCodeAt(0) === DOT ? text : text.replaceAll('_', '');
  if (!FLOAT.test(digits)) return null;
  const value = Number(digits);
  return Number.isFinite(value) ? value : null;
}
