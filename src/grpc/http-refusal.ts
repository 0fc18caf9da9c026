import type { Http2Connection } from '../http2/connection/http2-connection.ts';
import { preencode } from '../http2/hpack/encoder.ts';
import type { Http2Stream } from '../http2/streams/stream.ts';
import { type Field, statusFields } from './blocks.ts';
import { Call, type CallContext } from './calls.ts';
import type { ContentReader, MessageFault } from './message-reader.ts';
import { GRPC_STATUS } from './service.ts';

/**
 * The field that accompanies an HTTP status: Allow is required for 405 (RFC 9110, 15.5.6), Accept optional (12.5.1).
 */
const ALLOWED = {
  405: ['allow', 'POST'],
  415: ['accept', 'application/grpc'],
} as const satisfies Record<number, Field>;

const PLAIN_TEXT: Field = ['content-type', 'text/plain; charset=utf-8'];

const NO_BYTES = new Uint8Array(0);

/** The response to an HTTP request that is not a gRPC call. */
export interface HttpRefusal {
  readonly head: Uint8Array;
  /** The body, for people. Empty for HEAD, whose responses have no body. */
  readonly text: Uint8Array;
  readonly trailers: Uint8Array;
}

/**
 * Builds the response to a request with this method: an HTTP status, the reason as text, and the reason as gRPC status
 * for gRPC clients. The gRPC status is the one that clients derive from such an HTTP status.
 */
export function httpRefusal(httpStatus: keyof typeof ALLOWED, method: string, message: string): HttpRefusal {
  const head: Field[] = [[':status', String(httpStatus)], ALLOWED[httpStatus], PLAIN_TEXT];
  const status = statusFields(GRPC_STATUS.unknown, message);
  // Responses to HEAD have no body (RFC 9110, 9.3.2).
  if (method === 'HEAD') return { head: preencode([...head, ...status]), text: NO_BYTES, trailers: NO_BYTES };
  return { head: preencode(head), text: Buffer.from(`${message}\n`), trailers: preencode(status) };
}

/** Sends the response on a stream. */
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
  connection.sendData(stream, text);
  connection.end(stream, trailers);
}

/** A request is refused early when its content exceeds this length. */
const MAX_SKIPPED_BYTES = 65_536;

/**
 * A request that is not a gRPC call. The response waits for the end of the request, because most HTTP clients send the
 * whole request before they read the response, and because protocol errors in the rest of the request take precedence.
 * Until then the limits on time and bytes of unfinished requests apply.
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

/** Counts the content and drops it. */
class SkippedContent implements ContentReader {
  readonly missing = 0;
  #bytes = 0;

  append(_bytes: Uint8Array, start: number, end: number): MessageFault | null {
    this.#bytes += end - start;
    return this.#bytes > MAX_SKIPPED_BYTES ? 'too large' : null;
  }

  finish(): Uint8Array {
    return NO_BYTES;
  }

  dispose(): void {}
}
