import type { RequestTable } from '../../messages/request-table.ts';

/** Bytes of the text of a key in shared memory. */
export const TEXT_BYTES = 160;

/**
 * Layout of the text: its form, the number of pieces, and the pieces, each a byte with its length and the bytes.
 *
 * - `entries`: the pieces are the domain, and the key and the value of each entry. The cache key follows from them.
 * - `raw`: the pieces are the domain, and the rest of the cache key without the window. It is used if the cache key has a
 *   pattern instead of a value (`share_threshold`), or if there are too many pieces.
 *
 * With `cut`, the text did not fit.
 */
const FORM = { entries: 0, raw: 1, cut: 2 } as const;
const HEAD_BYTES = 2;
const UNDERSCORE = 95;
/** With more entries, a text of short pieces would not be shorter than the raw one. */
const MOST_ENTRIES = 16;
const MOST_PIECES = 1 + 2 * MOST_ENTRIES;

/** Where the key of a row is in the bytes of a batch. */
export interface KeyPlace {
  /** The cache key without prefix and window. */
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly request: number;
  /** The row of the descriptor. */
  readonly row: number;
}

/** The text of a key, as read from shared memory. */
export interface KeyText {
  /** The entries of the descriptor, `key=value`, joined by `, `. A text that did not fit ends with `…`. */
  readonly key: string;
  /** The cache key without prefix and window; null if the text did not fit. */
  readonly cacheKey: string | null;
  readonly domain: string;
  /** The entries of the descriptor; null if the text did not fit, or if the key has a pattern in place of a value. */
  readonly entries: readonly KeyEntry[] | null;
}

/** An entry of a descriptor. */
interface KeyEntry {
  readonly key: string;
  readonly value: string;
}

/**
 * Writes a text of {@link TEXT_BYTES} bytes, which are equal for equal keys. One object for each thread, because it is
 * reused.
 */
export class KeyTextWriter {
  readonly bytes = new Uint8Array(TEXT_BYTES);
  /** Entries of the request that are in its cache key. */
  readonly #path = new Int32Array(MOST_ENTRIES);
  #length = 0;
  #cut = false;

  write(requests: RequestTable, key: KeyPlace): void {
    const { request } = key;
    this.#length = HEAD_BYTES;
    this.#cut = false;
    const entries = this.#takePath(requests, key);
    const isRaw = entries < 0;
    const domainEnd = requests.domainEnd[request];
    this.#piece(requests.bytes, requests.domainStart[request], domainEnd);
    const rest = key.start + domainEnd - requests.domainStart[request] + 1;
    if (isRaw) this.#piece(key.bytes, rest, key.end);
    else for (let i = 0; i < entries; i++) this.#entry(requests, this.#path[i]);
    this.bytes[0] = (isRaw ? FORM.raw : FORM.entries) | (this.#cut ? FORM.cut : 0);
    this.bytes[1] = isRaw ? 2 : 1 + 2 * entries;
    this.bytes.fill(0, this.#length);
  }

  /** Writes the domain and the entries of a descriptor. */
  writeEntries(requests: RequestTable, request: number, row: number): void {
    const pieces = Math.min(1 + 2 * requests.entryCount[row], MOST_PIECES);
    this.#length = HEAD_BYTES;
    this.#cut = 1 + 2 * requests.entryCount[row] > MOST_PIECES;
    this.#piece(requests.bytes, requests.domainStart[request], requests.domainEnd[request]);
    const first = requests.firstEntry[row];
    for (let entry = first; entry < first + requests.entryCount[row]; entry++) this.#entry(requests, entry);
    this.bytes[0] = FORM.entries | (this.#cut ? FORM.cut : 0);
    this.bytes[1] = pieces;
    this.bytes.fill(0, this.#length);
  }

  /**
   * Sets the entries of the request that the cache key has. It has all of them, except those that limits of the rule read and
   * that are not part of its path. Returns how many; -1 if there are too many, or if the key has patterns in place of values.
   */
  #takePath(requests: RequestTable, { bytes, start, end, request, row }: KeyPlace): number {
    let at = start + requests.domainEnd[request] - requests.domainStart[request] + 1;
    const first = requests.firstEntry[row];
    let count = 0;
    for (let entry = first; entry < first + requests.entryCount[row]; entry++) {
      const next = endOfEntry(requests, entry, bytes, at);
      if (next < 0 || next > end) continue;
      if (count === MOST_ENTRIES) return -1;
      this.#path[count++] = entry;
      at = next;
    }
    return at === end ? count : -1;
  }

  #entry(requests: RequestTable, entry: number): void {
    this.#piece(requests.bytes, requests.keyStart[entry], requests.keyEnd[entry]);
    this.#piece(requests.bytes, requests.valueStart[entry], requests.valueEnd[entry]);
  }

  #piece(from: Uint8Array, start: number, end: number): void {
    if (this.#length === TEXT_BYTES) {
      this.#cut = true;
      return;
    }
    const room = TEXT_BYTES - this.#length - 1;
    const length = Math.min(end - start, room);
    if (length < end - start) this.#cut = true;
    this.bytes[this.#length++] = length;
    for (let i = start; i < start + length; i++) this.bytes[this.#length++] = from[i];
  }
}

/** The end of `<key>_<value>_` of an entry if it starts at an offset of a cache key, else -1. */
function endOfEntry(requests: RequestTable, entry: number, bytes: Uint8Array, start: number): number {
  let at = start;
  for (let i = requests.keyStart[entry]; i < requests.keyEnd[entry]; i++) {
    if (bytes[at++] !== requests.bytes[i]) return -1;
  }
  if (bytes[at++] !== UNDERSCORE) return -1;
  for (let i = requests.valueStart[entry]; i < requests.valueEnd[entry]; i++) {
    if (bytes[at++] !== requests.bytes[i]) return -1;
  }
  return bytes[at++] === UNDERSCORE ? at : -1;
}

/** Reads the text that starts at an offset. Bytes that were overwritten meanwhile give a wrong text, but no error. */
export function readKeyText(bytes: Uint8Array, start: number): KeyText {
  const text = Buffer.from(bytes.slice(start, start + TEXT_BYTES));
  const pieces: string[] = [];
  let at = HEAD_BYTES;
  for (let piece = 0; piece < text[1] && at < TEXT_BYTES; piece++) {
    const end = Math.min(at + 1 + text[at], TEXT_BYTES);
    pieces.push(text.toString('utf8', at + 1, end));
    at = end;
  }
  const isCut = (text[0] & FORM.cut) !== 0;
  const [domain = '', ...rest] = pieces;
  const isRaw = (text[0] & FORM.raw) !== 0;
  const entries = isRaw ? [] : entriesOf(rest);
  const keyed = isRaw ? (rest[0] ?? '') : `${rest.join('_')}_`;
  const key = isRaw ? keyed.replace(/_$/, '') : joined(entries);
  // The cut may be inside a character, whose beginning is decoded as replacement characters.
  if (isCut) return { key: `${key.replace(/\ufffd+$/, '')}…`, cacheKey: null, domain, entries: null };
  return { key, cacheKey: `${domain}_${keyed}`, domain, entries: isRaw ? null : entries };
}

function entriesOf(pieces: readonly string[]): KeyEntry[] {
  const entries: KeyEntry[] = [];
  for (let i = 0; i < pieces.length; i += 2) entries.push({ key: pieces[i], value: pieces[i + 1] ?? '' });
  return entries;
}

function joined(entries: readonly KeyEntry[]): string {
  return entries.map(({ key, value }) => (value === '' ? key : `${key}=${value}`)).join(', ');
}
