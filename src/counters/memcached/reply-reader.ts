/** Who is told what memcached answers. May throw a {@link ReplyFault}. */
interface ReplySink {
  /** A line that is no value, without its end: `END`, `STORED`, `12`, `SERVER_ERROR out of memory`. */
  line(text: string): void;
  /** A stored item; `data` is null for one that is too long to be a number. */
  value(key: string, data: string | null): void;
}

/** The other side does not speak the text protocol of memcached. */
export class ReplyFault extends Error {}

/** More bytes than the longest number has. */
const MAX_NUMBER_BYTES = 32;

/** The longest line of an answer: a value's key has 250 bytes, an error its sentence. */
const MAX_LINE_BYTES = 2_048;

/**
 * Cuts what memcached sends into lines and values, however the bytes arrive. Text is one character a byte. Holds a line
 * and a number at most: longer items are passed over.
 */
export class ReplyReader {
  readonly #sink: ReplySink;
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes of a long item that are still to come. */
  #skip = 0;

  constructor(sink: ReplySink) {
    this.#sink = sink;
  }

  /** @throws ReplyFault when the bytes are no answer of memcached */
  feed(chunk: Buffer): void {
    const data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    for (let next = this.#skipped(data, 0); next >= 0; next = this.#takeOne(data, at)) at = next;
    if (this.#skip > 0) at = data.length;
    if (data.length - at > MAX_LINE_BYTES) throw new ReplyFault('it sent a line that does not end');
    // A copy: a few bytes must not keep the chunk that they came in.
    this.#rest = Buffer.from(data.subarray(at));
  }

  /** Takes a line or a value; the place behind it, or -1 when it is not all there yet. */
  #takeOne(data: Buffer, at: number): number {
    const end = data.indexOf(LINE_FEED, at);
    if (end < 0) return -1;
    const line = data.toString('latin1', at, end > at && data[end - 1] === CARRIAGE_RETURN ? end - 1 : end);
    if (!line.startsWith('VALUE ')) {
      this.#sink.line(line);
      return end + 1;
    }
    const [, key, , size] = line.split(' ');
    const bytes = Number(size);
    if (!Number.isSafeInteger(bytes) || bytes < 0) throw new ReplyFault('it sent a value without a size');
    if (bytes > MAX_NUMBER_BYTES) {
      this.#skip = bytes + 2;
      this.#sink.value(key, null);
      return this.#skipped(data, end + 1);
    }
    const dataEnd = end + 1 + bytes;
    if (data.length < dataEnd + 2) return -1;
    this.#sink.value(key, data.toString('latin1', end + 1, dataEnd));
    return dataEnd + 2;
  }

  /** The place behind the item that is passed over; -1 when more of it is to come. */
  #skipped(data: Buffer, at: number): number {
    const taken = Math.min(this.#skip, data.length - at);
    this.#skip -= taken;
    return this.#skip > 0 ? -1 : at + taken;
  }
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
