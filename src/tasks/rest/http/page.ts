import { Problem } from '../checks/problem.ts';
import type { ObjectSchema, Schema } from '../checks/schema.ts';
import type { Cursors, ListIdentity } from './cursor.ts';
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

/** Parameters that every list has (specification 3.10). */
export const PAGE_QUERY = {
  limit: `How many items a page has at most: 1 to ${MAX_LIMIT}, by default ${DEFAULT_LIMIT}. A page that comes to 1 MiB has fewer, and so may one with a filter.`,
  cursor: 'The `next_cursor` of the page before.',
  order: '`asc` or `desc`.',
} as const;

/** Which page of a list somebody asks for. */
export interface Page {
  readonly identity: ListIdentity;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** The place behind which it begins; null for the first. */
  readonly after: string | null;
  /** Where the next page is, without its cursor. */
  readonly target: string;
}

/**
 * Reads limit, cursor and order of a call. All other parameters are filters, which the cursor holds fast.
 *
 * @param list the operation of the route, with the id of what the list belongs to
 * @throws Problem invalid_parameter or invalid_cursor
 */
export function readPage(
  call: Pick<Call, 'tenant' | 'query' | 'path'>,
  list: string,
  cursors: Cursors,
  defaultOrder: 'asc' | 'desc' = 'desc',
): Page {
  const { limit, cursor, ...filters } = call.query;
  const order = filters['order'] ?? defaultOrder;
  if (order !== 'asc' && order !== 'desc') throw invalidParameter('order', 'order is asc or desc');
  const identity = { tenant: call.tenant, list, filters: { ...filters, order } };
  return {
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
    throw invalidParameter('limit', `limit is a whole number from 1 to ${MAX_LIMIT}`);
  return limit;
}

/** A query parameter or header field that is not valid. */
export function invalidParameter(parameter: string, detail: string): Problem {
  return new Problem('invalid_parameter', detail, {
    errors: [{ parameter, code: 'invalid_parameter', detail }],
  });
}

/**
 * The envelope of a list. `found` holds one more item than the page, where there is one: ask the store for
 * `page.limit + 1`.
 *
 * @param idOf the place of an item in the order of the list
 * @param write JSON text of an item
 * @param behind where the next page begins although `found` holds no item of it; null at the end of the list
 */
export function pageAnswer<T>(
  page: Page,
  found: readonly T[],
  cursors: Cursors,
  idOf: (item: T) => string,
  write: (item: T) => string,
  behind: string | null = null,
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
  const place = more ? idOf(found[items.length - 1]) : behind;
  const next = place === null ? null : cursors.write(page.identity, place);
  return {
    status: 200,
    ...(next !== null && { headers: { Link: `<${page.target}cursor=${next}>; rel="next"` } }),
    text: `{"data":[${items.join(',')}],"next_cursor":${JSON.stringify(next)}}`,
  };
}

/** The schema of a list's answer. */
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
          'For the parameter `cursor` of the next page; null: this is the last one. The header `Link` has the address of the next page.',
      },
    },
  };
}
