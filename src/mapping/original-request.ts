import type { DescribedRequest } from '../messages/described-request.ts';
import { CALL_SLOTS, HeaderSlots } from './header-slots.ts';
import { RequestTarget } from './request-target.ts';
import { unicodeOf } from './text-value.ts';

/** The head of a request to Sluice; valid while it is read. */
interface CallHead {
  readonly method: string;
  readonly remoteAddress: string;
  /** Whether each character of a value stands for one byte. */
  readonly isBinary: boolean;
  each(field: (name: string, value: string) => void): void;
}

/** The dot of a complete name and a port, at the end of a host: not the colons of an IPv6 address, which is in brackets. */
const DOT_AND_PORT = /\.?(?::[0-9]*)?$/;

/**
 * The request that a client has sent to a proxy, as a mapping sees it. One object reads one request after the other, so
 * that nothing is allocated for a request whose parts are plain ASCII.
 */
export class OriginalRequest {
  method = '';
  readonly target = new RequestTarget();
  /** The address of the caller of Sluice; empty if it is not needed. */
  peer = '';
  /** The address of the client, if the caller has said it; else empty. */
  clientAddress = '';
  readonly headers: HeaderSlots;
  readonly #needsPeer: boolean;
  #host = '';
  #isBinary = false;

  /**
   * @param names the headers that the mapping reads, in lower case
   * @param needsPeer whether the mapping reads the address of the caller
   */
  constructor(names: Iterable<string>, needsPeer: boolean) {
    this.headers = new HeaderSlots(names);
    this.#needsPeer = needsPeer;
  }

  /** Clears everything, before a request is read. */
  clear(): void {
    this.method = '';
    this.peer = '';
    this.clientAddress = '';
    this.target.clear();
    this.headers.clear();
    this.#host = '';
    this.#isBinary = false;
  }

  /**
   * Reads the request that a proxy asks about.
   *
   * @param path what follows the name of the domain in the path of the call; if it is empty, headers say the target
   * @param query that of the call
   */
  readCall(call: CallHead, path: string, query: string): void {
    this.clear();
    this.#isBinary = call.isBinary;
    call.each(this.headers.take);
    const { values } = this.headers;
    this.method =
      values[CALL_SLOTS['x-forwarded-method']] || values[CALL_SLOTS['x-original-method']] || call.method;
    this.#host = values[CALL_SLOTS['x-forwarded-host']] || values[CALL_SLOTS.host];
    if (this.#needsPeer) this.peer = call.remoteAddress;
    const target = values[CALL_SLOTS['x-forwarded-uri']] || values[CALL_SLOTS['x-original-uri']];
    if (path !== '') this.target.readParts(this.unicode(path), this.unicode(query));
    else if (target !== '') this.target.read(this.unicode(target));
  }

  /** Reads a request that a caller of `/json` has described. Its headers say nothing about the rest of it. */
  readDescribed({ method, host, target, clientAddress, headers }: DescribedRequest): void {
    this.clear();
    this.method = method;
    this.clientAddress = clientAddress;
    if (target !== '') this.target.read(target);
    for (const [name, value] of headers) this.headers.take(name.toLowerCase(), value);
    this.#host = host || this.headers.values[CALL_SLOTS.host];
  }

  /** In lower case, without its port: clients can write both as they like. */
  get host(): string {
    const host = this.unicode(this.#host).toLowerCase();
    return host.includes(':') || host.endsWith('.') ? host.replace(DOT_AND_PORT, '') : host;
  }

  /** The value of a header by its slot. */
  header(slot: number): string {
    return this.unicode(this.headers.values[slot]);
  }

  unicode(text: string): string {
    return this.#isBinary ? unicodeOf(text) : text;
  }
}
