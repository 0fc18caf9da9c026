import type { HeaderBlock } from '../hpack/header-list.ts';

/** What the header section of a request says, once it is checked (RFC 9113, 8.2 and 8.3). */
export interface RequestHead {
  /** Why the request is malformed; empty when it is not. */
  readonly fault: string;
  readonly method: string;
  readonly path: string;
  /** -1 when the request does not say. */
  readonly contentLength: number;
  readonly block: HeaderBlock;
  /** Room for what the layer above works out from the head; a repeated block comes with it. */
  route: unknown;
}

/** Fields that belong to HTTP/1.1 connections (RFC 9113, 8.2.2). */
const CONNECTION_FIELDS = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

/** Characters of a field name: a token without upper case (RFC 9113, 8.2.1; RFC 9110, 5.1). */
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

/** What a field value must not hold: NUL, LF, CR, or white space at either end (RFC 9113, 8.2.1). */
const BAD_VALUE = /[\0\r\n]|^[ \t]|[ \t]$/;

/**
 * Values of the block at hand that are longer than this are looked at once. A block can refer to an entry of the dynamic
 * table by one octet, so looking at each reference would cost a hundred times what the octets do.
 */
const LONG_VALUE = 128;
const longValues = new Set<string>();

const WEB_SCHEME = /^https?$/i;

/** The head of a request; looked up when the same block was checked before. */
export function requestHead(block: HeaderBlock): RequestHead {
  const known = block.verdict as RequestHead | undefined;
  if (known !== undefined) return known;
  const head = checkHead(block);
  block.verdict = head;
  return head;
}

/** The first field of a header section with this name, which is in lower case; empty without one. */
export function fieldOf(block: HeaderBlock, name: string): string {
  return block.values[block.names.indexOf(name)] ?? '';
}

/** Why the fields of a trailer section are malformed; empty when they are not. Pseudo-fields are (RFC 9113, 8.1). */
export function trailerFault(block: HeaderBlock): string {
  if (longValues.size > 0) longValues.clear();
  for (let i = 0; i < block.names.length; i++) {
    const fault = fieldFault(block.names[i], block.values[i]);
    if (fault !== '') return fault;
  }
  return '';
}

function checkHead(block: HeaderBlock): RequestHead {
  if (longValues.size > 0) longValues.clear();
  const pseudo = new Map<string, string>();
  let fault = '';
  let contentLength = -1;
  let regular = false;
  for (let i = 0; i < block.names.length && fault === ''; i++) {
    const name = block.names[i];
    const value = block.values[i];
    if (name.startsWith(':')) {
      if (regular) fault = `${name} after a regular field (RFC 9113, 8.3)`;
      else if (pseudo.has(name)) fault = `${name} twice (RFC 9113, 8.3)`;
      else if (isBadValue(value)) fault = `${name} holds a forbidden character (RFC 9113, 8.2.1)`;
      pseudo.set(name, value);
      continue;
    }
    regular = true;
    fault = fieldFault(name, value);
    if (name === 'content-length' && fault === '') {
      const length = /^\d{1,15}$/.test(value) ? Number(value) : -2;
      if (length < 0 || (contentLength >= 0 && contentLength !== length))
        fault = 'content-length is no single number (RFC 9110, 8.6)';
      contentLength = length;
    }
  }
  fault ||= pseudoFault(pseudo);
  return {
    fault,
    method: pseudo.get(':method') ?? '',
    path: pseudo.get(':path') ?? '',
    contentLength,
    block,
    route: null,
  };
}

/** Requests have exactly method, scheme and path, perhaps authority; CONNECT has method and authority only. */
function pseudoFault(pseudo: ReadonlyMap<string, string>): string {
  for (const name of pseudo.keys()) {
    if (name !== ':method' && name !== ':scheme' && name !== ':path' && name !== ':authority') {
      return `unknown pseudo-field ${name.slice(0, 40)} (RFC 9113, 8.3)`;
    }
  }
  const missing = (name: string): boolean => (pseudo.get(name) ?? '') === '';
  if (missing(':method')) return ':method is missing or empty (RFC 9113, 8.3.1)';
  if (pseudo.get(':method') === 'CONNECT') {
    return pseudo.has(':scheme') || pseudo.has(':path') || missing(':authority')
      ? 'CONNECT takes :authority and neither :scheme nor :path (RFC 9113, 8.5)'
      : '';
  }
  if (missing(':scheme')) return ':scheme is missing or empty (RFC 9113, 8.3.1)';
  if (missing(':path')) return ':path is missing or empty (RFC 9113, 8.3.1)';
  return WEB_SCHEME.test(pseudo.get(':scheme') as string) ? webFault(pseudo) : '';
}

/** What http and https ask beyond that (RFC 9113, 8.3.1). */
function webFault(pseudo: ReadonlyMap<string, string>): string {
  const path = pseudo.get(':path') as string;
  if (!path.startsWith('/') && !(path === '*' && pseudo.get(':method') === 'OPTIONS'))
    return ':path does not begin with a slash (RFC 9113, 8.3.1)';
  if (pseudo.get(':authority')?.includes('@'))
    return ':authority names a user, which it must not (RFC 9113, 8.3.1)';
  return '';
}

function fieldFault(name: string, value: string): string {
  if (!FIELD_NAME.test(name)) {
    return name.startsWith(':')
      ? `pseudo-field ${name.slice(0, 40)} among trailers (RFC 9113, 8.1)`
      : 'a field name is empty or holds a forbidden character (RFC 9113, 8.2.1)';
  }
  if (isBadValue(value)) return `${name} holds a forbidden character (RFC 9113, 8.2.1)`;
  if (CONNECTION_FIELDS.has(name)) return `${name} belongs to HTTP/1.1 (RFC 9113, 8.2.2)`;
  if (name === 'te' && value.toLowerCase() !== 'trailers')
    return 'te is other than trailers (RFC 9113, 8.2.2)';
  return '';
}

function isBadValue(value: string): boolean {
  if (value.length <= LONG_VALUE) return BAD_VALUE.test(value);
  if (longValues.has(value)) return false;
  if (BAD_VALUE.test(value)) return true;
  longValues.add(value);
  return false;
}
