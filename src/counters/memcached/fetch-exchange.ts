import { type Exchange, isError } from './exchange.ts';

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
