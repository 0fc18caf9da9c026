import type { ByteWriter } from '../../base/bytes.ts';
import { type Http2Fault, protocolFault, sizeFault } from '../faults.ts';

/** Octets of a frame header (RFC 9113, 4.1). */
export const FRAME_HEADER_BYTES = 9;

/** The initial value of SETTINGS_MAX_FRAME_SIZE and its upper bound (RFC 9113, 6.5.2). */
export const DEFAULT_MAX_FRAME_BYTES = 16_384;
export const LARGEST_MAX_FRAME_BYTES = 16_777_215;

/** Frame types (RFC 9113, 6). */
export const FRAME = {
  data: 0x0,
  headers: 0x1,
  priority: 0x2,
  rstStream: 0x3,
  settings: 0x4,
  pushPromise: 0x5,
  ping: 0x6,
  goAway: 0x7,
  windowUpdate: 0x8,
  continuation: 0x9,
} as const;

/** Flags; END_STREAM and ACK are the same bit on different frames. */
export const FLAG = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

/** Appends a frame header. */
export function writeFrameHeader(
  to: ByteWriter,
  length: number,
  type: number,
  flags: number,
  stream: number,
): void {
  to.reserve(FRAME_HEADER_BYTES);
  const bytes = to.bytes;
  const at = to.length;
  bytes[at] = length >>> 16;
  bytes[at + 1] = length >>> 8;
  bytes[at + 2] = length;
  bytes[at + 3] = type;
  bytes[at + 4] = flags;
  bytes[at + 5] = stream >>> 24;
  bytes[at + 6] = stream >>> 16;
  bytes[at + 7] = stream >>> 8;
  bytes[at + 8] = stream;
  to.length = at + FRAME_HEADER_BYTES;
}

/** The payload length of the frame whose header begins at `at`. */
export function frameLength(bytes: Uint8Array, at: number): number {
  return (bytes[at] << 16) | (bytes[at + 1] << 8) | bytes[at + 2];
}

/** Reads 31 bits and ignores the reserved bit before them. */
export function readUint31(bytes: Uint8Array, at: number): number {
  return ((bytes[at] & 0x7f) << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
}

/** Reads 32 bits. */
export function readUint32(bytes: Uint8Array, at: number): number {
  return ((bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]) >>> 0;
}

/** Appends 32 bits. */
export function writeUint32(to: ByteWriter, value: number): void {
  to.reserve(4);
  const bytes = to.bytes;
  const at = to.length;
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
  to.length = at + 4;
}

/** A part of a buffer. Mutable and reused, so that handling a frame allocates nothing. */
export interface Range {
  start: number;
  end: number;
}

const FIELDS_CUT = sizeFault('padded frame too short for its fields (RFC 9113, 4.2, 6.1 and 6.2)');
const PADDING_TOO_LONG = protocolFault('padding longer than the rest of the payload (RFC 9113, 6.1 and 6.2)');

/**
 * Narrows the range of a DATA or HEADERS payload to the octets between the pad length and the padding.
 *
 * @param fieldBytes octets of fixed fields after the pad length, which padding must not cover
 */
export function stripPadding(
  bytes: Uint8Array,
  flags: number,
  range: Range,
  fieldBytes: number,
): Http2Fault | null {
  if ((flags & FLAG.padded) === 0) return null;
  if (range.end - range.start < 1 + fieldBytes) return FIELDS_CUT;
  const padding = bytes[range.start++];
  if (padding > range.end - range.start - fieldBytes) return PADDING_TOO_LONG;
  range.end -= padding;
  return null;
}
