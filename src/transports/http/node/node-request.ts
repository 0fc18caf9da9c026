import type { IncomingMessage } from 'node:http';
import { peerAddress } from '../../tcp-address.ts';
import type { RequestHead } from '../routes.ts';

/** The head of a request that Node.js has parsed. */
export class NodeRequestHead implements RequestHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly isBinary = true;
  readonly #request: IncomingMessage;
  readonly #host: string | null;

  constructor(request: IncomingMessage, target: RequestTarget) {
    this.#request = request;
    this.method = request.method ?? '';
    this.path = target.path;
    this.query = target.query;
    this.#host = target.host;
  }

  get remoteAddress(): string {
    return peerAddress(this.#request.socket);
  }

  /** Searches the raw fields, because Node.js joins the values of repeated fields. */
  header(name: string): string {
    // RFC 9112, 3.2.2: the host in the target takes precedence over the `Host` field.
    if (name === 'host' && this.#host !== null) return this.#host;
    const { rawHeaders } = this.#request;
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const field = rawHeaders[i];
      if (field.length === name.length && field.toLowerCase() === name) return rawHeaders[i + 1];
    }
    return '';
  }

  each(field: (name: string, value: string) => void): void {
    const { rawHeaders } = this.#request;
    // As for `header`.
    const host = this.#host;
    if (host !== null) field('host', host);
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i].toLowerCase();
      if (host === null || name !== 'host') field(name, rawHeaders[i + 1]);
    }
  }
}

/** The target of a request (RFC 9112, 3.2). */
interface RequestTarget {
  /** `*` if the request concerns the server itself. */
  readonly path: string;
  readonly query: string;
  /** The host of a target in absolute form; null for other forms. */
  readonly host: string | null;
}

/** RFC 9112, 3.2.2. Text before an `@` would be user information, which is not allowed here (RFC 9110, 4.2.4). */
const ABSOLUTE = /^https?:\/\/([^/?#@]+)((?:[/?#].*)?)$/i;

/** Parses a target in origin form, in absolute form, or `*`. Returns null for any other target. */
export function readTarget(target: string): RequestTarget | null {
  if (target.startsWith('/')) return split(target, null);
  if (target === '*') return { path: '*', query: '', host: null };
  const absolute = ABSOLUTE.exec(target);
  if (absolute === null) return null;
  const [, host, rest] = absolute;
  return split(rest.startsWith('/') ? rest : `/${rest}`, host);
}

function split(target: string, host: string | null): RequestTarget {
  const mark = target.indexOf('?');
  if (mark === -1) return { path: target, query: '', host };
  return { path: target.slice(0, mark), query: target.slice(mark + 1), host };
}
