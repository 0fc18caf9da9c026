import t from 'tap';
import { END_BOTH } from '../../support/http2-frames.ts';
import { headers } from '../../support/wire-frames.ts';
import { accepted, connectionErrors, echoBlock, echoMessage, serve } from './conversation.ts';

/*
 * RFC 7541 and RFC 9113, 4.3, as far as a server shows it: representations that it accepts, and those that it must not.
 */

/** A field block of a call, with octets before or behind it. */
const before = (hex: string): Buffer => Buffer.concat([Buffer.from(hex, 'hex'), echoBlock()]);
const behind = (hex: string): Buffer => Buffer.concat([echoBlock(), Buffer.from(hex, 'hex')]);

/** `test` and `x-test`, plain and Huffman coded. */
const TEST = '0474657374';
const TEST_HUFFMAN = '8349509f';
const X_TEST = '06782d74657374';
const X_TEST_HUFFMAN = '85f2b4a84253'; // checked by the decoder of this repository and by nghttp2

/** Representations that are accepted, by their clause of RFC 7541. */
const ACCEPTED: Record<string, Buffer> = {
  '6.1 an indexed field of the static table': behind('90'), // accept-encoding: gzip, deflate
  '6.2.1 a literal with incremental indexing, name by index': behind(`7a${TEST}`),
  '6.2.1 a literal with incremental indexing, name by index, Huffman coded': behind(`7a${TEST_HUFFMAN}`),
  '6.2.1 a literal with incremental indexing, new name': behind(`40${X_TEST}${TEST}`),
  '6.2.1 a literal with incremental indexing, new name, Huffman coded': behind(
    `40${X_TEST_HUFFMAN}${TEST_HUFFMAN}`,
  ),
  '6.2.2 a literal without indexing, name by index': behind(`0f2b${TEST}`),
  '6.2.2 a literal without indexing, name by index, Huffman coded': behind(`0f2b${TEST_HUFFMAN}`),
  '6.2.2 a literal without indexing, new name': behind(`00${X_TEST}${TEST}`),
  '6.2.2 a literal without indexing, new name, Huffman coded': behind(`00${X_TEST_HUFFMAN}${TEST_HUFFMAN}`),
  '6.2.3 a literal never indexed, name by index': behind(`1f2b${TEST}`),
  '6.2.3 a literal never indexed, name by index, Huffman coded': behind(`1f2b${TEST_HUFFMAN}`),
  '6.2.3 a literal never indexed, new name': behind(`10${X_TEST}${TEST}`),
  '6.2.3 a literal never indexed, new name, Huffman coded': behind(`10${X_TEST_HUFFMAN}${TEST_HUFFMAN}`),
  '6.3 a table size update': before('3e'),
  '6.3 a table size update to the whole table': before('3fe11f'),
  '4.2 two table size updates': before('203f01'),
  '5.1 an integer with an octet to spare': behind(`0fab8000${TEST}`),
};

/** Representations that are an error, by their clause. */
const REFUSED: Record<string, Buffer> = {
  '2.3.3 an index behind the tables': behind('c6'),
  '2.3.3 the name of a literal behind the tables': behind(`7f07${TEST}`),
  '4.2 a table size update at the end of a block': behind('20'),
  '4.2 three table size updates': before('202020'),
  '5.1 an integer beyond every use': behind('ffffffffffffffff7f'),
  '5.2 a Huffman coded string with padding longer than 7 bits': behind(
    `00${X_TEST}84${TEST_HUFFMAN.slice(2)}ff`,
  ),
  '5.2 a Huffman coded string padded by zeros': behind(`00${X_TEST}83495090`),
  '5.2 a Huffman coded string with EOS in it': behind(`00${X_TEST}84ffffffff`),
  '5.2 a string longer than its block': behind(`00${X_TEST}7f2074`),
  '6.1 an indexed field with index 0': behind('80'),
  '6.3 a table size update beyond SETTINGS_HEADER_TABLE_SIZE': before('3fe21f'),
  'a block that ends inside a field': behind('40'),
};

const serving = await serve(t);

/** The frames of a case, by their name. */
function saying(
  blocks: Record<string, Buffer>,
  framesOf: (block: Buffer) => Buffer[],
): Record<string, Buffer[]> {
  return Object.fromEntries(
    Object.entries(blocks).map(([name, block]) => [`RFC 7541, ${name}`, framesOf(block)]),
  );
}

accepted(
  t,
  serving,
  saying(ACCEPTED, block => [headers(1, block), echoMessage(1, 'on')]),
);
connectionErrors(
  t,
  serving,
  ['COMPRESSION_ERROR', 0],
  saying(REFUSED, block => [headers(1, block, END_BOTH)]),
);
