import { isIPv6 } from 'node:net';
import { HOUR_MS } from '../../base/clock.ts';
import { adjusted, checkedText, duration, file, flag, integer, setting } from '../kinds/kinds.ts';

const servers = checkedText({
  label: 'list of host:port and paths of unix sockets',
  accepts: 'host:port, [IPv6]:port or the path of a unix socket, separated by commas',
  trims: 'commas',
  holds(text) {
    if (text === '') return true;
    try {
      return memcachedAddresses(text).length > 0;
    } catch (fault) {
      if (fault instanceof MemcachedAddressFault) return false;
      throw fault;
    }
  },
});

const record = checkedText({
  label: '_service._proto.name',
  accepts: 'the name of an SRV record, such as _memcached._tcp.example.com',
  holds: text =>
    text === '' || /^_[A-Za-z0-9_-]{1,62}\._[A-Za-z0-9_-]{1,62}\.[A-Za-z0-9._-]{1,200}$/.test(text),
});

/** The reference implementation replaces values below 1 by its default. */
const DEFAULT_CONNECTIONS = 2;

/** The store in memcached (spec 2.7). */
export const memcached = {
  title: 'Memcached store',
  introduction:
    'Connections to memcached, which counts the requests when `BACKEND_TYPE` is `altcache` or `memcache`.',
  settings: {
    memcachedServers: setting({
      names: ['ALTCACHE_HOST_PORT', 'MEMCACHE_HOST_PORT'],
      kind: servers,
      default: '',
      help:
        'Addresses of the memcached servers, separated by commas. Keys are distributed by hash over the ' +
        'list, so every instance must list the same servers in the same order.',
    }),
    memcachedSrv: setting({
      names: ['ALTCACHE_SRV', 'MEMCACHE_SRV'],
      kind: record,
      default: '',
      help:
        'DNS SRV record that lists the memcached servers, instead of `ALTCACHE_HOST_PORT`. The servers ' +
        'are sorted by their address.',
    }),
    memcachedSrvRefreshMs: setting({
      names: ['ALTCACHE_SRV_REFRESH', 'MEMCACHE_SRV_REFRESH'],
      kind: adjusted(duration({ max: 24 * HOUR_MS }), ms => Math.max(ms, 0)),
      default: 0,
      help:
        'How often the SRV record of `ALTCACHE_SRV` is looked up. `0` or less looks it up only at ' +
        'startup.',
    }),
    memcachedConnections: setting({
      names: ['ALTCACHE_MAX_IDLE_CONNS', 'MEMCACHE_MAX_IDLE_CONNS'],
      kind: adjusted(integer({ max: 64 }), count => (count < 1 ? DEFAULT_CONNECTIONS : count)),
      default: DEFAULT_CONNECTIONS,
      help:
        'Number of connections to each memcached server. All requests share them, including those of the threads of ' +
        '`SERVE_THREADS`. Values below 1 are replaced by 2.',
    }),
    memcachedTls: flag(['ALTCACHE_TLS', 'MEMCACHE_TLS'], 'Connect to memcached over TLS (1.2 or 1.3).'),
    memcachedTlsClientCert: file(
      ['ALTCACHE_TLS_CLIENT_CERT', 'MEMCACHE_TLS_CLIENT_CERT'],
      'PEM file with the client certificate that Sluice presents to memcached, followed by intermediate ' +
        'certificates, if any.',
    ),
    memcachedTlsClientKey: file(
      ['ALTCACHE_TLS_CLIENT_KEY', 'MEMCACHE_TLS_CLIENT_KEY'],
      'PEM file with the private key of the client certificate for memcached, without a passphrase.',
    ),
    memcachedTlsCaCert: file(
      ['ALTCACHE_TLS_CACERT', 'MEMCACHE_TLS_CACERT'],
      'PEM file with CA certificates to verify memcached servers with, in addition to those of the ' +
        'system, of Node.js and of `NODE_EXTRA_CA_CERTS`.',
    ),
    memcachedTlsSkipHostnameVerification: flag(
      ['ALTCACHE_TLS_SKIP_HOSTNAME_VERIFICATION', 'MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION'],
      'Accept a memcached certificate for any host name. It must still be signed by a trusted CA.',
    ),
  },
} as const;

/** A longer list is a mistake. */
const MAX_SERVERS = 1_000;

/** A memcached server of the settings. */
interface MemcachedAddress {
  readonly shown: string;
  readonly target: { readonly path: string } | { readonly host: string; readonly port: number };
}

/**
 * The servers of a list: `host:port`, `[IPv6]:port` or the path of a unix socket, separated by commas. Their order
 * says which keys each of them holds.
 * @throws MemcachedAddressFault when the list holds something else, or nothing
 */
export function memcachedAddresses(list: string): MemcachedAddress[] {
  const texts = list.split(',');
  if (texts.length > MAX_SERVERS) {
    throw new MemcachedAddressFault(`it has ${texts.length} servers; the maximum is ${MAX_SERVERS}`);
  }
  return texts.map((text, i) => addressOf(text.trim(), i + 1));
}

/** A list of servers is invalid. */
class MemcachedAddressFault extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'MemcachedAddressFault';
  }
}

function addressOf(text: string, place: number): MemcachedAddress {
  if (text.includes('/') && !text.includes('://')) return { shown: text, target: { path: text } };
  const match = /^(?:\[([^\]]+)\]|([A-Za-z0-9._-]+)):([0-9]{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port < 1 || port > 65_535 || (match[1] !== undefined && !isIPv6(match[1]))) {
    throw new MemcachedAddressFault(`server ${place} is neither host:port nor the path of a unix socket`);
  }
  return { shown: text, target: { host: match[1] ?? match[2], port } };
}
