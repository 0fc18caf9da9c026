/*
 * Frames as a client writes them (RFC 9113, 6), free of the code under test, and able to break any rule.
 */

export const TYPE = {
  data: 0x0,
  headers: 0x1,
  priority: 0x2,
  rstStream: 0x3,
  settings: 0x4,
  pushPromise: 0x5,
  ping: 0x6,
  goAway: 0x7,
  windowUpdate: 0x8,
  continuation: 0x9,
} as const;

export const FLAGS = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

/** Identifiers of SETTINGS parameters. */
export const PARAMETER = { headerTableSize: 1, initialWindowSize: 4, maxFrameSize: 5 } as const;

export const ERRORS = {
  noError: 0x0,
  protocolError: 0x1,
  flowControlError: 0x3,
  settingsTimeout: 0x4,
  streamClosed: 0x5,
  refusedStream: 0x7,
  cancel: 0x8,
  compressionError: 0x9,
  enhanceYourCalm: 0xb,
} as const;

export const CLIENT_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

const NOTHING = Buffer.alloc(0);

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export function frame(type: number, flags: number, stream: number, payload: Uint8Array = NOTHING): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

/** 32 bits, the most significant octet first. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function settings(...parameters: readonly (readonly [number, number])[]): Buffer {
  const payload = Buffer.alloc(parameters.length * 6);
  for (const [i, [parameter, value]] of parameters.entries()) {
    payload.writeUInt16BE(parameter, i * 6);
    payload.writeUInt32BE(value, i * 6 + 2);
  }
  return frame(TYPE.settings, 0, 0, payload);
}

export const settingsAck = frame(TYPE.settings, FLAGS.ack, 0);

export function ping(text = 'ping....'): Buffer {
  return frame(TYPE.ping, 0, 0, Buffer.from(text));
}

export function pingAck(payload: Uint8Array): Buffer {
  return frame(TYPE.ping, FLAGS.ack, 0, payload);
}

export function rstStream(stream: number, code: number = ERRORS.cancel): Buffer {
  return frame(TYPE.rstStream, 0, stream, uint32(code));
}

export function windowUpdate(stream: number, increment: number): Buffer {
  return frame(TYPE.windowUpdate, 0, stream, uint32(increment));
}

export function priority(stream: number, dependency = 0): Buffer {
  return frame(TYPE.priority, 0, stream, Buffer.concat([uint32(dependency), Buffer.from([15])]));
}

export function headers(stream: number, block: Uint8Array, flags: number = FLAGS.endHeaders): Buffer {
  return frame(TYPE.headers, flags, stream, block);
}

export function continuation(stream: number, block: Uint8Array, flags = 0): Buffer {
  return frame(TYPE.continuation, flags, stream, block);
}

export function data(stream: number, payload: Uint8Array = NOTHING, flags = 0): Buffer {
  return frame(TYPE.data, flags, stream, payload);
}

export type Fields = readonly (readonly [name: string, value: string])[];

/** A field block of literals that are not indexed and not Huffman-coded (RFC 7541, 6.2.2): long, but plain. */
export function fieldBlock(fields: Fields): Buffer {
  const parts = fields.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]);
  return Buffer.concat(parts);
}

/** A string that is not Huffman coded (RFC 7541, 5.2). */
export function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([prefixedInteger(bytes.length, 7, 0), bytes]);
}

/** An integer with a prefix of so many bits behind `pattern` (RFC 7541, 5.1). */
export function prefixedInteger(value: number, prefix: number, pattern: number): Buffer {
  const max = 2 ** prefix - 1;
  if (value < max) return Buffer.from([pattern | value]);
  const octets = [pattern | max];
  let rest = value - max;
  for (; rest > 127; rest = Math.floor(rest / 128)) octets.push((rest % 128) | 128);
  octets.push(rest);
  return Buffer.from(octets);
}

/** What every gRPC request says; fields of the same name are replaced, those of an empty value left out. */
export function grpcFields(path: string, other: Readonly<Record<string, string>> = {}): Fields {
  const fields = {
    ':method': 'POST',
    ':scheme': 'http',
    ':path': path,
    ':authority': 'localhost',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...other,
  };
  return Object.entries(fields).filter(([, value]) => value !== '');
}

/** A message with its prefix ("gRPC over HTTP2", Length-Prefixed-Message). */
export function grpcMessage(message: Uint8Array | string = NOTHING, flag = 0): Buffer {
  const bytes = Buffer.from(message);
  return Buffer.concat([Buffer.from([flag]), uint32(bytes.length), bytes]);
}

/** A whole call: header section and message. */
export function grpcCall(stream: number, path: string, message: Uint8Array | string = NOTHING): Buffer {
  return Buffer.concat([
    headers(stream, fieldBlock(grpcFields(path))),
    data(stream, grpcMessage(message), FLAGS.endStream),
  ]);
}

/** Cuts a byte stream into frames. */
export class FrameReader {
  #rest = NOTHING;

  /** The frames that are complete with this chunk. */
  read(chunk: Uint8Array): Frame[] {
    const bytes = Buffer.concat([this.#rest, chunk]);
    const frames: Frame[] = [];
    let at = 0;
    while (bytes.length - at >= 9) {
      const end = at + 9 + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      const stream = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
      frames.push({
        type: bytes[at + 3],
        flags: bytes[at + 4],
        stream,
        payload: bytes.subarray(at + 9, end),
      });
      at = end;
    }
    this.#rest = Buffer.from(bytes.subarray(at));
    return frames;
  }
}
