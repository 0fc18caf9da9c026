import { ByteWriter } from '../../base/bytes.ts';
import type { Answer } from './answer.ts';
import type { Exchange } from './exchange.ts';
import { errorAnswer } from './status.ts';

/** The largest body that is read, and what is said about a larger one: an answer with 413. */
export interface BodyBound {
  readonly bytes: number;
  tooLarge(): Answer;
}

/** The largest `/json` body that is read: what gRPC accepts by default as a message, far more than any proxy sends. */
const DECISION_BYTES = 4 * 1024 * 1024;

const DECISION_TOO_LARGE = errorAnswer({
  code: 'body_too_large',
  message: `the body is larger than ${DECISION_BYTES} bytes: send fewer descriptors in one request`,
});

const DECISION_BOUND: BodyBound = { bytes: DECISION_BYTES, tooLarge: () => DECISION_TOO_LARGE };

/**
 * A body beyond its bound is still received, and dropped, up to so many times the bound: a caller that is still
 * sending when the connection closes gets a reset and never sees the answer. Beyond this the connection is closed
 * anyway.
 */
const DROPPED_UP_TO = 4;

/**
 * Reads the body of a request and hands it to `whole`, where it is valid during the call. A body that came in one
 * piece, as nearly all do, is handed on without a copy. One that is too large is answered here with 413.
 */
export function readBody(
  exchange: Exchange,
  whole: (body: Uint8Array) => void,
  bound: BodyBound = DECISION_BOUND,
): void {
  if (exchange.bodyBytes !== null && exchange.bodyBytes > bound.bytes) {
    exchange.refuseBody(bound.tooLarge(), DROPPED_UP_TO * bound.bytes);
    return;
  }
  let received = 0;
  let held: ByteWriter | null = null;
  exchange.onChunk((chunk, last) => {
    received += chunk.length;
    if (received > bound.bytes) {
      held = null;
      if (last) exchange.answer(bound.tooLarge());
      else if (received > DROPPED_UP_TO * bound.bytes) exchange.answer(bound.tooLarge(), 'close');
    } else if (last && held === null) {
      whole(chunk);
    } else {
      held ??= new ByteWriter(2 * chunk.length);
      held.copy(chunk, 0, chunk.length);
      if (last) whole(held.view());
    }
  });
}
