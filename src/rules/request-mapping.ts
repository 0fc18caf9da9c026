/**
 * How HTTP requests of a domain become descriptors: the `requests` block of a rule file. Proxies that do not speak the
 * protocol of Envoy send the requests themselves (`/check`), and the descriptors are made here.
 */
export interface RequestMapping {
  readonly clientAddress: ClientAddressRule;
  /** Null if no descriptor has a claim. */
  readonly token: TokenRule | null;
  /** What is answered if no decision can be made. */
  readonly onFailure: 'allow' | 'deny';
  /** At least one descriptor, each with at least one entry. */
  readonly descriptors: readonly (readonly MappedEntry[])[];
}

/** Where the address of the client is. */
export interface ClientAddressRule {
  /** In lower case. One of {@link ADDRESS_LISTS}, or a header that has nothing but the address. */
  readonly header: string;
  /**
   * The number of trusted proxies, each of which has added the address that it was called from to the list. 0 stands for
   * the caller of Sluice itself, whatever the header says.
   */
  readonly trustedProxies: number;
}

/** The headers to which each proxy adds an address. */
export const ADDRESS_LISTS = ['x-forwarded-for', 'forwarded'] as const;

/** Which tokens have claims. */
export interface TokenRule {
  /** In lower case. */
  readonly header: string;
  /** The path of a file with a JSON Web Key Set, as written; empty if tokens are read without a check. */
  readonly jwksFile: string;
  /** The absolute path of this file. */
  readonly jwksPath: string;
  /** Empty if any issuer is accepted. The same for the audience. */
  readonly issuer: string;
  readonly audience: string;
}

/** An entry of a descriptor, and the part of a request that is its value. */
export interface MappedEntry {
  readonly key: string;
  readonly source: EntrySource;
  /** Which header, parameter, cookie, claim or segment, or the fixed value. Empty for a source of which there is one. */
  readonly of: string;
  /** The value if the request has none. If it is empty, the descriptor is left out then. */
  readonly fallback: string;
}

/** The fields of an entry that say where its value is, and what they hold. */
export const ENTRY_SOURCES = {
  value: 'text',
  method: 'flag',
  host: 'flag',
  path: 'flag',
  path_segment: 'count',
  query: 'text',
  header: 'text',
  cookie: 'text',
  client_address: 'flag',
  claim: 'text',
} as const;

export type EntrySource = keyof typeof ENTRY_SOURCES;

/** Maximum number of descriptors of a mapping: each one is counted with every request. */
export const MAX_MAPPED_DESCRIPTORS = 32;

/** Maximum number of entries of a mapped descriptor. */
export const MAX_MAPPED_ENTRIES = 16;

/** The greatest number of trusted proxies, and of a segment of a path. */
export const MOST_TRUSTED_PROXIES = 16;
export const LAST_SEGMENT = 32;

/** Maximum number of characters of a name, a fixed value or a default. */
export const MAX_MAPPED_TEXT = 1_024;
