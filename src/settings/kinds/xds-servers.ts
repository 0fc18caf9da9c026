import type { Kind, Reading } from './kinds.ts';

/** An xDS server, as `CONFIG_GRPC_XDS_SERVER_URL` names it. */
export interface XdsServer {
  /** `host:port`, or another target of gRPC. */
  readonly target: string;
  /** What the scheme of the address says; null when it has none, and `CONFIG_GRPC_XDS_SERVER_USE_TLS` decides. */
  readonly tls: boolean | null;
}

/** Each server has a connection of its own, and every change is compiled with the rules of all of them. */
const MOST_SERVERS = 16;

const SCHEMES: ReadonlyMap<string, boolean> = new Map([
  ['http', false],
  ['grpc', false],
  ['https', true],
  ['grpcs', true],
]);
const WITH_SCHEME = /^([a-z]+):\/\/(.*?)\/?$/;

const HOST_AND_PORT = /^(?:[^:/[\]\s]+|\[[^\]\s]+\]):(\d{1,5})$/;

/** The targets of gRPC that are lists of addresses themselves, and what continues one. */
const ADDRESS_LIST = /^ipv[46]:/;
const ANOTHER_ADDRESS = /^(?:\d+\.\d+\.\d+\.\d+|\[[^\]\s]+\])(?::\d{1,5})?$/;

/** One address or several. gRPC would take a missing port for 443, so that is refused. */
export const xdsServers: Kind<readonly XdsServer[]> = {
  label: 'host:port or another target of gRPC; http:// or https:// before host:port; several by comma',
  accepts:
    'host:port, with http:// or https:// before it to decide about TLS, or a target of gRPC that begins with dns:, ' +
    `ipv4:, ipv6: or unix:; up to ${MOST_SERVERS} different ones, separated by commas`,
  read(text): Reading<readonly XdsServer[]> {
    const servers: XdsServer[] = [];
    for (const part of parts(text)) {
      const server = readServer(part);
      if (server === null) return { refused: 'not of the accepted form' };
      if (servers.some(({ target }) => target === server.target))
        return { refused: 'a server that is named twice' };
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
