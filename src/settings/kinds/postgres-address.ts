import { isIPv6 } from 'node:net';

const DEFAULT_PORT = 5_432;
const MAX_HOSTS = 16;

/** The one parameter that is used. Clouds print addresses with it. */
const TLS_PARAMETER = 'sslmode';
/** Values of `sslmode`, and whether they ask for TLS. */
const TLS_MODES: Readonly<Record<string, boolean>> = {
  disable: false,
  allow: false,
  prefer: false,
  require: true,
  'verify-ca': true,
  'verify-full': true,
};

const FORM = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^@/?#]*))?(?:\?([^#]*))?$/;

/** Where tasks are stored in PostgreSQL. */
interface PostgresAddress {
  /** Without credentials, for log lines and errors. */
  readonly shown: string;
  /** A host name, an address, or the directory of a unix socket. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly user: string;
  /** Empty for none. */
  readonly password: string;
  readonly database: string;
  /** Whether the address asks for TLS. */
  readonly tls: boolean;
}

/** An address is invalid. The message does not contain the address, which may contain a password. */
class PostgresAddressFault extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'PostgresAddressFault';
  }
}

/** What is wrong with an address; null for nothing. */
export function postgresAddressFault(text: string): string | null {
  try {
    readPostgresAddress(text);
    return null;
  } catch (fault) {
    if (fault instanceof PostgresAddressFault) return fault.message;
    throw fault;
  }
}

/** Whether an address asks for TLS; false for one that is invalid. */
export function postgresAsksForTls(text: string): boolean {
  return postgresAddressFault(text) === null && readPostgresAddress(text).tls;
}

/**
 * Reads `postgres://user:password@host:port,host:port/database?sslmode=…`. The directory of a unix socket is a host with
 * escaped slashes.
 *
 * @throws PostgresAddressFault if it does not have this form
 */
export function readPostgresAddress(text: string): PostgresAddress {
  const match = FORM.exec(text);
  if (match === null)
    throw new PostgresAddressFault('it is not a postgres:// address, or a character of it is not escaped');
  const [, credentials = '', hostList, path = '', query = ''] = match;
  const colon = credentials.indexOf(':');
  const user = unescaped(colon < 0 ? credentials : credentials.slice(0, colon));
  const password = colon < 0 ? '' : unescaped(credentials.slice(colon + 1));
  if (user === '') throw new PostgresAddressFault('the user is missing');
  const parts = hostList.split(',');
  if (parts.length > MAX_HOSTS) throw new PostgresAddressFault(`it has more than ${MAX_HOSTS} hosts`);
  const hosts = parts.map(readHost);
  const database = unescaped(path) || user;
  const shown = `${hosts.map(({ host, port }) => `${isIPv6(host) ? `[${host}]` : host}:${port}`).join(',')}/${database}`;
  return { shown, hosts, user, password, database, tls: asksForTls(query) };
}

function readHost(text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::([0-9]{1,5}))?$/.exec(text);
  if (match === null) throw new PostgresAddressFault('a host is missing or invalid');
  const [, ipv6, name, digits] = match;
  const port = digits === undefined ? DEFAULT_PORT : Number(digits);
  if (port < 1 || port > 65_535) throw new PostgresAddressFault('a port is not between 1 and 65535');
  if (ipv6 !== undefined && !isIPv6(ipv6))
    throw new PostgresAddressFault('an address in brackets is not IPv6');
  return { host: ipv6 ?? unescaped(name), port };
}

function asksForTls(query: string): boolean {
  let tls = false;
  for (const [name, value] of new URLSearchParams(query)) {
    if (name !== TLS_PARAMETER) {
      throw new PostgresAddressFault(`it has parameters other than ${TLS_PARAMETER}`);
    }
    const asks = TLS_MODES[value];
    if (asks === undefined) {
      throw new PostgresAddressFault(
        `its ${TLS_PARAMETER} must be one of ${Object.keys(TLS_MODES).join(', ')}`,
      );
    }
    tls = asks;
  }
  return tls;
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new PostgresAddressFault('a `%` in it begins no escape; write `%25` for a percent sign');
  }
}
