import type { Symbols } from './symbols.ts';

/** How UTF-8 writes the symbols of a pattern, byte by byte. */
export interface Utf8Tree {
  /** What the first byte of a character says, by byte: a symbol, {@link ILL_FORMED} or a {@link continuationOf}. */
  readonly leads: Int32Array;
  readonly continuations: readonly Continuation[];
}

/** A character of which some bytes are known, and not yet all. */
interface Continuation {
  /** Number of the bytes that are known. */
  readonly known: number;
  /** What the next byte says, by its low six bits. */
  readonly next: Int32Array;
}

/** Said of a byte that cannot be at its place in well-formed UTF-8. */
export const ILL_FORMED = -1;

/** The number of the continuation that a value below {@link ILL_FORMED} stands for. */
export function continuationOf(value: number): number {
  return -2 - value;
}

/** Whether a byte can only continue a character, and not begin one. */
export function isContinuationByte(byte: number): boolean {
  return byte >> 6 === 2;
}

/** What byte `byte` says at this place of a character. */
export function following(continuation: Continuation, byte: number): number {
  return isContinuationByte(byte) ? continuation.next[byte & 0x3f] : ILL_FORMED;
}

/** The characters whose first `known` bytes are the same. */
interface Part {
  /** The first code point that these bytes can mean. */
  readonly first: number;
  readonly known: number;
  /** Number of the bytes that follow. */
  readonly left: number;
  /** Code points below this one have a shorter form, so these bytes are ill-formed for them. */
  readonly least: number;
}

const LAST_CODE_POINT = 0x10ffff;
const SURROGATES = { first: 0xd800, last: 0xdfff };

/** The tree of the bytes of all characters. Equal parts of it are one continuation. */
export function utf8Tree(symbols: Symbols): Utf8Tree {
  const builder = new TreeBuilder(symbols);
  const leads = Int32Array.from({ length: 256 }, (_, byte) => builder.lead(byte));
  return { leads, continuations: builder.continuations };
}

class TreeBuilder {
  readonly continuations: Continuation[] = [];
  readonly #symbols: Symbols;
  /** Values of continuations, by what makes them equal. */
  readonly #values = new Map<string, number>();

  constructor(symbols: Symbols) {
    this.#symbols = symbols;
  }

  /** What `byte` says as the first byte of a character. */
  lead(byte: number): number {
    if (byte < 0x80) return this.#symbols.at(byte);
    if (byte < 0xc0) return ILL_FORMED;
    if (byte < 0xe0) return this.#part({ first: (byte & 0x1f) << 6, known: 1, left: 1, least: 0x80 });
    if (byte < 0xf0) return this.#part({ first: (byte & 0x0f) << 12, known: 1, left: 2, least: 0x800 });
    if (byte < 0xf8) return this.#part({ first: (byte & 0x07) << 18, known: 1, left: 3, least: 0x10000 });
    return ILL_FORMED;
  }

  #part(part: Part): number {
    const { first, left, least } = part;
    const last = first + 64 ** left - 1;
    if (last < least || first > LAST_CODE_POINT) return ILL_FORMED;
    if (first >= SURROGATES.first && last <= SURROGATES.last) return ILL_FORMED;
    if (left === 0) return this.#symbols.at(first);
    return this.#isUniform(first, last, least) ? this.#uniformValue(part) : this.#value(part);
  }

  #isUniform(first: number, last: number, least: number): boolean {
    return (
      first >= least &&
      last <= LAST_CODE_POINT &&
      (last < SURROGATES.first || first > SURROGATES.last) &&
      this.#symbols.areOne(first, last)
    );
  }

  #value({ first, known, left, least }: Part): number {
    const step = 64 ** (left - 1);
    const next = Int32Array.from({ length: 64 }, (_, i) =>
      this.#part({ first: first + i * step, known: known + 1, left: left - 1, least }),
    );
    return this.#interned(`${known}:${next.join()}`, () => ({ known, next }));
  }

  /** The value of a part in which all characters are one symbol. Most parts are, so these are found without their content. */
  #uniformValue({ first, known, left, least }: Part): number {
    return this.#interned(`${known}:${left}:${this.#symbols.at(first)}`, () => {
      const each = this.#part({ first, known: known + 1, left: left - 1, least });
      return { known, next: new Int32Array(64).fill(each) };
    });
  }

  /** The value of the continuation with this key. */
  #interned(key: string, create: () => Continuation): number {
    const interned = this.#values.get(key);
    if (interned !== undefined) return interned;
    const value = -1 - this.continuations.push(create());
    this.#values.set(key, value);
    return value;
  }
}
