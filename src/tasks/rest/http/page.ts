import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import type { DocumentBodies, DocumentKind } from '../../model/documents.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { invalidParameter, type Problem, problemAt } from '../checks/problem.ts';
import type { RestParts } from './parts.ts';
import type { Call, RestAnswer } from './route.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
/**
 * Maximum size of the JSON of a page. The page ends before the item that would exceed it; only a first item may be
 * larger.
 */
export const PAGE_BYTES = 1024 * 1024;
/** Maximum number of full pages that are read and rendered at the same time; see {@link LargeReads}. */
export const PAGES_AT_ONCE = 4;

/** The query parameters of all lists (specification 3.10). */
export const PAGE_QUERY = {
  limit: `Maximum number of items on the page: 1 to ${MAX_LIMIT}. Default: ${DEFAULT_LIMIT}. A page can have fewer items if it reaches 1 MiB or if a filter is used.`,
  cursor: 'The `next_cursor` of the previous page.',
  order: 'Order of the list: `asc` or `desc`.',
} as const;

/** The page that a request asks for. */
export interface Page {
  readonly cursors: Cursors;
  readonly identity: ListIdentity;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** The place after which the page begins; null for the first page. */
  readonly after: string | null;
  /** The URL of the next page, without its cursor. */
  readonly target: string;
}

/**
 * Reads limit, cursor and order of a call. All other parameters are filters, which the cursor must match.
 *
 * @param list the operation of the route, followed by the id of the parent if there is one
 * @throws Problem invalid_parameter or invalid_cursor
 */
export function readPage(
  { config }: Pick<RestParts, 'config'>,
  call: Pick<Call, 'tenant' | 'query' | 'path'>,
  list: string,
  defaultOrder: 'asc' | 'desc' = 'desc',
): Page {
  const { limit, cursor, ...filters } = call.query;
  const order = filters['order'] ?? defaultOrder;
  if (order !== 'asc' && order !== 'desc') throw invalidParameter('order', 'order must be asc or desc');
  const cursors = new Cursors(config.cursorKey);
  const identity = { tenant: call.tenant, list, filters: { ...filters, order } };
  return {
    cursors,
    identity,
    target: targetOf(call),
    limit: readLimit(limit),
    order,
    after: cursor === undefined ? null : cursors.read(identity, cursor),
  };
}

function targetOf({ path, query }: Pick<Call, 'query' | 'path'>): string {
  const texts = Object.entries(query)
    .filter(([name]) => name !== 'cursor')
    .map(([name, text]) => `${name}=${encodeURIComponent(text)}&`);
  return `${path}?${texts.join('')}`;
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT)
    throw invalidParameter('limit', `limit must be a whole number from 1 to ${MAX_LIMIT}`);
  return limit;
}

interface PageItems<T> {
  /** Returns the place of an item in the order of the list. */
  readonly placeOf: (item: T) => string;
  /** Returns the JSON text of an item. */
  readonly write: (item: T) => string;
  /** The place after which the next page begins if `found` has no item of it; null at the end of the list. */
  readonly behind?: string | null;
}

/**
 * The response with a page of a list.
 *
 * @param found up to `page.limit + 1` items; the additional item shows that there is a next page
 */
export function pageAnswer<T>(
  page: Page,
  found: readonly T[],
  { placeOf, write, behind = null }: PageItems<T>,
): RestAnswer {
  const items: string[] = [];
  let bytes = 0;
  while (items.length < Math.min(page.limit, found.length)) {
    const item = write(found[items.length]);
    bytes += Buffer.byteLength(item);
    if (items.length > 0 && bytes > PAGE_BYTES) break;
    items.push(item);
  }
  const more = found.length > items.length && items.length > 0;
  const place = more ? placeOf(found[items.length - 1]) : behind;
  const next = place === null ? null : page.cursors.write(page.identity, place);
  return {
    status: 200,
    ...(next !== null && { headers: { Link: `<${page.target}cursor=${next}>; rel="next"` } }),
    text: `{"data":[${items.join(',')}],"next_cursor":${JSON.stringify(next)}}`,
  };
}

/** A list of all documents of a kind, or of those that belong to one parent. */
interface DocumentList<K extends DocumentKind> {
  readonly kind: K;
  /** The operation of the route. */
  readonly list: string;
  /** The id of the parent. */
  readonly parent?: string;
  readonly view: (document: StoredDocument<K>) => object;
  /** Reads what the view shows besides the documents of the page. */
  readonly prepare?: (documents: readonly StoredDocument<K>[]) => Promise<void>;
}

/** Reads and renders the page of documents that a call asks for. */
export async function documentPage<K extends DocumentKind>(
  parts: Pick<RestParts, 'store' | 'config'>,
  call: Call,
  { kind, list, parent, view, prepare }: DocumentList<K>,
): Promise<RestAnswer> {
  const page = readPage(parts, call, parent === undefined ? list : `${list} ${parent}`);
  const { after, order, limit } = page;
  const below = parent === undefined ? {} : { parent };
  const query = { kind, ...below, after, order, limit: limit + 1 };
  const documents = (await parts.store.listDocuments(call.tenant, query)) as readonly StoredDocument<K>[];
  await prepare?.(documents.slice(0, limit));
  return pageAnswer(page, documents, {
    placeOf: ({ id }) => id,
    write: document => JSON.stringify(view(document)),
  });
}

/** Reads all documents of a kind page by page, oldest first. */
export async function* allDocuments<K extends DocumentKind>(
  store: Pick<TaskStore, 'listDocuments'>,
  tenant: string,
  kind: K,
  parent?: string,
): AsyncGenerator<StoredDocument<K> & { readonly body: DocumentBodies[K] }> {
  const below = parent === undefined ? {} : { parent };
  let after: string | null = null;
  for (;;) {
    const query = { kind, ...below, after, limit: MAX_LIMIT, order: 'asc' } as const;
    const found = (await store.listDocuments(tenant, query)) as readonly StoredDocument<K>[];
    yield* found;
    if (found.length < MAX_LIMIT) return;
    after = found[found.length - 1].id;
  }
}

/** The schema of a page. */
export function pageSchema(name: string, items: Schema): ObjectSchema {
  return {
    type: 'object',
    name,
    properties: {
      data: { type: 'array', items, max: MAX_LIMIT },
      next_cursor: {
        type: 'string',
        nullable: true,
        description:
          'The value of the parameter `cursor` for the next page; null on the last page. The header `Link` has the URL of the next page.',
      },
    },
  };
}

/** A cursor is the base64url of a layout byte, a hash of the filters, the place, and an authentication tag over these. */
const LAYOUT = 1;
const FILTER_BYTES = 8;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + FILTER_BYTES;
/** Maximum length of a cursor. */
const MAX_TEXT_LENGTH = 256;

const NOT_OURS = 'cursor must be the next_cursor of an earlier page';

/** Identifies a list: its tenant, its operation, and all parameters except cursor and limit. */
export interface ListIdentity {
  readonly tenant: string;
  /** The operation of the route, followed by the id of the parent if there is one. */
  readonly list: string;
  readonly filters: Readonly<Record<string, string>>;
}

/**
 * Cursors of lists: opaque, authenticated and without expiry (specification 3.10). A cursor is valid only for the tenant,
 * the list and the filters that it was created for.
 */
export class Cursors {
  readonly #key: Buffer;

  /** @param key must be the same in all processes of the service, so that each accepts the cursors of the others */
  constructor(key: Buffer) {
    this.#key = key;
  }

  /** @param after the place after which the next page begins: an id, or a number as text */
  write(identity: ListIdentity, after: string): string {
    const head = Buffer.alloc(HEAD_BYTES);
    head[0] = LAYOUT;
    filterHash(identity).copy(head, 1);
    const signed = Buffer.concat([head, Buffer.from(after, 'latin1')]);
    return Buffer.concat([signed, this.#tag(signed)]).toString('base64url');
  }

  /** @throws Problem `invalid_cursor` if it is malformed, was changed, or belongs to another list or other filters */
  read(identity: ListIdentity, text: string): string {
    if (text.length > MAX_TEXT_LENGTH) throw refused(NOT_OURS);
    const bytes = Buffer.from(text, 'base64url');
    const end = bytes.length - TAG_BYTES;
    if (end <= HEAD_BYTES || bytes[0] !== LAYOUT || bytes.toString('base64url') !== text)
      throw refused(NOT_OURS);
    const signed = bytes.subarray(0, end);
    if (!timingSafeEqual(this.#tag(signed), bytes.subarray(end))) throw refused(NOT_OURS);
    if (!filterHash(identity).equals(bytes.subarray(1, HEAD_BYTES))) {
      throw refused('cursor belongs to a list with other filters: leave it out when the filters change');
    }
    return signed.toString('latin1', HEAD_BYTES);
  }

  #tag(signed: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(signed).digest().subarray(0, TAG_BYTES);
  }
}

function refused(detail: string): Problem {
  return problemAt({ parameter: 'cursor' }, 'invalid_cursor', detail);
}

function filterHash({ tenant, list, filters }: ListIdentity): Buffer {
  const hash = createHash('sha256').update(`${tenant}\n${list}\n`);
  for (const name of Object.keys(filters).sort()) hash.update(`${JSON.stringify([name, filters[name]])}\n`);
  return hash.digest().subarray(0, FILTER_BYTES);
}
