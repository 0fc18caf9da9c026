/** A field name of HTTP (RFC 9110, section 5.6.2). */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
/** No control characters but the tab, and what one byte holds. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** They belong to the connection, or say how long the body is. */
const RESERVED = new Set([
  'host',
  'content-length',
  'connection',
  'transfer-encoding',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'expect',
]);
/** Written for each attempt (specification 3.5.1). */
const RESERVED_PREFIXES = ['webhook-', 'task-'];

/** Why a header that is sent to workers cannot have this name, as it goes on from the name; null when it can. */
export function headerNameFault(name: string): string | null {
  const lower = name.toLowerCase();
  if (!NAME.test(name)) return 'is not a valid header name';
  if (RESERVED.has(lower)) return 'belongs to the connection and cannot be set';
  const prefix = RESERVED_PREFIXES.find(reserved => lower.startsWith(reserved));
  return prefix === undefined ? null : `begins with "${prefix}", which is written for each attempt`;
}

/** Why a header that is sent to workers cannot have this value, as it goes on from the name; null when it can. */
export function headerValueFault(value: string): string | null {
  return VALUE.test(value)
    ? null
    : 'has a value with a line break or another character that header values cannot contain';
}
