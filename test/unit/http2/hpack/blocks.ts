import { ByteWriter } from '../../../../src/base/bytes.ts';
import { HpackDecoder } from '../../../../src/http2/hpack/decoder.ts';
import type { HeaderField } from '../../../../src/http2/hpack/encoder.ts';
import type { HeaderBlock, HeaderListLimits } from '../../../../src/http2/hpack/header-list.ts';
import { HpackFault, SIZE_UPDATE, writeInteger } from '../../../../src/http2/hpack/primitives.ts';
import type { HpackEncoder, Indexing } from '../../../support/hpack-encoder.ts';

/** Octets from hex digits; spaces may stand anywhere. */
export function octets(hex: string): Uint8Array {
  return Buffer.from(hex.replaceAll(/\s/g, ''), 'hex');
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** A decoder with limits that are out of the way unless a test sets them, and a table that the peer has made smaller. */
export function decoderWith({
  tableSize = 4096,
  ...limits
}: Partial<HeaderListLimits> & { readonly tableSize?: number | undefined } = {}): HpackDecoder {
  const decoder = new HpackDecoder({ maxListBytes: 1_000_000, maxFields: 10_000, ...limits });
  if (tableSize < 4096) {
    const update = new ByteWriter();
    writeInteger(update, SIZE_UPDATE.pattern, SIZE_UPDATE.prefix, tableSize);
    decodeAll(decoder, update.take());
  }
  return decoder;
}

export function decodeAll(decoder: HpackDecoder, block: Uint8Array): HeaderBlock {
  return decoder.decode(block, 0, block.length);
}

export function fieldsOf({ names, values }: HeaderBlock): HeaderField[] {
  return names.map((name, i) => [name, values[i]]);
}

/** The fields of a block given in hex. */
export function fieldsIn(decoder: HpackDecoder, hex: string): HeaderField[] {
  return fieldsOf(decodeAll(decoder, octets(hex)));
}

const FIRST_DYNAMIC_INDEX = 62;

/**
 * The entries of a decoder's dynamic table, the newest first, read as any peer could: by referring to each index until
 * one is beyond the table. With that fault the decoder has been used up.
 */
export function tableOf(decoder: HpackDecoder): HeaderField[] {
  const entries: HeaderField[] = [];
  try {
    for (let index = FIRST_DYNAMIC_INDEX; ; index++) {
      // Below 127 an index fits the seven bits of its first octet.
      const block = index < 127 ? [0x80 | index] : [0xff, (index - 127) & 0x7f];
      entries.push(...fieldsOf(decodeAll(decoder, Uint8Array.from(block))));
    }
  } catch (fault) {
    if (!(fault instanceof HpackFault) || fault.section !== '2.3.3') throw fault;
    return entries;
  }
}

/** What a table of these entries counts (RFC 7541, 4.1). */
export function sizeOf(entries: readonly HeaderField[]): number {
  return entries.reduce((size, [name, value]) => size + name.length + value.length + 32, 0);
}

/** A block with these fields, all sent in one way. */
export function encodeBlock(
  encoder: HpackEncoder,
  fields: readonly HeaderField[],
  indexing: Indexing,
): Uint8Array {
  const to = new ByteWriter();
  encoder.startBlock(to);
  for (const [name, value] of fields) encoder.field(to, name, value, indexing);
  return to.take();
}

/** What `run` returns, or undefined when it throws a fault of this kind; anything else that it throws is a defect. */
export function outcomeOf<T>(run: () => T, kind: new (...args: never[]) => Error): T | undefined {
  try {
    return run();
  } catch (fault) {
    if (fault instanceof kind) return undefined;
    throw fault;
  }
}
