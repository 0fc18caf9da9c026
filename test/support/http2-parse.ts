import { HpackDecoder } from '../../src/http2/hpack/decoder.ts';
import { CODES, type CodeName, SETTINGS } from './http2-frames.ts';
import { FLAGS, type Frame, FrameReader, TYPE } from './wire-frames.ts';

/** A frame that a server sent, as a test wants to read it. HEADERS holds its CONTINUATION frames. */
export type ServerFrame =
  | { readonly type: 'DATA'; readonly stream: number; readonly content: string; readonly endStream: boolean }
  | {
      readonly type: 'HEADERS';
      readonly stream: number;
      readonly fields: Readonly<Record<string, string>>;
      readonly endStream: boolean;
    }
  | { readonly type: 'RST_STREAM'; readonly stream: number; readonly code: CodeName }
  | { readonly type: 'SETTINGS'; readonly ack: boolean; readonly settings: Readonly<Record<string, number>> }
  | { readonly type: 'PING'; readonly ack: boolean; readonly opaque: string }
  | { readonly type: 'GOAWAY'; readonly lastStream: number; readonly code: CodeName; readonly debug: string }
  | { readonly type: 'WINDOW_UPDATE'; readonly stream: number; readonly increment: number };

/** Content up to this length is shown as it is. */
const SHOWN_CONTENT = 40;

/** A frame in one line, such as `GOAWAY 3 PROTOCOL_ERROR` or `DATA 1 "abc" END_STREAM`. */
export function inWords(frame: ServerFrame): string {
  const ending = 'endStream' in frame && frame.endStream ? ' END_STREAM' : '';
  switch (frame.type) {
    case 'DATA': {
      const { content } = frame;
      const shown = content.length > SHOWN_CONTENT ? `${content.length} octets` : JSON.stringify(content);
      return `DATA ${frame.stream} ${shown}${ending}`;
    }
    case 'HEADERS': {
      const status = [frame.fields[':status'], frame.fields['grpc-status']].map(value => value ?? '-');
      return `HEADERS ${frame.stream} ${status.join('/')}${ending}`;
    }
    case 'RST_STREAM':
      return `RST_STREAM ${frame.stream} ${frame.code}`;
    case 'SETTINGS':
      return frame.ack ? 'SETTINGS ack' : `SETTINGS ${JSON.stringify(frame.settings)}`;
    case 'PING':
      return `PING ${frame.ack ? 'ack ' : ''}${frame.opaque}`;
    case 'GOAWAY':
      return `GOAWAY ${frame.lastStream} ${frame.code}`;
    case 'WINDOW_UPDATE':
      return `WINDOW_UPDATE ${frame.stream} +${frame.increment}`;
  }
}

/**
 * Reads what a server sends, in pieces of any size. Throws where it breaks a rule that every receiver relies on: frames
 * above 16,384 octets, flags that the type does not have, a header section that is interrupted.
 */
export class ServerFrames {
  readonly #reader = new FrameReader();
  readonly #hpack = new HpackDecoder({ maxListBytes: 65_536, maxFields: 100 });
  /** The parts of a header section whose end is to come. */
  #section: Frame[] = [];
  /** Field blocks as they came, for those who look at their octets. */
  readonly blocks: Buffer[] = [];

  /** The frames that `chunk` completes. */
  push(chunk: Uint8Array): ServerFrame[] {
    return this.#reader.read(chunk).flatMap(frame => this.#read(frame));
  }

  #read(frame: Frame): ServerFrame[] {
    const { type, flags, stream, payload } = frame;
    if (payload.length > 16_384) throw new Error(`the server sent a frame of ${payload.length} octets`);
    if ((flags & ~(ALLOWED_FLAGS[type] ?? 0)) !== 0)
      throw new Error(`the server sent a frame of type ${type} with the flags ${flags}`);
    if (type === TYPE.headers || type === TYPE.continuation) return this.#readSection(frame);
    if (this.#section.length > 0) throw new Error('the server interrupted a header section');
    const ack = (flags & FLAGS.ack) !== 0;
    switch (type) {
      case TYPE.data:
        return [
          {
            type: 'DATA',
            stream,
            content: payload.toString('latin1'),
            endStream: (flags & FLAGS.endStream) !== 0,
          },
        ];
      case TYPE.rstStream:
        return [{ type: 'RST_STREAM', stream, code: CODES[payload.readUInt32BE(0)] }];
      case TYPE.settings:
        return [{ type: 'SETTINGS', ack, settings: readSettings(payload) }];
      case TYPE.ping:
        return [{ type: 'PING', ack, opaque: payload.toString('latin1') }];
      case TYPE.goAway:
        return [readGoAway(payload)];
      case TYPE.windowUpdate:
        return [{ type: 'WINDOW_UPDATE', stream, increment: payload.readUInt32BE(0) }];
      default:
        throw new Error(`the server sent a frame of type ${type}`);
    }
  }

  #readSection(frame: Frame): ServerFrame[] {
    const begins = frame.type === TYPE.headers;
    const [first = frame] = this.#section;
    if (begins !== (this.#section.length === 0) || first.stream !== frame.stream)
      throw new Error('the server broke the order of HEADERS and CONTINUATION');
    this.#section.push(frame);
    if ((frame.flags & FLAGS.endHeaders) === 0) return [];
    const block = Buffer.concat(this.#section.map(({ payload }) => payload));
    this.#section = [];
    this.blocks.push(block);
    const { names, values } = this.#hpack.decode(block, 0, block.length);
    const fields = Object.fromEntries(names.map((name, index) => [name, values[index]]));
    return [
      { type: 'HEADERS', stream: frame.stream, fields, endStream: (first.flags & FLAGS.endStream) !== 0 },
    ];
  }
}

/** The flags that a server may set on the frames of each type. */
const ALLOWED_FLAGS: Readonly<Record<number, number>> = {
  [TYPE.data]: FLAGS.endStream,
  [TYPE.headers]: FLAGS.endStream | FLAGS.endHeaders,
  [TYPE.continuation]: FLAGS.endHeaders,
  [TYPE.settings]: FLAGS.ack,
  [TYPE.ping]: FLAGS.ack,
};

function readGoAway(payload: Buffer): ServerFrame {
  const [lastStream, code] = [payload.readUInt32BE(0), payload.readUInt32BE(4)];
  return { type: 'GOAWAY', lastStream, code: CODES[code], debug: payload.toString('utf8', 8) };
}

function readSettings(payload: Buffer): Record<string, number> {
  const settings: Record<string, number> = {};
  for (let at = 0; at < payload.length; at += 6)
    settings[SETTINGS[payload.readUInt16BE(at)]] = payload.readUInt32BE(at + 2);
  return settings;
}
