/** Commands that are sent together, and what takes their answers, in order. Text is one character a byte. */
export interface Exchange {
  readonly request: string;
  /** Commands in the request. */
  readonly commands: number;
  /** Takes a line of the answer; true when it is the last one. */
  line(text: string): boolean;
  /** Takes a stored item; only commands that read get any. */
  value(key: string, data: string | null): void;
  /** The connection was lost: no further answer comes. */
  failed(reason: string): void;
}

/** True for the answers by which memcached refuses a command. */
export function isError(line: string): boolean {
  return line === 'ERROR' || line.startsWith('CLIENT_ERROR') || line.startsWith('SERVER_ERROR');
}

/** Decimal text without an exponent; sums of hits may be beyond the numbers that print as digits. */
export function wholeNumber(value: number): string {
  // memcached starts again at 0 beyond 64 bits; a count that stays below is over every limit.
  return String(Math.min(value, Number.MAX_SAFE_INTEGER));
}

/** Asks for the version: the least that a node can do to show that it answers. */
export class VersionExchange implements Exchange {
  readonly request = 'version\r\n';
  readonly commands = 1;
  readonly #answered: (line: string) => void;
  readonly failed: (reason: string) => void;

  constructor(answered: (line: string) => void, failed: (reason: string) => void) {
    this.#answered = answered;
    this.failed = failed;
  }

  value(): void {}

  line(text: string): boolean {
    this.#answered(text);
    return true;
  }
}

/** Keys in one command: memcached reads a command whole before it answers. */
const KEYS_A_COMMAND = 100;

/** What became of the keys of a {@link FetchExchange}. */
interface Fetched {
  /** By key: its count, 0 when there is none; NaN when it could not be read. */
  readonly counts: Float64Array;
  /** How many keys there were. */
  readonly found: number;
  /** Why keys could not be read; of several reasons the first. Empty when all were. */
  readonly failure: string;
}

/** Reads the counts of keys. */
export class FetchExchange implements Exchange {
  readonly request: string;
  readonly commands: number;
  readonly #keys: readonly string[];
  readonly #done: (fetched: Fetched) => void;
  readonly #counts: Float64Array;
  #found = 0;
  #failure = '';
  /** First key of the command that is being answered. */
  #first = 0;
  /** Where the next value is expected: they come in the order of the keys. */
  #next = 0;

  /** @param keys at least one, all of them fit for memcached */
  constructor(keys: readonly string[], done: (fetched: Fetched) => void) {
    this.#keys = keys;
    this.#done = done;
    this.#counts = new Float64Array(keys.length);
    this.commands = Math.ceil(keys.length / KEYS_A_COMMAND);
    let request = '';
    for (let first = 0; first < keys.length; first += KEYS_A_COMMAND) {
      request += `get ${keys.slice(first, first + KEYS_A_COMMAND).join(' ')}\r\n`;
    }
    this.request = request;
  }

  value(key: string, data: string | null): void {
    const place = this.#placeOf(key);
    if (place < 0) return;
    this.#found++;
    // Values are padded with spaces where a count has become shorter.
    if (data !== null && /^[0-9]{1,20} *$/.test(data)) this.#counts[place] = Number(data);
    else this.#fail(place, place + 1, 'the stored value is no count');
  }

  line(text: string): boolean {
    const end = Math.min(this.#first + KEYS_A_COMMAND, this.#keys.length);
    if (text !== 'END')
      this.#fail(this.#first, end, isError(text) ? text : 'it answered with something else');
    this.#first = end;
    this.#next = end;
    if (end < this.#keys.length) return false;
    this.#settle();
    return true;
  }

  failed(reason: string): void {
    this.#fail(this.#first, this.#keys.length, reason);
    this.#settle();
  }

  #settle(): void {
    this.#done({ counts: this.#counts, found: this.#found, failure: this.#failure });
  }

  #fail(first: number, end: number, reason: string): void {
    this.#counts.fill(Number.NaN, first, end);
    this.#failure ||= reason;
  }

  /** Values come in the order of the keys; a proxy that asks several servers may change it. */
  #placeOf(key: string): number {
    let place = this.#keys.indexOf(key, this.#next);
    if (place < 0) place = this.#keys.indexOf(key, this.#first);
    if (place >= 0) this.#next = place + 1;
    return place;
  }
}

/** The longest key that memcached takes, in bytes. */
const MAX_KEY_BYTES = 250;

/** White space and control characters, which end a key in the text protocol. */
const UNFIT = /[\x00-\x20\x7f]/;

/** Why memcached cannot hold a key (one character a byte); empty when it can. */
export function keyFault(key: string): string {
  if (key.length > MAX_KEY_BYTES) {
    return `a key of memcached has at most ${MAX_KEY_BYTES} bytes, and this one has ${key.length}`;
  }
  if (key === '') return 'a key of memcached is not empty';
  return UNFIT.test(key) ? 'a key of memcached holds no white space and no control characters' : '';
}

/** True for what {@link keyFault} says. */
export function isKeyFault(reason: string): boolean {
  return reason.startsWith('a key of memcached ');
}

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
