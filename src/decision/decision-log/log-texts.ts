import { createHmac } from 'node:crypto';
import type { RequestTable } from '../../messages/request-table.ts';

/** Marks a text that was cut. */
const CUT_MARK = '…[cut]';

/** Maximum number of bytes of a text: the domain, an entry key, a value, a cache key, the name of a rule. */
const MAX_TEXT_BYTES = 256;

/** Maximum number of entries of a descriptor, and of the bytes of all of them. */
const MAX_ENTRIES = 16;
const MAX_ENTRY_BYTES = 1_024;

/** Number of hexadecimal digits of a hash: 64 bits, of which two of a million values are equal with a chance of 3 in 10^8. */
const HASH_DIGITS = 16;

/** Marks a text as a hash. */
const HASH_MARK = 'hash:';

/**
 * Texts for the lines of the decision log. Each is short: a longer one is cut and marked. Texts that come from a request, and
 * may contain personal data, are replaced with hashes if there is a key for it.
 */
export class LogTexts {
  readonly #hashKey: Uint8Array | null;

  /** @param hashKey null to show texts as they are */
  constructor(hashKey: Uint8Array | null) {
    this.#hashKey = hashKey;
  }

  /** A text that has nothing to hide: `bytes[start, end)`. */
  plain(bytes: Uint8Array, start: number, end: number): string {
    return cut(bytes, start, end, MAX_TEXT_BYTES);
  }

  /** A text that may have to be hashed: `bytes[start, end)`. */
  personal(bytes: Uint8Array, start: number, end: number, maxBytes = MAX_TEXT_BYTES): string {
    if (this.#hashKey === null) return cut(bytes, start, end, maxBytes);
    return keyedHash(this.#hashKey, bytes.subarray(start, end));
  }

  /** The entries of a descriptor as `key=value`. The last text names how many are missing, if there are too many. */
  entries(requests: RequestTable, row: number): string[] {
    const { bytes } = requests;
    const first = requests.firstEntry[row];
    const count = requests.entryCount[row];
    const texts: string[] = [];
    let left = MAX_ENTRY_BYTES;
    for (let entry = first; entry < first + count && texts.length < MAX_ENTRIES && left > 0; entry++) {
      const longest = Math.min(left, MAX_TEXT_BYTES);
      const key = cut(bytes, requests.keyStart[entry], requests.keyEnd[entry], longest);
      const [start, end] = [requests.valueStart[entry], requests.valueEnd[entry]];
      const value = start === end ? '' : `=${this.personal(bytes, start, end, longest)}`;
      texts.push(key + value);
      left -= key.length + value.length;
    }
    if (texts.length < count) texts.push(`…[${count - texts.length} more]`);
    return texts;
  }
}

/** Cuts a text of valid UTF-8 to at most `maxBytes`, between two characters. */
function cut(bytes: Uint8Array, start: number, end: number, maxBytes: number): string {
  if (end - start <= maxBytes) return textOf(bytes, start, end);
  let stop = start + maxBytes;
  while (stop > start && (bytes[stop] & 0xc0) === 0x80) stop--;
  return textOf(bytes, start, stop) + CUT_MARK;
}

function textOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
}

/**
 * The hash of a text under a secret key (HMAC-SHA-256, RFC 2104, truncated). Equal texts have equal hashes, and without the
 * key nobody can find out which text a hash is of, not even by trying all texts.
 */
function keyedHash(key: Uint8Array, text: Uint8Array): string {
  return HASH_MARK + createHmac('sha256', key).update(text).digest('hex').slice(0, HASH_DIGITS);
}
