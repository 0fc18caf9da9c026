/** The entries of the static table (RFC 7541, Appendix A) in the order of their indexes, which start at 1. */
const ENTRIES: readonly (readonly [name: string, value: string])[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ['accept-language', ''],
  ['accept-ranges', ''],
  ['accept', ''],
  ['access-control-allow-origin', ''],
  ['age', ''],
  ['allow', ''],
  ['authorization', ''],
  ['cache-control', ''],
  ['content-disposition', ''],
  ['content-encoding', ''],
  ['content-language', ''],
  ['content-length', ''],
  ['content-location', ''],
  ['content-range', ''],
  ['content-type', ''],
  ['cookie', ''],
  ['date', ''],
  ['etag', ''],
  ['expect', ''],
  ['expires', ''],
  ['from', ''],
  ['host', ''],
  ['if-match', ''],
  ['if-modified-since', ''],
  ['if-none-match', ''],
  ['if-range', ''],
  ['if-unmodified-since', ''],
  ['last-modified', ''],
  ['link', ''],
  ['location', ''],
  ['max-forwards', ''],
  ['proxy-authenticate', ''],
  ['proxy-authorization', ''],
  ['range', ''],
  ['referer', ''],
  ['refresh', ''],
  ['retry-after', ''],
  ['server', ''],
  ['set-cookie', ''],
  ['strict-transport-security', ''],
  ['transfer-encoding', ''],
  ['user-agent', ''],
  ['vary', ''],
  ['via', ''],
  ['www-authenticate', ''],
];

/** Number of entries, which is also the highest index of the static table. */
export const STATIC_ENTRIES = ENTRIES.length;

/** Names and values by index. Index 0 is not used (RFC 7541, 6.1). */
export const STATIC_NAMES: readonly string[] = ['', ...ENTRIES.map(([name]) => name)];
export const STATIC_VALUES: readonly string[] = ['', ...ENTRIES.map(([, value]) => value)];

/** The first index of each name. Entries with the same name are adjacent. */
const FIRST_INDEX: ReadonlyMap<string, number> = new Map(
  ENTRIES.map(([name], i) => [name, i + 1] as const).reverse(),
);

/** The index of the first entry with this name; 0 if not found. */
export function staticNameIndex(name: string): number {
  return FIRST_INDEX.get(name) ?? 0;
}

/** The index of the entry with this name and value; 0 if not found. */
export function staticFieldIndex(name: string, value: string): number {
  const first = staticNameIndex(name);
  if (first === 0) return 0;
  for (let index = first; STATIC_NAMES[index] === name; index++) {
    if (STATIC_VALUES[index] === value) return index;
  }
  return 0;
}
