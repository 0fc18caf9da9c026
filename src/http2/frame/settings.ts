import type { ByteWriter } from '../../base/bytes.ts';
import { ERROR } from '../error-code.ts';
import { connectionFault, type Http2Fault } from '../fault.ts';
import {
  DEFAULT_MAX_FRAME_BYTES,
  FLAG,
  FRAME,
  LARGEST_MAX_FRAME_BYTES,
  readUint32,
  writeFrameHeader,
  writeUint32,
} from './frame.ts';
import type { Range } from './payload.ts';

/** Parameters (RFC 9113, 6.5.2). */
export const SETTING = {
  headerTableSize: 0x1,
  enablePush: 0x2,
  maxConcurrentStreams: 0x3,
  initialWindowSize: 0x4,
  maxFrameSize: 0x5,
  maxHeaderListSize: 0x6,
} as const;

/** Octets of one parameter. */
const SETTING_BYTES = 6;

/** The largest flow-control window (RFC 9113, 6.9.1). */
export const LARGEST_WINDOW = 0x7fff_ffff;

const WRONG_SIZE = connectionFault(
  ERROR.frameSizeError,
  'SETTINGS of a length that is no multiple of 6 (RFC 9113, 6.5)',
);
const ACK_WITH_PAYLOAD = connectionFault(ERROR.frameSizeError, 'SETTINGS ACK with a payload (RFC 9113, 6.5)');
const BAD_PUSH = connectionFault(
  ERROR.protocolError,
  'SETTINGS_ENABLE_PUSH other than 0 and 1 (RFC 9113, 6.5.2)',
);
const BAD_WINDOW = connectionFault(
  ERROR.flowControlError,
  'SETTINGS_INITIAL_WINDOW_SIZE above 2^31 - 1 (RFC 9113, 6.5.2)',
);
const BAD_FRAME_SIZE = connectionFault(
  ERROR.protocolError,
  'SETTINGS_MAX_FRAME_SIZE below 2^14 or above 2^24 - 1 (RFC 9113, 6.5.2)',
);

/**
 * Checks the frame and calls `each` for every parameter in order, known or not. Those before a bad one have been given
 * to `each`; the connection is over then.
 */
export function readSettings(
  bytes: Uint8Array,
  range: Readonly<Range>,
  flags: number,
  each: (parameter: number, value: number) => void,
): Http2Fault | null {
  const { start, end } = range;
  if ((flags & FLAG.ack) !== 0) return start === end ? null : ACK_WITH_PAYLOAD;
  if ((end - start) % SETTING_BYTES !== 0) return WRONG_SIZE;
  for (let at = start; at < end; at += SETTING_BYTES) {
    const parameter = (bytes[at] << 8) | bytes[at + 1];
    const value = readUint32(bytes, at + 2);
    const fault = checkSetting(parameter, value);
    if (fault !== null) return fault;
    each(parameter, value);
  }
  return null;
}

function checkSetting(parameter: number, value: number): Http2Fault | null {
  if (parameter === SETTING.enablePush) return value > 1 ? BAD_PUSH : null;
  if (parameter === SETTING.initialWindowSize) return value > LARGEST_WINDOW ? BAD_WINDOW : null;
  if (parameter === SETTING.maxFrameSize) {
    return value < DEFAULT_MAX_FRAME_BYTES || value > LARGEST_MAX_FRAME_BYTES ? BAD_FRAME_SIZE : null;
  }
  return null;
}

/** Appends our parameters as pairs of name and value. */
export function writeSettings(to: ByteWriter, settings: readonly (readonly [number, number])[]): void {
  writeFrameHeader(to, settings.length * SETTING_BYTES, FRAME.settings, 0, 0);
  for (const [parameter, value] of settings) {
    to.byte(parameter >>> 8);
    to.byte(parameter & 0xff);
    writeUint32(to, value);
  }
}

/** Tells the peer that its parameters hold from here on. */
export function writeSettingsAck(to: ByteWriter): void {
  writeFrameHeader(to, 0, FRAME.settings, FLAG.ack, 0);
}
