import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { Problem } from '../checks/problem.ts';

/** A cursor is base64url of: a byte for the layout, the hash of the filters, the place, and the tag over all of it. */
const LAYOUT = 1;
const FILTER_BYTES = 8;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + FILTER_BYTES;
/** What a cursor of ours is never longer than. */
const MAX_TEXT_LENGTH = 256;

const NOT_OURS = 'the cursor is none that this service gave';

/** What a list is of: its tenant, its path, and all parameters but cursor and limit. */
export interface ListIdentity {
  readonly tenant: string;
  /** The operation of the route; with the id of what it belongs to, where there is one. */
  readonly list: string;
  readonly filters: Readonly<Record<string, string>>;
}

/**
 * Cursors of lists: opaque, authenticated, without an end (specification 3.10). One is good for the list with the
 * filters that it came from, and for no other tenant.
 */
export class Cursors {
  readonly #key: Buffer;

  /** @param key the same in every process of the service, or cursors are refused by the others */
  constructor(key: Buffer) {
    this.#key = key;
  }

  /** @param after the place that the next page begins behind: an id, or a number as text */
  write(identity: ListIdentity, after: string): string {
    const head = Buffer.alloc(HEAD_BYTES);
    head[0] = LAYOUT;
    filterHash(identity).copy(head, 1);
    const signed = Buffer.concat([head, Buffer.from(after, 'latin1')]);
    return Buffer.concat([signed, this.#tag(signed)]).toString('base64url');
  }

  /** @throws Problem invalid_cursor when it is none, was changed, or belongs to another list or other filters */
  read(identity: ListIdentity, text: string): string {
    if (text.length > MAX_TEXT_LENGTH) throw refused(NOT_OURS);
    const bytes = Buffer.from(text, 'base64url');
    const end = bytes.length - TAG_BYTES;
    if (end <= HEAD_BYTES || bytes[0] !== LAYOUT || bytes.toString('base64url') !== text)
      throw refused(NOT_OURS);
    const signed = bytes.subarray(0, end);
    if (!timingSafeEqual(this.#tag(signed), bytes.subarray(end))) throw refused(NOT_OURS);
    if (!filterHash(identity).equals(bytes.subarray(1, HEAD_BYTES))) {
      throw refused('the cursor belongs to another list: begin again without it when the filters change');
    }
    return signed.toString('latin1', HEAD_BYTES);
  }

  #tag(signed: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(signed).digest().subarray(0, TAG_BYTES);
  }
}

function refused(detail: string): Problem {
  return new Problem('invalid_cursor', detail, {
    errors: [{ parameter: 'cursor', code: 'invalid_cursor', detail }],
  });
}

function filterHash({ tenant, list, filters }: ListIdentity): Buffer {
  const hash = createHash('sha256').update(`${tenant}\n${list}\n`);
  for (const name of Object.keys(filters).sort()) hash.update(`${JSON.stringify([name, filters[name]])}\n`);
  return hash.digest().subarray(0, FILTER_BYTES);
}
