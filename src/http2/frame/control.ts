import type { ByteWriter } from '../../base/bytes.ts';
import {
  connectionFault,
  ERROR,
  type ErrorCode,
  type Http2Fault,
  protocolFault,
  sizeFault,
  streamFault,
} from '../faults.ts';
import {
  DEFAULT_MAX_FRAME_BYTES,
  FLAG,
  FRAME,
  LARGEST_MAX_FRAME_BYTES,
  type Range,
  readUint31,
  readUint32,
  writeFrameHeader,
  writeUint32,
} from './frame.ts';

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

const WRONG_SETTINGS_SIZE = sizeFault('SETTINGS frame whose length is not a multiple of 6 (RFC 9113, 6.5)');
const ACK_WITH_PAYLOAD = sizeFault('SETTINGS acknowledgment with a payload (RFC 9113, 6.5)');
const BAD_PUSH = protocolFault('SETTINGS_ENABLE_PUSH is neither 0 nor 1 (RFC 9113, 6.5.2)');
const BAD_WINDOW = connectionFault(
  ERROR.flowControlError,
  'SETTINGS_INITIAL_WINDOW_SIZE above 2^31 - 1 (RFC 9113, 6.5.2)',
);
const BAD_FRAME_SIZE = protocolFault(
  'SETTINGS_MAX_FRAME_SIZE below 2^14 or above 2^24 - 1 (RFC 9113, 6.5.2)',
);

/**
 * Checks a SETTINGS frame and calls `each` for every parameter in order, including unknown ones. On a fault, `each` has
 * already received the parameters before the invalid one; the connection ends anyway.
 */
export function readSettings(
  bytes: Uint8Array,
  range: Readonly<Range>,
  flags: number,
  each: (parameter: number, value: number) => void,
): Http2Fault | null {
  const { start, end } = range;
  if ((flags & FLAG.ack) !== 0) return start === end ? null : ACK_WITH_PAYLOAD;
  if ((end - start) % SETTING_BYTES !== 0) return WRONG_SETTINGS_SIZE;
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

/** Appends SETTINGS with the given parameters and values. */
export function writeSettings(to: ByteWriter, settings: readonly (readonly [number, number])[]): void {
  writeFrameHeader(to, settings.length * SETTING_BYTES, FRAME.settings, 0, 0);
  for (const [parameter, value] of settings) {
    to.byte(parameter >>> 8);
    to.byte(parameter & 0xff);
    writeUint32(to, value);
  }
}

/** Appends the acknowledgment of the peer's SETTINGS. */
export function writeSettingsAck(to: ByteWriter): void {
  writeFrameHeader(to, 0, FRAME.settings, FLAG.ack, 0);
}

/** Octets of opaque data in a PING. */
export const PING_BYTES = 8;

const WRONG_PING_SIZE = sizeFault('PING frame whose length is not 8 (RFC 9113, 6.7)');

export function checkPing(start: number, end: number): Http2Fault | null {
  return end - start === PING_BYTES ? null : WRONG_PING_SIZE;
}

/** Appends a PING or its acknowledgment, with the opaque data at `bytes[start]`. */
export function writePing(to: ByteWriter, kind: 'request' | 'ack', bytes: Uint8Array, start: number): void {
  writeFrameHeader(to, PING_BYTES, FRAME.ping, kind === 'ack' ? FLAG.ack : 0, 0);
  to.copy(bytes, start, start + PING_BYTES);
}

/** The last stream id of a GOAWAY that starts a graceful shutdown (RFC 9113, 6.8). */
export const LAST_STREAM_OPEN = 0x7fff_ffff;

/** Longer debug texts are truncated. */
const MAX_DEBUG_CHARACTERS = 200;

const GOAWAY_TOO_SHORT = sizeFault('GOAWAY frame shorter than 8 octets (RFC 9113, 6.8)');

export function checkGoAway(start: number, end: number): Http2Fault | null {
  return end - start >= 8 ? null : GOAWAY_TOO_SHORT;
}

export function writeGoAway(to: ByteWriter, lastStream: number, code: ErrorCode, debug: string): void {
  const text = Buffer.from(debug.slice(0, MAX_DEBUG_CHARACTERS));
  writeFrameHeader(to, 8 + text.length, FRAME.goAway, 0, 0);
  writeUint32(to, lastStream);
  writeUint32(to, code);
  to.copy(text, 0, text.length);
}

const WRONG_RST_STREAM_SIZE = sizeFault('RST_STREAM frame whose length is not 4 (RFC 9113, 6.4)');

export function checkRstStream(start: number, end: number): Http2Fault | null {
  return end - start === 4 ? null : WRONG_RST_STREAM_SIZE;
}

export function writeRstStream(to: ByteWriter, stream: number, code: ErrorCode): void {
  writeFrameHeader(to, 4, FRAME.rstStream, 0, stream);
  writeUint32(to, code);
}

const WRONG_WINDOW_UPDATE_SIZE = sizeFault('WINDOW_UPDATE frame whose length is not 4 (RFC 9113, 6.9)');
const ZERO_ON_CONNECTION = protocolFault('WINDOW_UPDATE with an increment of 0 (RFC 9113, 6.9)');
const ZERO_ON_STREAM = streamFault(
  ERROR.protocolError,
  'WINDOW_UPDATE with an increment of 0 (RFC 9113, 6.9)',
);

/** Checks length and increment of a WINDOW_UPDATE frame. */
export function checkWindowUpdate(
  bytes: Uint8Array,
  start: number,
  end: number,
  stream: number,
): Http2Fault | null {
  if (end - start !== 4) return WRONG_WINDOW_UPDATE_SIZE;
  if (readUint31(bytes, start) !== 0) return null;
  return stream === 0 ? ZERO_ON_CONNECTION : ZERO_ON_STREAM;
}

/** Appends a WINDOW_UPDATE for a stream, or for the connection with stream 0. */
export function writeWindowUpdate(to: ByteWriter, stream: number, increment: number): void {
  writeFrameHeader(to, 4, FRAME.windowUpdate, 0, stream);
  writeUint32(to, increment);
}
