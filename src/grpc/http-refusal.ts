import type { Http2Connection } from '../http2/connection/http2-connection.ts';
import { preencode } from '../http2/hpack/encoder.ts';
import type { Http2Stream } from '../http2/streams/stream.ts';
import { type Field, statusFields } from './blocks.ts';
import { Call, type CallContext } from './calls.ts';
import type { ContentReader, MessageFault } from './message-reader.ts';
import { GRPC_STATUS } from './service.ts';

/** What goes with an HTTP status: the allowed methods must be named (RFC 9110, 15.5.6), the media types may (12.5.1). */
const ALLOWED = {
  405: ['allow', 'POST'],
  415: ['accept', 'application/grpc'],
} as const satisfies Record<number, Field>;

const PLAIN_TEXT: Field = ['content-type', 'text/plain; charset=utf-8'];

const NO_TEXT = new Uint8Array(0);

/** An answer to what is no gRPC call. */
export interface HttpRefusal {
  readonly head: Uint8Array;
  /** For people. Empty in answers to HEAD, which are nothing but their head. */
  readonly text: Uint8Array;
  readonly trailers: Uint8Array;
}

/**
 * The answer to a request of this method: an HTTP status, and the reason as text and for those who read header fields.
 * The gRPC status is what clients make of such an HTTP status anyway.
 */
export function httpRefusal(httpStatus: keyof typeof ALLOWED, method: string, message: string): HttpRefusal {
  const head: Field[] = [[':status', String(httpStatus)], ALLOWED[httpStatus], PLAIN_TEXT];
  const status = statusFields(GRPC_STATUS.unknown, message);
  // RFC 9110, 9.3.2.
  if (method === 'HEAD') return { head: preencode([...head, ...status]), text: NO_TEXT, trailers: NO_TEXT };
  return { head: preencode(head), text: Buffer.from(`${message}\n`), trailers: preencode(status) };
}

/** Answers a stream with it. */
export function sendHttpRefusal(
  connection: Http2Connection,
  stream: Http2Stream,
  { head, text, trailers }: HttpRefusal,
): void {
  if (text.length === 0) {
    connection.end(stream, head);
    return;
  }
  connection.sendHead(stream, head);
  connection.sendData(stream, text, 0, text.length);
  connection.end(stream, trailers);
}

/** Content that is waited for before a request is refused; with more of it the answer comes early. */
const MAX_SKIPPED_BYTES = 65_536;

const NOTHING = new Uint8Array(0);

/**
 * A request that is no gRPC call. Its answer waits for its end, because most clients of HTTP send all of a request
 * before they look at an answer, and because faults in the rest of it come first. Meanwhile it is bounded like any
 * other request that is unfinished: in its time, and in what it counts as of what they may hold.
 */
export class RefusedRequest extends Call {
  readonly #refusal: HttpRefusal;

  constructor(stream: Http2Stream, path: string, context: CallContext, refusal: HttpRefusal) {
    super(stream, path, context);
    this.#refusal = refusal;
    this.reader = new SkippedContent();
  }

  run(): void {
    this.#answer();
  }

  fail(): void {
    this.#answer();
  }

  override refuse(): void {
    this.#answer();
  }

  #answer(): void {
    if (this.done) return;
    this.close();
    sendHttpRefusal(this.context.connection, this.stream, this.#refusal);
    this.context.wrote();
  }
}

/** Counts content, and keeps nothing of it. */
class SkippedContent implements ContentReader {
  readonly missing = 0;
  #bytes = 0;

  append(_bytes: Uint8Array, start: number, end: number): MessageFault | null {
    this.#bytes += end - start;
    return this.#bytes > MAX_SKIPPED_BYTES ? 'too large' : null;
  }

  finish(): Uint8Array {
    return NOTHING;
  }

  dispose(): void {}
}
