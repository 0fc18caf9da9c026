import type { ByteWriter } from '../../base/bytes.ts';
import { ERROR, type ErrorCode } from '../error-code.ts';
import { connectionFault, type Http2Fault } from '../fault.ts';
import { FRAME, writeFrameHeader, writeUint32 } from './frame.ts';

const WRONG_SIZE = connectionFault(
  ERROR.frameSizeError,
  'RST_STREAM of another length than 4 (RFC 9113, 6.4)',
);

export function checkRstStream(start: number, end: number): Http2Fault | null {
  return end - start === 4 ? null : WRONG_SIZE;
}

export function writeRstStream(to: ByteWriter, stream: number, code: ErrorCode): void {
  writeFrameHeader(to, 4, FRAME.rstStream, 0, stream);
  writeUint32(to, code);
}
