import type { ByteWriter } from '../../base/bytes.ts';
import { ERROR, type ErrorCode } from '../error-code.ts';
import { connectionFault, type Http2Fault } from '../fault.ts';
import { FRAME, writeFrameHeader, writeUint32 } from './frame.ts';

/** Announces the end before it is known which streams it leaves out (RFC 9113, 6.8). */
export const LAST_STREAM_OPEN = 0x7fff_ffff;

/** More text than this helps nobody. */
const MAX_DEBUG_CHARACTERS = 200;

const TOO_SHORT = connectionFault(ERROR.frameSizeError, 'GOAWAY shorter than 8 (RFC 9113, 6.8)');

export function checkGoAway(start: number, end: number): Http2Fault | null {
  return end - start >= 8 ? null : TOO_SHORT;
}

export function writeGoAway(to: ByteWriter, lastStream: number, code: ErrorCode, debug: string): void {
  const text = Buffer.from(debug.slice(0, MAX_DEBUG_CHARACTERS));
  writeFrameHeader(to, 8 + text.length, FRAME.goAway, 0, 0);
  writeUint32(to, lastStream);
  writeUint32(to, code);
  to.copy(text, 0, text.length);
}
