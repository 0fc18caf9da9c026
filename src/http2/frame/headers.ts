import type { ByteWriter } from '../../base/bytes.ts';
import { ERROR, type Http2Fault, sizeFault, streamFault } from '../faults.ts';
import { FLAG, FRAME, type Range, readUint31, stripPadding, writeFrameHeader } from './frame.ts';

/** Octets of the priority fields in HEADERS and PRIORITY (RFC 9113, 6.2 and 6.3). */
const PRIORITY_BYTES = 5;

const PRIORITY_CUT = sizeFault('HEADERS too short for its priority fields (RFC 9113, 6.2)');

const WRONG_PRIORITY_SIZE = streamFault(
  ERROR.frameSizeError,
  'PRIORITY frame whose length is not 5 (RFC 9113, 6.3)',
);

/** RFC 9113 deprecates priorities but keeps their format, so this rule of RFC 7540 still applies. */
const DEPENDS_ON_ITSELF = streamFault(ERROR.protocolError, 'stream depends on itself (RFC 7540, 5.3.1)');

/**
 * Narrows the range of a HEADERS payload to the field block fragment. The priority fields are checked and skipped. The
 * range is narrowed even if a stream fault is returned, because the field block has to be decoded in any case.
 */
export function readHeaders(
  bytes: Uint8Array,
  flags: number,
  stream: number,
  range: Range,
): Http2Fault | null {
  if ((flags & FLAG.priority) === 0) return stripPadding(bytes, flags, range, 0);
  const fault = stripPadding(bytes, flags, range, PRIORITY_BYTES);
  if (fault !== null) return fault;
  if (range.end - range.start < PRIORITY_BYTES) return PRIORITY_CUT;
  const dependency = readUint31(bytes, range.start);
  range.start += PRIORITY_BYTES;
  return dependency === stream ? DEPENDS_ON_ITSELF : null;
}

/** Checks a PRIORITY frame. Its content is deprecated and has no effect. */
export function checkPriority(
  bytes: Uint8Array,
  start: number,
  end: number,
  stream: number,
): Http2Fault | null {
  if (end - start !== PRIORITY_BYTES) return WRONG_PRIORITY_SIZE;
  return readUint31(bytes, start) === stream ? DEPENDS_ON_ITSELF : null;
}

/** Appends a field block as HEADERS, followed by CONTINUATION if it exceeds `maxFrameBytes` (RFC 9113, 6.2, 6.10). */
export function writeHeaders(
  to: ByteWriter,
  stream: number,
  block: Uint8Array,
  options: { readonly endStream: boolean; readonly maxFrameBytes: number },
): void {
  const { endStream, maxFrameBytes } = options;
  const ending = endStream ? FLAG.endStream : 0;
  if (block.length <= maxFrameBytes) {
    writeFrameHeader(to, block.length, FRAME.headers, FLAG.endHeaders | ending, stream);
    to.copy(block, 0, block.length);
    return;
  }
  for (let at = 0; at < block.length; at += maxFrameBytes) {
    const end = Math.min(at + maxFrameBytes, block.length);
    const type = at === 0 ? FRAME.headers : FRAME.continuation;
    const flags = (at === 0 ? ending : 0) | (end === block.length ? FLAG.endHeaders : 0);
    writeFrameHeader(to, end - at, type, flags, stream);
    to.copy(block, at, end);
  }
}
