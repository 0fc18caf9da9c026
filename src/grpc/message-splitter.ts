import type { HeldBytes } from './limits.ts';
import {
  type ContentReader,
  type Inflater,
  type MessageFault,
  MessageReader,
  messageLength,
  PREFIX_BYTES,
} from './message-reader.ts';

/** Minimum work that a message counts, however short it is: its receiver runs. */
const LEAST_WORK = 64;

/** Minimum work that a compressed message counts: inflating even an empty one takes about 5 µs. */
const LEAST_INFLATING_WORK = 256;

const NO_BYTES = new Uint8Array(0);

/**
 * Gets a message, which is only valid until it returns, and the work that the length of the frames does not reflect, in
 * the unit of `LEAST_FRAME_WORK`. Returns whether further messages are wanted.
 */
type TakeMessage = (message: Uint8Array, work: number) => boolean;

/**
 * Cuts the content of a stream of requests into messages. A message that arrives in one piece is not copied. Of the
 * others, at most one is incomplete at a time, and it is joined by a {@link MessageReader}.
 */
export class MessageSplitter implements ContentReader {
  readonly #maxBytes: number;
  readonly #room: HeldBytes;
  readonly #inflater: Inflater | null;
  readonly #take: TakeMessage;
  /** Joins the incomplete message; null without one. */
  #joining: MessageReader | null = null;

  /**
   * @param room limit on the memory of unfinished messages
   * @param inflater for calls whose messages may be compressed; otherwise null
   */
  constructor(maxMessageBytes: number, room: HeldBytes, inflater: Inflater | null, take: TakeMessage) {
    this.#maxBytes = maxMessageBytes;
    this.#room = room;
    this.#inflater = inflater;
    this.#take = take;
  }

  /** Whether a message has begun and is not complete. */
  get isIncomplete(): boolean {
    return this.#joining !== null;
  }

  get missing(): number {
    return this.#joining === null ? 0 : this.#joining.missing;
  }

  /** Passes on the messages that are complete with `bytes[start, end)`, and keeps the beginning of the next one. */
  append(bytes: Uint8Array, start: number, end: number): MessageFault | null {
    let at = start;
    while (at < end) {
      if (this.#joining === null && isPlain(bytes, at, end)) {
        const from = at + PREFIX_BYTES;
        const length = messageLength(bytes, at);
        if (length > this.#maxBytes) return 'too large';
        if (length <= end - from) {
          at = from + length;
          if (!this.#take(bytes.subarray(from, at), LEAST_WORK)) return null;
          continue;
        }
      }
      this.#joining ??= new MessageReader(this.#maxBytes, this.#room, this.#inflater);
      const joining = this.#joining;
      const next = Math.min(at + joining.wanted, end);
      const fault = joining.append(bytes, at, next);
      if (fault !== null) return fault;
      at = next;
      if (joining.wanted > 0) continue;
      const message = this.#finish(joining);
      if (typeof message === 'string') return message;
      const least = joining.isCompressed ? LEAST_INFLATING_WORK : LEAST_WORK;
      if (!this.#take(message, Math.max(message.length, least))) return null;
    }
    return null;
  }

  /** Says at the end of the requests whether the last message is complete. All have been passed on. */
  finish(): Uint8Array | MessageFault {
    return this.isIncomplete ? 'incomplete' : NO_BYTES;
  }

  dispose(): void {
    this.#joining?.dispose();
    this.#joining = null;
  }

  #finish(joining: MessageReader): Uint8Array | MessageFault {
    const message = joining.finish();
    this.dispose();
    return message;
  }
}

/** Whether `bytes[at, end)` begins with the whole prefix of a message that is not compressed. */
function isPlain(bytes: Uint8Array, at: number, end: number): boolean {
  return end - at >= PREFIX_BYTES && bytes[at] === 0;
}
