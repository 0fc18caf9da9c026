import type { ByteWriter } from '../../base/bytes.ts';
import { ERROR } from '../error-code.ts';
import { connectionFault, type Http2Fault } from '../fault.ts';
import { FLAG, FRAME, writeFrameHeader } from './frame.ts';

/** Octets of opaque data in a PING. */
export const PING_BYTES = 8;

const WRONG_SIZE = connectionFault(ERROR.frameSizeError, 'PING of another length than 8 (RFC 9113, 6.7)');

export function checkPing(start: number, end: number): Http2Fault | null {
  return end - start === PING_BYTES ? null : WRONG_SIZE;
}

/** Appends a PING with the opaque data at `bytes[start]`, or the answer to one. */
export function writePing(to: ByteWriter, kind: 'request' | 'ack', bytes: Uint8Array, start: number): void {
  writeFrameHeader(to, PING_BYTES, FRAME.ping, kind === 'ack' ? FLAG.ack : 0, 0);
  to.copy(bytes, start, start + PING_BYTES);
}
