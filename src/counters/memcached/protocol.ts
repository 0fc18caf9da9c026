/** Commands that are sent together, and the handler of their responses, in order. Text has one character per byte. */
export interface Exchange {
  readonly request: string;
  /** Number of commands in the request. */
  readonly commands: number;
  /** Handles a line of the response; returns true if it is the last one. */
  line(text: string): boolean;
  /** Handles a stored item, in responses to `get`. */
  value(key: string, data: string | null): void;
  /** Called if the connection is lost before the last line. */
  failed(reason: string): void;
}

/** Whether a line is an error response of memcached. */
export function isError(line: string): boolean {
  return line === 'ERROR' || line.startsWith('CLIENT_ERROR') || line.startsWith('SERVER_ERROR');
}

/** Decimal text without an exponent, which sums of hits could otherwise have. */
export function wholeNumber(value: number): string {
  // memcached wraps around at 64 bits. A lower count is over every limit as well.
  return String(Math.min(value, Number.MAX_SAFE_INTEGER));
}

/** Asks for the version, to check that a node responds. */
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

/** Maximum number of keys per command: memcached reads a whole command before it responds. */
const KEYS_A_COMMAND = 100;

/** The result of a {@link FetchExchange}. */
interface Fetched {
  /** By key: the count, 0 if the key does not exist, NaN if it could not be read. */
  readonly counts: Float64Array;
  /** Number of keys that were found. */
  readonly found: number;
  /** The first reason why a key could not be read; empty if all were read. */
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
  /** First key of the command whose response is being read. */
  #first = 0;
  /** The key whose value is expected next. */
  #next = 0;

  /** @param keys at least one, all of them valid (see {@link keyFault}) */
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
    // memcached pads a value with spaces after its count has become shorter.
    if (data !== null && /^[0-9]{1,20} *$/.test(data)) this.#counts[place] = Number(data);
    else this.#fail(place, place + 1, 'the stored value is not a count');
  }

  line(text: string): boolean {
    const end = Math.min(this.#first + KEYS_A_COMMAND, this.#keys.length);
    if (text !== 'END') this.#fail(this.#first, end, isError(text) ? text : 'unexpected response');
    this.#first = end;
    this.#next = end;
    if (end < this.#keys.length) return false;
    this.#finish();
    return true;
  }

  failed(reason: string): void {
    this.#fail(this.#first, this.#keys.length, reason);
    this.#finish();
  }

  #finish(): void {
    this.#done({ counts: this.#counts, found: this.#found, failure: this.#failure });
  }

  #fail(first: number, end: number, reason: string): void {
    this.#counts.fill(Number.NaN, first, end);
    this.#failure ||= reason;
  }

  /** Values arrive in the order of the keys, but a proxy for several servers may change the order. */
  #placeOf(key: string): number {
    let place = this.#keys.indexOf(key, this.#next);
    if (place < 0) place = this.#keys.indexOf(key, this.#first);
    if (place >= 0) this.#next = place + 1;
    return place;
  }
}

/** Maximum length of a key in memcached, in bytes. */
const MAX_KEY_BYTES = 250;

/** White space and control characters end a key in the text protocol. */
const INVALID = /[\x00-\x20\x7f]/;

/** Why a key (one character per byte) is not valid in memcached; empty if it is valid. */
export function keyFault(key: string): string {
  if (key.length > MAX_KEY_BYTES) {
    return `a memcached key has at most ${MAX_KEY_BYTES} bytes, and this one has ${key.length}`;
  }
  if (key === '') return 'a memcached key cannot be empty';
  return INVALID.test(key) ? 'a memcached key cannot contain white space or control characters' : '';
}

/** Why a limit is not counted for which the store admits hits. Rules with such limits are rejected when they are loaded. */
export const ADDS_EVERY_HIT =
  'a memcached key cannot be that of a sliding window or token bucket; these limits need Redis or the embedded store';

/** Whether a reason is from {@link keyFault}, or {@link ADDS_EVERY_HIT}. */
export function isKeyFault(reason: string): boolean {
  return reason.startsWith('a memcached key ');
}

/** Receives the parsed responses. May throw a {@link ReplyFault}. */
interface ReplySink {
  /** A line that is not a value, without its line break: `END`, `STORED`, `12`, `SERVER_ERROR out of memory`. */
  line(text: string): void;
  /** A stored item; `data` is null if it is too long for a number. */
  value(key: string, data: string | null): void;
}

/** The server does not speak the text protocol of memcached. */
export class ReplyFault extends Error {}

/** Longer than any number. */
const MAX_NUMBER_BYTES = 32;

/** Maximum length of a line in a response: a key has 250 bytes, an error a sentence. */
const MAX_LINE_BYTES = 2_048;

/**
 * Parses the responses of memcached into lines and values, from chunks of any size. Text has one character per byte.
 * Buffers at most a line and a number; longer items are skipped.
 */
export class ReplyReader {
  readonly #sink: ReplySink;
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes of a long item still to skip. */
  #skip = 0;

  constructor(sink: ReplySink) {
    this.#sink = sink;
  }

  /** @throws ReplyFault if the bytes are not a response of memcached */
  feed(chunk: Buffer): void {
    const data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    for (let next = this.#skipped(data, 0); next >= 0; next = this.#takeOne(data, at)) at = next;
    if (this.#skip > 0) at = data.length;
    if (data.length - at > MAX_LINE_BYTES) throw new ReplyFault('it sent a line that does not end');
    // A copy, so that a few bytes do not retain the whole chunk.
    this.#rest = Buffer.from(data.subarray(at));
  }

  /** Parses a line or a value. Returns the position after it, or -1 if it is incomplete. */
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

  /** Skips a long item. Returns the position after it, or -1 if it is incomplete. */
  #skipped(data: Buffer, at: number): number {
    const taken = Math.min(this.#skip, data.length - at);
    this.#skip -= taken;
    return this.#skip > 0 ? -1 : at + taken;
  }
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
