import { crc32 } from 'node:zlib';
import type { FingerprintKey } from '../fingerprint.ts';

/**
 * The format of the file that preserves counters over a restart. All numbers are little-endian.
 *
 *     header   64 bytes   magic, version, time, fingerprint key, checksum
 *     blocks              each: number of counters, checksum, and 24 bytes for each counter
 *     end      16 bytes   0 as the number of counters, checksum, and the total number of counters
 *
 *     counter             three words of the fingerprint, expiry in seconds, hits as a double
 *
 * A counter does not depend on its position in the table, so the table may have another size when the file is loaded.
 * The file contains the key of the fingerprints, which is needed to find the counters again.
 */
export const HEADER_BYTES = 64;
export const BLOCK_HEAD_BYTES = 8;
export const END_BYTES = 16;
export const COUNTER_BYTES = 24;

/** Maximum number of counters in a block. */
export const BLOCK_COUNTERS = 4_096;

const MAGIC = 'SLUICECT';
const VERSION = 1;
const HEADER_CHECKED_BYTES = HEADER_BYTES - 4;

/** A file is not a snapshot, or is damaged. */
export class SnapshotFault extends Error {}

export interface SnapshotHeader {
  readonly writtenMs: number;
  readonly fingerprintKey: FingerprintKey;
}

export function writeHeader({ writtenMs, fingerprintKey }: SnapshotHeader): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(MAGIC, 'latin1');
  header.writeUInt32LE(VERSION, 8);
  header.writeDoubleLE(writtenMs, 16);
  fingerprintKey.forEach((word, i) => {
    header.writeInt32LE(word, 24 + i * 4);
  });
  header.writeUInt32LE(crc32(header.subarray(0, HEADER_CHECKED_BYTES)), HEADER_CHECKED_BYTES);
  return header;
}

/** @throws SnapshotFault if it is not the header of a snapshot of this version */
export function readHeader(header: Buffer): SnapshotHeader {
  if (header.length < HEADER_BYTES) throw new SnapshotFault('it ends within its first 64 bytes');
  if (header.toString('latin1', 0, 8) !== MAGIC) throw new SnapshotFault('it is not a snapshot of counters');
  const version = header.readUInt32LE(8);
  if (version !== VERSION)
    throw new SnapshotFault(`its version is ${version}, and only version ${VERSION} is supported`);
  if (crc32(header.subarray(0, HEADER_CHECKED_BYTES)) !== header.readUInt32LE(HEADER_CHECKED_BYTES)) {
    throw new SnapshotFault('its first 64 bytes are damaged');
  }
  const word = (i: number) => header.readInt32LE(24 + i * 4);
  return { writtenMs: header.readDoubleLE(16), fingerprintKey: [word(0), word(1), word(2), word(3)] };
}

/** The last bytes of a snapshot of `total` counters. */
export function writeEnd(total: number): Buffer {
  const end = Buffer.alloc(END_BYTES);
  end.writeDoubleLE(total, BLOCK_HEAD_BYTES);
  end.writeUInt32LE(crc32(end.subarray(BLOCK_HEAD_BYTES)), 4);
  return end;
}

/** Writes counters into blocks. */
export class BlockWriter {
  readonly #buffer = Buffer.allocUnsafe(BLOCK_HEAD_BYTES + BLOCK_COUNTERS * COUNTER_BYTES);
  #count = 0;

  /** Number of counters that still fit into the block. */
  get room(): number {
    return BLOCK_COUNTERS - this.#count;
  }

  add(
    print: { readonly a: number; readonly b: number; readonly c: number },
    expiryS: number,
    count: number,
  ): void {
    const at = BLOCK_HEAD_BYTES + this.#count++ * COUNTER_BYTES;
    this.#buffer.writeInt32LE(print.a, at);
    this.#buffer.writeInt32LE(print.b, at + 4);
    this.#buffer.writeInt32LE(print.c, at + 8);
    this.#buffer.writeUInt32LE(expiryS, at + 12);
    this.#buffer.writeDoubleLE(count, at + 16);
  }

  /** Ends the block and returns it; empty without counters. Valid until the next counter is added. */
  take(): Buffer {
    if (this.#count === 0) return Buffer.alloc(0);
    const block = this.#buffer.subarray(0, BLOCK_HEAD_BYTES + this.#count * COUNTER_BYTES);
    block.writeUInt32LE(this.#count, 0);
    block.writeUInt32LE(crc32(block.subarray(BLOCK_HEAD_BYTES)), 4);
    this.#count = 0;
    return block;
  }
}
