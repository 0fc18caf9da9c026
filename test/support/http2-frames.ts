import { FLAGS, frame, headers, TYPE, uint32 } from './wire-frames.ts';

/*
 * Frames of a client that have more parts than those in wire-frames.ts. Like them they are written against RFC 9113
 * alone, as what the server reads and writes is checked against them.
 */

/** Error codes by their number (RFC 9113, 7). */
export const CODES = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
] as const;
export type CodeName = (typeof CODES)[number];

/** Parameters of SETTINGS by their number (RFC 9113, 6.5.2); there is none with number 0. */
export const SETTINGS = [
  '',
  'HEADER_TABLE_SIZE',
  'ENABLE_PUSH',
  'MAX_CONCURRENT_STREAMS',
  'INITIAL_WINDOW_SIZE',
  'MAX_FRAME_SIZE',
  'MAX_HEADER_LIST_SIZE',
] as const;

export const END_HEADERS = FLAGS.endHeaders;
export const END_STREAM = FLAGS.endStream;
/** The flags of a request that is nothing but its head. */
export const END_BOTH = FLAGS.endHeaders | FLAGS.endStream;

/** DATA with `padding` octets of padding. */
export function paddedData(stream: number, content: string, padding: number, flags = 0): Buffer {
  return frame(TYPE.data, flags | FLAGS.padded, stream, padded(Buffer.from(content), padding));
}

/** HEADERS with `padding` octets of padding. */
export function paddedHeaders(
  stream: number,
  block: Uint8Array,
  padding: number,
  flags: number = END_HEADERS,
): Buffer {
  return headers(stream, padded(block, padding), flags | FLAGS.padded);
}

/** HEADERS that say which stream theirs depends on. */
export function headersWithPriority(
  stream: number,
  block: Uint8Array,
  dependency: number,
  flags: number = END_HEADERS,
): Buffer {
  const priority = Buffer.concat([uint32(dependency), Buffer.of(15)]);
  return headers(stream, Buffer.concat([priority, block]), flags | FLAGS.priority);
}

export function pushPromise(stream: number, promised: number, block: Uint8Array): Buffer {
  return frame(TYPE.pushPromise, END_HEADERS, stream, Buffer.concat([uint32(promised), block]));
}

export function goAway(lastStream: number, code: CodeName | number, debug = ''): Buffer {
  const number = typeof code === 'number' ? code : CODES.indexOf(code);
  return frame(TYPE.goAway, 0, 0, Buffer.concat([uint32(lastStream), uint32(number), Buffer.from(debug)]));
}

function padded(content: Uint8Array, padding: number): Buffer {
  return Buffer.concat([Buffer.of(padding), content, Buffer.alloc(padding)]);
}
