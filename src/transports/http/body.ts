import { ByteWriter } from '../../base/bytes.ts';
import type { Exchange } from './exchange.ts';
import { errorAnswer } from './status.ts';

/** The largest body that is read: what gRPC accepts by default as a message, far more than any proxy sends. */
export const BODY_LIMIT_BYTES = 4 * 1024 * 1024;

/**
 * A body beyond the limit is still received, and dropped, up to this many bytes: a caller that is still sending
 * when the connection closes gets a reset and never sees the answer. Beyond this the connection is closed anyway.
 */
const DROPPED_UP_TO_BYTES = 4 * BODY_LIMIT_BYTES;

const TOO_LARGE = errorAnswer({
  code: 'body_too_large',
  message: `the body is larger than ${BODY_LIMIT_BYTES} bytes: send fewer descriptors in one request`,
});

/**
 * Reads the body of a request and hands it to `whole`, where it is valid during the call. A body that came in one
 * piece, as nearly all do, is handed on without a copy. One that is too large is answered here with 413.
 */
export function readBody(exchange: Exchange, whole: (body: Uint8Array) => void): void {
  let received = 0;
  let held: ByteWriter | null = null;
  exchange.onChunk((chunk, last) => {
    received += chunk.length;
    if (received > BODY_LIMIT_BYTES) {
      held = null;
      if (last) exchange.answer(TOO_LARGE);
      else if (received > DROPPED_UP_TO_BYTES) exchange.answer(TOO_LARGE, 'close');
    } else if (last && held === null) {
      whole(chunk);
    } else {
      held ??= new ByteWriter(2 * chunk.length);
      held.copy(chunk, 0, chunk.length);
      if (last) whole(held.view());
    }
  });
}
