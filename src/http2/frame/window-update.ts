import type { ByteWriter } from '../../base/bytes.ts';
import { ERROR } from '../error-code.ts';
import { connectionFault, type Http2Fault, streamFault } from '../fault.ts';
import { FRAME, readUint31, writeFrameHeader, writeUint32 } from './frame.ts';

const WRONG_SIZE = connectionFault(
  ERROR.frameSizeError,
  'WINDOW_UPDATE of another length than 4 (RFC 9113, 6.9)',
);
const ZERO_ON_CONNECTION = connectionFault(ERROR.protocolError, 'WINDOW_UPDATE by 0 (RFC 9113, 6.9)');
const ZERO_ON_STREAM = streamFault(ERROR.protocolError, 'WINDOW_UPDATE by 0 (RFC 9113, 6.9)');

/** What is wrong with a WINDOW_UPDATE; null when its increment can be read. */
export function checkWindowUpdate(
  bytes: Uint8Array,
  start: number,
  end: number,
  stream: number,
): Http2Fault | null {
  if (end - start !== 4) return WRONG_SIZE;
  if (readUint31(bytes, start) !== 0) return null;
  return stream === 0 ? ZERO_ON_CONNECTION : ZERO_ON_STREAM;
}

/** Appends a WINDOW_UPDATE for a stream, or for the connection with stream 0. */
export function writeWindowUpdate(to: ByteWriter, stream: number, increment: number): void {
  writeFrameHeader(to, 4, FRAME.windowUpdate, 0, stream);
  writeUint32(to, increment);
}
