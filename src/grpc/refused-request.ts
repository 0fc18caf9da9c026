import type { Http2Stream } from '../http2/streams/stream.ts';
import { Call, type CallContext } from './calls.ts';
import { type HttpRefusal, sendHttpRefusal } from './http-refusal.ts';
import type { ContentReader, MessageFault } from './message-reader.ts';

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
