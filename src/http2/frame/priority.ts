import { ERROR } from '../error-code.ts';
import { type Http2Fault, streamFault } from '../fault.ts';
import { readUint31 } from './frame.ts';
import { DEPENDS_ON_ITSELF } from './headers.ts';

const WRONG_SIZE = streamFault(ERROR.frameSizeError, 'PRIORITY of another length than 5 (RFC 9113, 6.3)');

/** Checks a PRIORITY frame; what it says is deprecated and has no effect. */
export function checkPriority(
  bytes: Uint8Array,
  start: number,
  end: number,
  stream: number,
): Http2Fault | null {
  if (end - start !== 5) return WRONG_SIZE;
  return readUint31(bytes, start) === stream ? DEPENDS_ON_ITSELF : null;
}
