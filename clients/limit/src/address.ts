import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type SecureContextOptions } from 'node:tls';

/** Certificates as PEM, for addresses with `https://`. Without a `ca`, those of Node.js are trusted. */
export interface TlsOptions extends Pick<SecureContextOptions, 'ca' | 'cert' | 'key'> {
  /** The name that the certificate of the service must have, if it is not the host of the address. */
  readonly servername?: string;
}

/** Where the service is, and how to connect to it. */
export interface Address {
  /** For errors. */
  readonly text: string;
  /** The `:authority` of requests, with the scheme. */
  readonly origin: string;
  /** Starts to connect. */
  open(): Socket;
}

const DEFAULT_PORT = 8081;
const TCP = /^(?:(https?):\/\/)?(\[[0-9a-f:.]+(?:%[\w.-]+)?\]|[^\s:/\\?#@[\]]+)(?::(\d{1,5}))?\/?$/i;
const UNIX = /^unix:(?:\/\/)?(\/.+)$/;

/** @throws RangeError if the address has another form */
export function addressOf(text: string, tls: TlsOptions = {}): Address {
  const path = UNIX.exec(text)?.[1];
  if (path !== undefined) {
    return { text, origin: 'http://localhost', open: () => connectTcp({ path }) };
  }
  const [, scheme, name, digits = DEFAULT_PORT] = TCP.exec(text) ?? [];
  const port = Number(digits);
  // A zone, as in `fe80::1%eth0`, chooses the interface to connect over. URLs cannot have one.
  const authority = `${name?.replace(/^(\[.*)%.*\]$/, '$1]')}:${port}`;
  if (name === undefined || port < 1 || port > 65_535 || !URL.canParse(`http://${authority}`)) {
    throw new RangeError(
      `The address of the service is "${text}". It must be HOST:PORT, https://HOST:PORT or unix:/PATH.`,
    );
  }
  const host = name.replace(/^\[(.*)\]$/, '$1');
  if (scheme?.toLowerCase() !== 'https') {
    return { text, origin: `http://${authority}`, open: () => connectTcp({ host, port, noDelay: true }) };
  }
  const options = { host, port, ...tls, ALPNProtocols: ['h2'] };
  return { text, origin: `https://${authority}`, open: () => connectTls(options).setNoDelay(true) };
}
