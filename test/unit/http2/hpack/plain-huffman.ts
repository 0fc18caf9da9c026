import { HUFFMAN_FAULT } from '../../../../src/http2/hpack/huffman.ts';
import { APPENDIX_B, bitsOf } from './appendix-b.ts';

const EOS = 256;
const SYMBOL_OF = new Map(APPENDIX_B.map((code, symbol) => [bitsOf(code), symbol]));

/** What coded octets say, or the fault, found in the plainest way: bit by bit, by the text of the codes. */
export function decodedPlainly(octets: Iterable<number>): string | number {
  let text = '';
  let pending = '';
  for (const bit of Array.from(octets, octet => octet.toString(2).padStart(8, '0')).join('')) {
    pending += bit;
    const symbol = SYMBOL_OF.get(pending);
    if (symbol === EOS) return HUFFMAN_FAULT.endOfString;
    if (symbol === undefined) continue;
    text += String.fromCharCode(symbol);
    pending = '';
  }
  if (pending.includes('0')) return HUFFMAN_FAULT.badPadding;
  return pending.length > 7 ? HUFFMAN_FAULT.longPadding : text;
}
