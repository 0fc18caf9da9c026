import type { HeaderBlock } from '../hpack/header-list.ts';

/** The validated header section of a request (RFC 9113, 8.2 and 8.3). */
export interface RequestHead {
  /** Why the request is malformed; empty if it is well-formed. */
  readonly fault: string;
  readonly method: string;
  readonly path: string;
  /** -1 if the request has no content-length. */
  readonly contentLength: number;
  readonly block: HeaderBlock;
  /** Set by the layer above to a value derived from the head. Repeated blocks share it. */
  route: unknown;
}

/** Connection-specific fields of HTTP/1.1 (RFC 9113, 8.2.2). */
const CONNECTION_FIELDS = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

/** Field names are tokens without upper case (RFC 9113, 8.2.1; RFC 9110, 5.1). */
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

/** Field values must not contain NUL, LF or CR, nor white space at either end (RFC 9113, 8.2.1). */
const BAD_VALUE = /[\0\r\n]|^[ \t]|[ \t]$/;

/**
 * Longer values are checked once per block. A block can refer to an entry of the dynamic table with a single octet, so
 * checking every reference would cost a hundred times as much as reading the octets.
 */
const LONG_VALUE = 128;
const longValues = new Set<string>();

const WEB_SCHEME = /^https?$/i;

/** Validates the header section of a request, or returns the earlier result if the same block was validated before. */
export function requestHead(block: HeaderBlock): RequestHead {
  const known = block.verdict as RequestHead | undefined;
  if (known !== undefined) return known;
  const head = checkHead(block);
  block.verdict = head;
  return head;
}

/** The value of the first field with this name, in lower case; empty if it is absent. */
export function fieldOf(block: HeaderBlock, name: string): string {
  return block.values[block.names.indexOf(name)] ?? '';
}

/** Why a trailer section is malformed; empty if it is well-formed. Pseudo-fields are not allowed (RFC 9113, 8.1). */
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
      else if (isBadValue(value)) fault = `${name} contains a forbidden character (RFC 9113, 8.2.1)`;
      pseudo.set(name, value);
      continue;
    }
    regular = true;
    fault = fieldFault(name, value);
    if (name === 'content-length' && fault === '') {
      const length = /^\d{1,15}$/.test(value) ? Number(value) : -2;
      if (length < 0 || (contentLength >= 0 && contentLength !== length))
        fault = 'content-length is not a single number (RFC 9110, 8.6)';
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

/** Requests have method, scheme and path, and optionally authority. CONNECT has only method and authority. */
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
      ? 'CONNECT requires :authority and does not allow :scheme and :path (RFC 9113, 8.5)'
      : '';
  }
  if (missing(':scheme')) return ':scheme is missing or empty (RFC 9113, 8.3.1)';
  if (missing(':path')) return ':path is missing or empty (RFC 9113, 8.3.1)';
  return WEB_SCHEME.test(pseudo.get(':scheme') as string) ? webFault(pseudo) : '';
}

/** Additional rules for http and https (RFC 9113, 8.3.1). */
function webFault(pseudo: ReadonlyMap<string, string>): string {
  const path = pseudo.get(':path') as string;
  if (!path.startsWith('/') && !(path === '*' && pseudo.get(':method') === 'OPTIONS'))
    return ':path does not start with a slash (RFC 9113, 8.3.1)';
  if (pseudo.get(':authority')?.includes('@'))
    return ':authority must not contain user information (RFC 9113, 8.3.1)';
  return '';
}

function fieldFault(name: string, value: string): string {
  if (!FIELD_NAME.test(name)) {
    return name.startsWith(':')
      ? `pseudo-field ${name.slice(0, 40)} in trailers (RFC 9113, 8.1)`
      : 'a field name is empty or contains a forbidden character (RFC 9113, 8.2.1)';
  }
  if (isBadValue(value)) return `${name} contains a forbidden character (RFC 9113, 8.2.1)`;
  if (CONNECTION_FIELDS.has(name)) return `${name} is specific to HTTP/1.1 (RFC 9113, 8.2.2)`;
  if (name === 'te' && value.toLowerCase() !== 'trailers') return 'te is not trailers (RFC 9113, 8.2.2)';
  return '';
}

function isBadValue(value: string): boolean {
  if (value.length <= LONG_VALUE) return BAD_VALUE.test(value);
  if (longValues.has(value)) return false;
  if (BAD_VALUE.test(value)) return true;
  longValues.add(value);
  return false;
}
