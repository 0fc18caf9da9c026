import type { ByteWriter } from '../../base/bytes.ts';

/*
 * Huffman coded strings (RFC 7541, 5.2).
 *
 * The decoder handles four bits per step with a state table. A state is an inner node of the code tree: the node that
 * the bits since the last complete code lead to. The code has 257 leaves, so the tree has 256 inner nodes. No code is
 * shorter than five bits, so a step completes at most one code.
 *
 * The nodes on the path to EOS, whose code is thirty ones, are numbered by depth. State 0 is the root. States 1 to 7
 * mean that only that number of ones remains, which is valid padding.
 *
 * Eight bits per step would decode long strings in two thirds of the time, but the table would have 256 KiB instead of
 * 16 and displace other data from the CPU caches. Long strings are sent once per connection and indexed afterwards.
 */

/** The end-of-string symbol. Strings must not contain it; its leading bits pad the last octet (RFC 7541, 5.2). */
const EOS = 256;

/**
 * Code lengths of all octets in bits, followed by that of EOS (RFC 7541, Appendix B). The code is canonical (codes are
 * numbered by length and then by symbol), so the lengths determine the codes.
 */
// biome-ignore format: sixteen per row, so that an octet can be found by its two hexadecimal digits
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

/** The code of each symbol: the lowest `lengths[symbol]` bits of `codes[symbol]`. */
interface HuffmanTable {
  readonly lengths: readonly number[];
  readonly codes: Uint32Array;
}

let table: HuffmanTable | undefined;

/** The table of Appendix B, built at first use. */
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

/** The encoder shifts bits into 32-bit integers, in which up to 7 bits of earlier codes may still be pending. */
const MAX_BITS_AT_ONCE = 24;

/** The result of a step has the next state in bits 0 to 7, the completed octet in bits 8 to 15, and these flags. */
const HAS_OCTET = 1 << 16;
const REACHED_EOS = 1 << 17;

/** Why octets are not a valid Huffman-coded string. Negative, to distinguish faults from lengths. */
export const HUFFMAN_FAULT = { endOfString: -1, longPadding: -2, badPadding: -3 } as const;

/** The maximum decoded length of `length` coded octets: no code is shorter than five bits. */
export function maxDecodedLength(length: number): number {
  return Math.floor((length * 8) / 5);
}

/**
 * Decodes `from[start, end)` to the beginning of `to`, which must have room for `maxDecodedLength(end - start)` octets.
 *
 * @returns the number of decoded octets, or a `HUFFMAN_FAULT`
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

/** The result of every step: `table[state << 4 | four bits]`. Built at first use. */
function stepTable(): Uint32Array {
  builtSteps ??= buildSteps(buildTree());
  return builtSteps;
}

/** `tree[node * 2 + bit]` is the next node, or the bitwise complement of the symbol that the bits complete. */
function buildTree(): Int32Array {
  const { lengths, codes } = huffmanTable();
  const tree = new Int32Array(2 * EOS);
  let nodes = 1;
  const add = (symbol: number): void => {
    let node = 0;
    for (let shift = lengths[symbol] - 1; shift > 0; shift--) {
      const branch = node * 2 + ((codes[symbol] >>> shift) & 1);
      if (tree[branch] === 0) tree[branch] = nodes++;
      node = tree[branch];
    }
    tree[node * 2 + (codes[symbol] & 1)] = ~symbol;
  };
  // EOS comes first, so that the nodes on its path get the lowest numbers.
  add(EOS);
  for (let octet = 0; octet < EOS; octet++) add(octet);
  return tree;
}

function buildSteps(tree: Int32Array): Uint32Array {
  const steps = new Uint32Array(256 * 16);
  for (let step = 0; step < steps.length; step++) {
    let node = step >>> 4;
    let marks = 0;
    for (let shift = 3; shift >= 0; shift--) {
      node = tree[node * 2 + ((step >>> shift) & 1)];
      if (node >= 0) continue;
      const symbol = ~node;
      marks |= symbol === EOS ? REACHED_EOS : HAS_OCTET | (symbol << 8);
      node = 0;
    }
    steps[step] = marks | node;
  }
  return steps;
}

/** The coded length of `text` in octets. Each of its characters stands for one octet. */
export function huffmanLength(text: string): number {
  const { lengths } = huffmanTable();
  let bits = 0;
  for (let i = 0; i < text.length; i++) bits += lengths[text.charCodeAt(i)];
  return Math.ceil(bits / 8);
}

/** Appends `text` in Huffman code. Each of its characters stands for one octet. */
export function writeHuffman(to: ByteWriter, text: string): void {
  const { lengths, codes } = huffmanTable();
  // The lowest `count` bits of `pending` are not written yet. They are fewer than 8, so MAX_BITS_AT_ONCE more fit.
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
