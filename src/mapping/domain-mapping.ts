import { ByteWriter } from '../base/bytes.ts';
import { beginLength, endLength } from '../messages/field-lengths.ts';
import { writeBytes } from '../messages/wire.ts';
import type { EntrySource, RequestMapping } from '../rules/request-mapping.ts';
import { type Claims, claimOf } from './claims.ts';
import { addressOf, clientAddress } from './client-address.ts';
import { cookieOf } from './cookies.ts';
import { OriginalRequest } from './original-request.ts';
import { writeValue } from './text-value.ts';
import { TokenClaims, type TokenParts } from './tokens/token-claims.ts';

/** Fields of `RateLimitRequest`, `RateLimitDescriptor` and its `Entry`. */
const DOMAIN_FIELD = 1;
const DESCRIPTORS_FIELD = 2;
const ENTRIES_FIELD = 1;
const KEY_FIELD = 1;
const VALUE_FIELD = 2;

const COOKIE = 'cookie';

/** An entry of a descriptor, prepared for many requests. */
interface PreparedEntry {
  /** The field `key` of the entry, encoded. */
  readonly key: Uint8Array;
  readonly source: EntrySource;
  readonly of: string;
  /** Of a header. */
  readonly slot: number;
  /** Of a path. */
  readonly segment: number;
  readonly fallback: string;
}

/**
 * Turns the HTTP requests of a domain into descriptors. A request becomes the bytes of a `RateLimitRequest`, so that
 * everything after it is the same as for a request of Envoy.
 */
export class DomainMapping {
  readonly rules: RequestMapping;
  /** Reads one request after the other, for {@link write}. */
  readonly request: OriginalRequest;
  /** Null if no claim is read. */
  readonly tokens: TokenClaims | null;
  readonly #tokenSlot: number;
  readonly #domain: Uint8Array;
  readonly #descriptors: readonly (readonly PreparedEntry[])[];
  readonly #addressSlot: number;
  readonly #cookieSlot: number;
  /** The address of the client of the request; null until it is needed. */
  #address: string | null = null;

  /** @param before the tokens of the mapping that this one replaces; null for a domain that had no mapping */
  constructor(domain: string, rules: RequestMapping, parts: TokenParts, before: TokenClaims | null) {
    this.rules = rules;
    const { token, clientAddress: address } = rules;
    const headers = new Set([address.header, COOKIE, ...(token === null ? [] : [token.header])]);
    for (const entries of rules.descriptors)
      for (const { source, of } of entries) if (source === 'header') headers.add(of);
    this.request = new OriginalRequest(headers, address.trustedProxies === 0);
    const slots = this.request.headers;
    this.tokens = token === null ? null : TokenClaims.after(before, token, claimsOf(rules), parts);
    this.#tokenSlot = token === null ? -1 : slots.slotOf(token.header)!;
    this.#addressSlot = slots.slotOf(address.header)!;
    this.#cookieSlot = slots.slotOf(COOKIE)!;
    this.#domain = encoded(DOMAIN_FIELD, domain);
    this.#descriptors = rules.descriptors.map(entries =>
      entries.map(({ key, source, of, fallback }) => ({
        key: encoded(KEY_FIELD, key),
        source,
        of,
        slot: source === 'header' ? slots.slotOf(of)! : -1,
        segment: source === 'path_segment' ? Number(of) : 0,
        fallback,
      })),
    );
  }

  /** Number of descriptors of a request that has all their values. */
  get descriptorCount(): number {
    return this.#descriptors.length;
  }

  /** The claims of the token of the request that was read. The promise never rejects. */
  readClaims(): Claims | null | Promise<Claims | null> {
    return this.tokens === null ? null : this.tokens.of(this.request.header(this.#tokenSlot));
  }

  /** Appends the domain of a `RateLimitRequest`. */
  writeDomain(writer: ByteWriter): void {
    writer.copy(this.#domain, 0, this.#domain.length);
  }

  /**
   * Appends the descriptors of the request that was read to a `RateLimitRequest`. A descriptor is left out if the request
   * has no value for one of its entries, as Envoy does it.
   *
   * @param claims those of the token of the request; null if it has none
   * @returns number of descriptors
   */
  writeDescriptors(writer: ByteWriter, claims: Claims | null): number {
    this.#address = null;
    let count = 0;
    for (const entries of this.#descriptors) {
      const start = writer.length;
      const content = beginLength(writer, DESCRIPTORS_FIELD);
      if (this.#writeEntries(writer, entries, claims)) {
        endLength(writer, content);
        count++;
      } else writer.length = start;
    }
    return count;
  }

  /** Returns false if the request has no value for an entry. */
  #writeEntries(writer: ByteWriter, entries: readonly PreparedEntry[], claims: Claims | null): boolean {
    for (const entry of entries) {
      const value = this.#valueOf(entry, claims) || entry.fallback;
      if (value === '') return false;
      const content = beginLength(writer, ENTRIES_FIELD);
      writer.copy(entry.key, 0, entry.key.length);
      const text = beginLength(writer, VALUE_FIELD);
      writeValue(writer, value);
      endLength(writer, text);
      endLength(writer, content);
    }
    return true;
  }

  #valueOf({ source, of, slot, segment }: PreparedEntry, claims: Claims | null): string {
    const { request } = this;
    switch (source) {
      case 'value':
        return of;
      case 'method':
        return request.method;
      case 'host':
        return request.host;
      case 'path':
        return request.target.path;
      case 'path_segment':
        return request.target.segment(segment);
      case 'query':
        return request.target.parameter(of);
      case 'header':
        return request.header(slot);
      case 'cookie':
        return cookieOf(request.header(this.#cookieSlot), of);
      case 'client_address':
        this.#address ??= this.#readAddress();
        return this.#address;
      case 'claim':
        return claimOf(claims, of);
    }
  }

  #readAddress(): string {
    const { request } = this;
    return request.clientAddress === ''
      ? clientAddress(this.rules.clientAddress, request.headers.values[this.#addressSlot], request.peer)
      : addressOf(request.clientAddress);
  }
}

/** The names of the claims that a mapping reads. */
function claimsOf({ descriptors }: RequestMapping): string[] {
  const entries = descriptors.flat().filter(({ source }) => source === 'claim');
  return [...new Set(entries.map(({ of }) => of))];
}

function encoded(field: number, text: string): Uint8Array {
  const writer = new ByteWriter();
  writeBytes(writer, field, Buffer.from(text));
  return writer.take();
}
