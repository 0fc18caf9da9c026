import type { Http2Connection } from '../http2/connection/http2-connection.ts';
import { preencode } from '../http2/hpack/encoder.ts';
import type { Http2Stream } from '../http2/streams/stream.ts';
import { type Field, statusFields } from './blocks.ts';
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
