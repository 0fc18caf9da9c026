import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { FingerprintKey } from '../fingerprint.ts';
import type { CellPrint, StoredCounter } from './cell.ts';

/**
 * The format of the file that preserves counters over a restart. All numbers are little-endian.
 *
 *     header   64 bytes   magic, version, time, fingerprint key, checksum
 *     leases              only in version 3; see `snapshot-leases.ts`
 *     blocks              each: number of counters, checksum, and 24 or 32 bytes for each counter
 *     end      16 bytes   0 as the number of counters, checksum, and the total number of counters
 *
 *     counter             three words of the fingerprint, expiry in seconds, hits as a double, and from version 2 on the
 *                         extra number of `cell-states.ts` as a double
 *
 * Version 1 is written as long as all counters are plain counts, and version 2 as long as there are no leases, so that
 * earlier releases can read them. Leases come first: what is settled while the file is written is then rather held and spent
 * than neither.
 *
 * A counter does not depend on its position in the table, so the table may have another size when the file is loaded.
 * The file contains the key of the fingerprints, which is needed to find the counters again.
 */
export const HEADER_BYTES = 64;
export const BLOCK_HEAD_BYTES = 8;
export const END_BYTES = 16;

/** Maximum number of counters in a block. */
export const BLOCK_COUNTERS = 4_096;

const MAGIC = 'SLUICECT';
const PLAIN_VERSION = 1;
const EXTRAS_VERSION = 2;
const LEASES_VERSION = 3;
const HEADER_CHECKED_BYTES = HEADER_BYTES - 4;

/** A file is not a snapshot, or is damaged. */
export class SnapshotFault extends Error {}

export interface SnapshotHeader {
  readonly writtenMs: number;
  readonly fingerprintKey: FingerprintKey;
  /** Whether counters have an extra number. */
  readonly hasExtras: boolean;
  /** Whether the file has leases; its counters then have an extra number as well. */
  readonly hasLeases: boolean;
}

/** Bytes of a counter. */
export function counterBytes(hasExtras: boolean): number {
  return hasExtras ? 32 : 24;
}

export function writeHeader({ writtenMs, fingerprintKey, hasExtras, hasLeases }: SnapshotHeader): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(MAGIC, 'latin1');
  const version = hasLeases ? LEASES_VERSION : hasExtras ? EXTRAS_VERSION : PLAIN_VERSION;
  header.writeUInt32LE(version, 8);
  header.writeDoubleLE(writtenMs, 16);
  fingerprintKey.forEach((word, i) => {
    header.writeInt32LE(word, 24 + i * 4);
  });
  header.writeUInt32LE(crc32(header.subarray(0, HEADER_CHECKED_BYTES)), HEADER_CHECKED_BYTES);
  return header;
}

/** @throws SnapshotFault if it is not the header of a snapshot of these versions */
export function readHeader(header: Buffer): SnapshotHeader {
  if (header.length < HEADER_BYTES) throw new SnapshotFault('it ends within its first 64 bytes');
  if (header.toString('latin1', 0, 8) !== MAGIC) throw new SnapshotFault('it is not a snapshot of counters');
  const version = header.readUInt32LE(8);
  if (version < PLAIN_VERSION || version > LEASES_VERSION)
    throw new SnapshotFault(
      `its version is ${version}, and only versions ${PLAIN_VERSION} to ${LEASES_VERSION} are supported`,
    );
  if (crc32(header.subarray(0, HEADER_CHECKED_BYTES)) !== header.readUInt32LE(HEADER_CHECKED_BYTES)) {
    throw new SnapshotFault('its first 64 bytes are damaged');
  }
  const word = (i: number) => header.readInt32LE(24 + i * 4);
  return {
    writtenMs: header.readDoubleLE(16),
    fingerprintKey: [word(0), word(1), word(2), word(3)],
    hasExtras: version >= EXTRAS_VERSION,
    hasLeases: version === LEASES_VERSION,
  };
}

/** Bytes of a file from a position on, fewer if it ends before. */
export async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let got = 0;
  while (got < length) {
    const { bytesRead } = await file.read(buffer, got, length - got, position + got);
    if (bytesRead === 0) break;
    got += bytesRead;
  }
  return buffer.subarray(0, got);
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
  readonly #hasExtras: boolean;
  readonly #counterBytes: number;
  readonly #buffer: Buffer;
  #count = 0;

  /** @param hasExtras whether counters have an extra number */
  constructor(hasExtras: boolean) {
    this.#hasExtras = hasExtras;
    this.#counterBytes = counterBytes(hasExtras);
    this.#buffer = Buffer.allocUnsafe(BLOCK_HEAD_BYTES + BLOCK_COUNTERS * this.#counterBytes);
  }

  /** Number of counters that still fit into the block. */
  get room(): number {
    return BLOCK_COUNTERS - this.#count;
  }

  add(print: CellPrint, { expiryS, count, extra }: StoredCounter): void {
    const at = BLOCK_HEAD_BYTES + this.#count++ * this.#counterBytes;
    this.#buffer.writeInt32LE(print.a, at);
    this.#buffer.writeInt32LE(print.b, at + 4);
    this.#buffer.writeInt32LE(print.c, at + 8);
    this.#buffer.writeUInt32LE(expiryS, at + 12);
    this.#buffer.writeDoubleLE(count, at + 16);
    if (this.#hasExtras) this.#buffer.writeDoubleLE(extra, at + 24);
  }

  /** Ends the block and returns it; empty without counters. Valid until the next counter is added. */
  take(): Buffer {
    if (this.#count === 0) return Buffer.alloc(0);
    const block = this.#buffer.subarray(0, BLOCK_HEAD_BYTES + this.#count * this.#counterBytes);
    block.writeUInt32LE(this.#count, 0);
    block.writeUInt32LE(crc32(block.subarray(BLOCK_HEAD_BYTES)), 4);
    this.#count = 0;
    return block;
  }
}
