import type { JsonObject } from '../../base/json.ts';
import type { Kind, Reading } from './kinds.ts';

/** An xDS server, as `CONFIG_GRPC_XDS_SERVER_URL` names it. */
export interface XdsServer {
  /** `host:port`, or another target of gRPC. */
  readonly target: string;
  /** From the scheme of the address; null without a scheme, so that `CONFIG_GRPC_XDS_SERVER_USE_TLS` decides. */
  readonly tls: boolean | null;
}

/** Each server has its own connection, and each change recompiles the rules of all servers. */
const MOST_SERVERS = 16;

const SCHEMES: ReadonlyMap<string, boolean> = new Map([
  ['http', false],
  ['grpc', false],
  ['https', true],
  ['grpcs', true],
]);
const WITH_SCHEME = /^([a-z]+):\/\/(.*?)\/?$/;

const HOST_AND_PORT = /^(?:[^:/[\]\s]+|\[[^\]\s]+\]):(\d{1,5})$/;

/** Targets of gRPC that are lists of addresses, and further addresses of such a list. */
const ADDRESS_LIST = /^ipv[46]:/;
const ANOTHER_ADDRESS = /^(?:\d+\.\d+\.\d+\.\d+|\[[^\]\s]+\])(?::\d{1,5})?$/;

/** One or more addresses. The port is required, because gRPC would use 443. */
export const xdsServers: Kind<readonly XdsServer[]> = {
  label: 'host:port or another target of gRPC; http:// or https:// before host:port; several by comma',
  accepts:
    'host:port, with http:// or https:// before it to decide about TLS, or a target of gRPC that begins with dns:, ' +
    `ipv4:, ipv6: or unix:; up to ${MOST_SERVERS} different ones, separated by commas`,
  read(text): Reading<readonly XdsServer[]> {
    const servers: XdsServer[] = [];
    for (const part of parts(text)) {
      const server = readServer(part);
      if (server === null) return { refused: 'not in the accepted format' };
      if (servers.some(({ target }) => target === server.target))
        return { refused: 'a server is listed twice' };
      servers.push(server);
    }
    return servers.length > MOST_SERVERS
      ? { refused: `more than ${MOST_SERVERS} servers` }
      : { value: servers };
  },
  write: servers => servers.map(({ target, tls }) => `${schemeOf(tls)}${target}`).join(','),
};

/** The text split at its commas, except those within a list of addresses. */
function parts(text: string): string[] {
  const found: string[] = [];
  for (const part of text.split(',')) {
    const last = found.at(-1);
    if (last !== undefined && ADDRESS_LIST.test(last) && ANOTHER_ADDRESS.test(part)) {
      found[found.length - 1] = `${last},${part}`;
    } else found.push(part.trim());
  }
  return found;
}

function readServer(text: string): XdsServer | null {
  const [, scheme, rest] = WITH_SCHEME.exec(text) ?? [];
  const tls = scheme === undefined ? undefined : SCHEMES.get(scheme);
  if (tls !== undefined) return isHostAndPort(rest) ? { target: rest, tls } : null;
  const isTarget = /^(unix|dns|ipv4|ipv6):./.test(text) || isHostAndPort(text);
  return isTarget ? { target: text, tls: null } : null;
}

function isHostAndPort(text: string): boolean {
  const port = HOST_AND_PORT.exec(text)?.[1];
  return port !== undefined && Number(port) <= 65_535;
}

function schemeOf(tls: boolean | null): string {
  if (tls === null) return '';
  return tls ? 'https://' : 'http://';
}

/**
 * The node id for each server: the same text for all, or one for each server in their order. Null when the text has
 * another number of parts. With a single server the text is taken as it is, commas included.
 */
export function nodeIds(text: string, servers: number): readonly string[] | null {
  if (servers === 1) return [text];
  const ids = text.split(',').map(id => id.trim());
  if (ids.length === 1) return new Array<string>(servers).fill(text);
  return ids.length === servers ? ids : null;
}

/** Headers in the order given. */
type HeaderList = readonly (readonly [name: string, value: string])[];

/** Keys of metadata that gRPC allows. `grpc-…` is reserved. */
const HEADER_NAME = /^(?!grpc-)[a-z0-9_.-]{1,128}$/;

/** Printable ASCII. */
const HEADER_VALUE = /^[\x20-\x7e]*$/;

/** `name:value,name:value`, as the reference implementation reads a map: split at commas, then at the one colon. */
export const headerList: Kind<HeaderList> = {
  label: 'name:value,name:value',
  accepts: 'name:value,name:value with names of headers, printable values, and no "," or ":" in either',
  read(text): Reading<HeaderList> {
    if (text.trim() === '') return { value: [] };
    const headers = new Map<string, string>();
    for (const part of text.split(',')) {
      const [name, value, more] = part.split(':');
      if (value === undefined || more !== undefined) return { refused: 'a part without exactly one ":"' };
      const known = HEADER_NAME.test(name.toLowerCase()) && HEADER_VALUE.test(value);
      if (!known) return { refused: 'a part that is not a header' };
      headers.set(name.toLowerCase(), value);
    }
    return { value: [...headers] };
  },
  write: headers => headers.map(([name, value]) => `${name}:${value}`).join(','),
};

/**
 * `key=value,key=value`, as the reference implementation reads it (parts without `=` are left out), or a JSON object,
 * for values that are no texts or hold a comma.
 */
export const metadata: Kind<JsonObject> = {
  label: 'key=value,key=value, or a JSON object',
  accepts: 'key=value,key=value, or a JSON object',
  read(text): Reading<JsonObject> {
    if (/^\s*\{/.test(text)) return readObject(text);
    const pairs = text.split(',').flatMap((part): [string, string][] => {
      const split = part.indexOf('=');
      return split < 0 ? [] : [[part.slice(0, split), part.slice(split + 1)]];
    });
    return { value: Object.fromEntries(pairs) };
  },
  write: object => (Object.keys(object).length === 0 ? '' : JSON.stringify(object)),
};

function readObject(text: string): Reading<JsonObject> {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { refused: 'it starts like JSON but is not valid' };
  }
}
