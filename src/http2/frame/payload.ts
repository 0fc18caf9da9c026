import { ERROR } from '../error-code.ts';
import { connectionFault, type Http2Fault } from '../fault.ts';
import { FLAG } from './frame.ts';

/** Part of a buffer. Reused, so that a frame allocates nothing. */
export interface Range {
  start: number;
  end: number;
}

const FIELDS_CUT = connectionFault(
  ERROR.frameSizeError,
  'padded frame without room for its fields (RFC 9113, 4.2, 6.1 and 6.2)',
);
const PADDING_TOO_LONG = connectionFault(
  ERROR.protocolError,
  'padding longer than what it stands behind (RFC 9113, 6.1 and 6.2)',
);

/**
 * Narrows the range of a DATA or HEADERS payload to what stands before the padding and behind its length.
 *
 * @param fieldBytes octets of fields that come behind the pad length and are no place for padding
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
