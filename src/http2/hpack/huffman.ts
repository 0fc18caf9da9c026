import type { ByteWriter } from '../../base/bytes.ts';

/*
 * Huffman coded strings (RFC 7541, 5.2).
 *
 * Decoding takes four bits a step through a table of states. A state is a place inside the code tree, where the bits
 * since the last whole code lead to. The code has 257 leaves, so its tree has 256 such places. No code is shorter than
 * five bits, so a step completes at most one.
 *
 * The places on the way to EOS, which is thirty ones, are numbered by their depth: state 0 is the root, and states up
 * to 7 mean that nothing but up to seven ones is left over, which is what padding may be.
 *
 * Eight bits a step would take two thirds of the time for long strings, but a table of 256 KiB in place of 16, which a
 * busy server's caches have better use for: long strings come once in a connection, then they are indexed.
 */

/** The symbol that no string may hold; its leading bits fill up the last octet (RFC 7541, 5.2). */
const EOS = 256;

/**
 * How many bits the code of each octet has, and last that of EOS (RFC 7541, Appendix B). The code is canonical: codes
 * are numbered by length and then by symbol, so the lengths say all that the table of codes does.
 */
// biome-ignore format: sixteen a row, so that an octet can be found by its two digits
const CODE_LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, // 0x00
  28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, // 0x10
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, // 0x20
  5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, // 0x30
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, // 0x40
  7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, // 0x50
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, // 0x60
  6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, // 0x70
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, // 0x80
  24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, // 0x90
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, // 0xa0
  21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, // 0xb0
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, // 0xc0
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, // 0xd0
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, // 0xe0
  26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, // 0xf0
  30, // EOS
];

/** The code of each octet and, at `EOS`, of the end: `lengths[symbol]` bits, the lowest of `codes[symbol]`. */
interface HuffmanTable {
  readonly lengths: readonly number[];
  readonly codes: Uint32Array;
}

let table: HuffmanTable | undefined;

/** The table of Appendix B, put together when it is first asked for. */
function huffmanTable(): HuffmanTable {
  table ??= { lengths: CODE_LENGTHS, codes: canonicalCodes(CODE_LENGTHS) };
  return table;
}

function canonicalCodes(lengths: readonly number[]): Uint32Array {
  const codes = new Uint32Array(lengths.length);
  let next = 0;
  for (let length = 1; length <= lengths[EOS]; length++) {
    next *= 2;
    lengths.forEach((bits, symbol) => {
      if (bits === length) codes[symbol] = next++;
    });
  }
  return codes;
}

/** Bits that the padding of the last octet may have. */
const MAX_PADDING_BITS = 7;

/** Of the 32 bits that are shifted at a time when encoding, up to 7 are left over from before. */
const MAX_BITS_AT_ONCE = 24;

/** A step's result: the next state in bits 0 to 7, the completed octet in 8 to 15, and these marks. */
const HAS_OCTET = 1 << 16;
const REACHED_EOS = 1 << 17;

/** Why octets are not a Huffman coded string; below zero, so that it cannot be taken for a length. */
export const HUFFMAN_FAULT = { endOfString: -1, longPadding: -2, badPadding: -3 } as const;

/** What `length` coded octets can become at most: no code is shorter than five bits. */
export function maxDecodedLength(length: number): number {
  return Math.floor((length * 8) / 5);
}

/**
 * Decodes `from[start, end)` to the front of `to`, which must have room for `maxDecodedLength(end - start)` octets.
 * Returns the number of octets, or a `HUFFMAN_FAULT`.
 */
export function decodeHuffman(from: Uint8Array, start: number, end: number, to: Uint8Array): number {
  const steps = stepTable();
  let state = 0;
  let length = 0;
  for (let at = start; at < end; at++) {
    const octet = from[at];
    const first = steps[(state << 4) | (octet >>> 4)];
    if ((first & HAS_OCTET) !== 0) to[length++] = first >>> 8;
    const second = steps[((first & 0xff) << 4) | (octet & 0xf)];
    if ((second & HAS_OCTET) !== 0) to[length++] = second >>> 8;
    if (((first | second) & REACHED_EOS) !== 0) return HUFFMAN_FAULT.endOfString;
    state = second & 0xff;
  }
  if (state <= MAX_PADDING_BITS) return length;
  return state < huffmanTable().lengths[EOS] ? HUFFMAN_FAULT.longPadding : HUFFMAN_FAULT.badPadding;
}

let builtSteps: Uint32Array | undefined;

/** The result of every step: `table[state << 4 | four bits]`. Built when first asked for. */
function stepTable(): Uint32Array {
  builtSteps ??= buildSteps(buildTree());
  return builtSteps;
}

/** `tree[place * 2 + bit]` is a place, or the complement of the symbol that the bits complete. */
function buildTree(): Int32Array {
  const { lengths, codes } = huffmanTable();
  const tree = new Int32Array(2 * EOS);
  let places = 1;
  const add = (symbol: number): void => {
    let place = 0;
    for (let shift = lengths[symbol] - 1; shift > 0; shift--) {
      const branch = place * 2 + ((codes[symbol] >>> shift) & 1);
      if (tree[branch] === 0) tree[branch] = places++;
      place = tree[branch];
    }
    tree[place * 2 + (codes[symbol] & 1)] = ~symbol;
  };
  // First, so that the places on its way get the lowest numbers.
  add(EOS);
  for (let octet = 0; octet < EOS; octet++) add(octet);
  return tree;
}

function buildSteps(tree: Int32Array): Uint32Array {
  const steps = new Uint32Array(256 * 16);
  for (let step = 0; step < steps.length; step++) {
    let place = step >>> 4;
    let marks = 0;
    for (let shift = 3; shift >= 0; shift--) {
      place = tree[place * 2 + ((step >>> shift) & 1)];
      if (place >= 0) continue;
      const symbol = ~place;
      marks |= symbol === EOS ? REACHED_EOS : HAS_OCTET | (symbol << 8);
      place = 0;
    }
    steps[step] = marks | place;
  }
  return steps;
}

/** How many octets `text` takes when coded; each of its characters is one octet. */
export function huffmanLength(text: string): number {
  const { lengths } = huffmanTable();
  let bits = 0;
  for (let i = 0; i < text.length; i++) bits += lengths[text.charCodeAt(i)];
  return Math.ceil(bits / 8);
}

/** Appends `text`, each of whose characters is one octet. */
export function writeHuffman(to: ByteWriter, text: string): void {
  const { lengths, codes } = huffmanTable();
  // The lowest `count` bits of `pending` are not written yet: fewer than 8, so MAX_BITS_AT_ONCE more always fit.
  let pending = 0;
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const octet = text.charCodeAt(i);
    for (let left = lengths[octet]; left > 0; ) {
      const taken = Math.min(left, MAX_BITS_AT_ONCE);
      left -= taken;
      pending = (pending << taken) | ((codes[octet] >>> left) & ((1 << taken) - 1));
      for (count += taken; count >= 8; count -= 8) to.byte((pending >>> (count - 8)) & 0xff);
    }
  }
  if (count > 0) to.byte(((pending << (8 - count)) | (0xff >>> count)) & 0xff);
}
