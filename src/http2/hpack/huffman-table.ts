/** The symbol that no string may hold; its leading bits fill up the last octet (RFC 7541, 5.2). */
export const EOS = 256;

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
export function huffmanTable(): HuffmanTable {
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
