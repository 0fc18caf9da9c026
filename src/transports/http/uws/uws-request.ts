import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { SocketAddress } from 'node:net';
import { peerAddress } from '../../tcp-address.ts';
import type { RequestHead } from '../routes.ts';

/** The head of the request that uWebSockets.js currently passes on. One object serves all requests of a listener. */
export class UwsRequestHead implements RequestHead {
  readonly isBinary = false;
  #request!: HttpRequest;
  #response!: HttpResponse;

  /**
   * Returns this object for another request. It is valid only until the handler returns, when uWebSockets.js takes the
   * request back.
   */
  of(request: HttpRequest, response: HttpResponse): this {
    this.#request = request;
    this.#response = response;
    return this;
  }

  get method(): string {
    return this.#request.getCaseSensitiveMethod();
  }

  get path(): string {
    return this.#request.getUrl();
  }

  get query(): string {
    return this.#request.getQuery() ?? '';
  }

  get remoteAddress(): string {
    return remoteAddressOf(this.#response);
  }

  header(name: string): string {
    return this.#request.getHeader(name);
  }

  each(field: (name: string, value: string) => void): void {
    this.#request.forEach(field);
  }
}

/** The address of the caller as text, as Node.js writes it, while the response has not ended. */
export function remoteAddressOf(response: HttpResponse): string {
  const address = Buffer.from(response.getRemoteAddressAsText()).toString('latin1');
  if (!address.includes(':')) return address;
  // uWebSockets.js writes all digits of an IPv6 address, also of one that stands for an IPv4 address.
  return peerAddress({ remoteAddress: new SocketAddress({ address, family: 'ipv6' }).address });
}
