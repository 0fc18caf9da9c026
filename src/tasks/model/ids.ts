/** The prefix of each kind of id. */
const ID_PREFIXES = {
  task: 'tsk',
  worker: 'wrk',
  user: 'usr',
  token: 'tok',
  secret: 'sec',
  schedule: 'sch',
  account: 'acc',
  request: 'req',
  audit: 'aud',
} as const;
export type IdKind = keyof typeof ID_PREFIXES;

/** Crockford's base 32, whose order is that of the characters. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_CHARACTERS = 10;
const RANDOM_CHARACTERS = 16;
const PATTERN = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** The latest time that an id can hold, in milliseconds since the epoch. */
const LAST_ID_TIME_MS = 2 ** 48 - 1;

/** The first ten characters of a ULID of this time. */
function timePart(timeMs: number): string {
  let rest = Math.min(Math.max(Math.floor(timeMs), 0), LAST_ID_TIME_MS);
  let text = '';
  for (let place = 0; place < TIME_CHARACTERS; place++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Makes ids: a prefix and a ULID (https://github.com/ulid/spec, monotonic within one process). */
export class IdMaker {
  readonly #nowMs: () => number;
  readonly #randomBytes: (count: number) => Uint8Array;
  #lastMs = -1;
  #time = '';
  /** Digits of the random part, base 32. */
  readonly #digits = new Uint8Array(RANDOM_CHARACTERS);

  /** @param randomBytes returns that number of random bytes; from `node:crypto` outside of tests */
  constructor(nowMs: () => number, randomBytes: (count: number) => Uint8Array) {
    this.#nowMs = nowMs;
    this.#randomBytes = randomBytes;
  }

  /** An id that is greater than every one before it that this maker made of the same kind. */
  next(kind: IdKind): string {
    const nowMs = Math.max(this.#nowMs(), this.#lastMs);
    if (nowMs !== this.#lastMs) this.#renew(nowMs);
    else if (!this.#step()) this.#renew(nowMs + 1);
    let random = '';
    for (const digit of this.#digits) random += ALPHABET[digit];
    return `${ID_PREFIXES[kind]}_${this.#time}${random}`;
  }

  #renew(nowMs: number): void {
    this.#lastMs = nowMs;
    this.#time = timePart(nowMs);
    const bytes = this.#randomBytes(RANDOM_CHARACTERS);
    for (let place = 0; place < RANDOM_CHARACTERS; place++) this.#digits[place] = bytes[place] & 31;
    // Leaves room for the ids of the rest of this millisecond.
    this.#digits[0] &= 15;
  }

  /** Adds one to the random part; false when there is nothing above it. */
  #step(): boolean {
    for (let place = RANDOM_CHARACTERS - 1; place >= 0; place--) {
      if (this.#digits[place] < 31) {
        this.#digits[place]++;
        return true;
      }
      this.#digits[place] = 0;
    }
    return false;
  }
}

/** True for an id of this kind, well formed. */
export function isId(kind: IdKind, text: string): boolean {
  const prefix = `${ID_PREFIXES[kind]}_`;
  return text.startsWith(prefix) && PATTERN.test(text.slice(prefix.length));
}

/** The time in an id, in milliseconds since the epoch. The id must be well formed. */
export function idTimeMs(id: string): number {
  const start = id.indexOf('_') + 1;
  let timeMs = 0;
  for (let place = 0; place < TIME_CHARACTERS; place++) {
    timeMs = timeMs * 32 + ALPHABET.indexOf(id[start + place]);
  }
  return timeMs;
}

/** The least id that this kind can have at this time: every id of the time or later is at or above it. */
export function firstIdAt(kind: IdKind, timeMs: number): string {
  return `${ID_PREFIXES[kind]}_${timePart(timeMs)}${'0'.repeat(RANDOM_CHARACTERS)}`;
}

const BYTES = 16;

/** Creates ids of leases: 128 random bits each, in hex. */
export function leaseIds(count: number, randomBytes: (count: number) => Buffer): string[] {
  const digits = randomBytes(BYTES * count).toString('hex');
  const length = 2 * BYTES;
  return Array.from({ length: count }, (_, at) => digits.slice(length * at, length * (at + 1)));
}
