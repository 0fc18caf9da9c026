import { isIPv6 } from 'node:net';
import { canBeSocketPath, RedisAddressFault, readTcpAddress } from './redis-address.ts';
import type { SettingKey, SettingValues } from './table.ts';

/** What is wrong between settings that are right by themselves. */
interface Finding {
  readonly blamed: readonly SettingKey[];
  readonly problem: string;
  readonly accepted: string;
}

/** A rule over several settings. */
export interface CrossCheck {
  /** What `find` reads, or derives from. It is not asked when one of these settings has a fault of its own. */
  readonly reads: readonly SettingKey[];
  readonly find: (values: SettingValues) => Finding | null;
}

type Listener = 'http' | 'grpc' | 'debug';

export const CROSS_CHECKS: readonly CrossCheck[] = [
  portIsFree('http', 'grpc'),
  portIsFree('http', 'debug'),
  portIsFree('grpc', 'debug'),
  { reads: ['backendType', 'redisType', 'redisSocketType', 'redisUrl'], find: redisAddressFitsSocketType },
  { reads: ['grpcServerUseTls', 'grpcServerTlsCert', 'grpcServerTlsKey'], find: tlsHasItsFiles },
  { reads: ['grpcServerUseTls', 'grpcClientTlsCaCert'], find: clientCaNeedsTls },
  { reads: ['grpcClientTlsCaCert', 'grpcClientTlsSan'], find: clientNameNeedsCa },
];

/**
 * Two servers on one port. The system might allow it and share the connections out between them,
 * so that half of the calls would reach the wrong one.
 */
function portIsFree(first: Listener, second: Listener): CrossCheck {
  const withGrpc = first === 'grpc' || second === 'grpc';
  const read: SettingKey[] = [`${first}Host`, `${first}Port`, `${second}Host`, `${second}Port`];
  return {
    reads: withGrpc ? [...read, 'grpcSocketPath'] : read,
    find(values) {
      const port = values[`${first}Port`];
      if (withGrpc && values.grpcSocketPath !== '') return null;
      if (port === 0 || port !== values[`${second}Port`]) return null;
      if (!hostsOverlap(values[`${first}Host`], values[`${second}Host`])) return null;
      return {
        blamed: [`${first}Port`, `${second}Port`],
        problem: 'two servers would listen on one port',
        accepted: 'different ports, or 0 for any free one',
      };
    },
  };
}

const EVERY_INTERFACE: ReadonlySet<string> = new Set(['', '0.0.0.0', '[::]']);

/** Names are not looked up: of those that mean one address only `localhost` is known to. */
function hostsOverlap(first: string, second: string): boolean {
  const [ours, theirs] = [addressesOf(first), addressesOf(second)];
  if ([...ours, ...theirs].some(address => EVERY_INTERFACE.has(address))) return true;
  return ours.some(address => theirs.includes(address));
}

function addressesOf(host: string): string[] {
  // An IPv6 address can be written in many ways, of which a URL has one. None can hold a zone (`fe80::1%eth0`).
  const url = `http://[${host}]`;
  if (isIPv6(host) && URL.canParse(url)) return [new URL(url).hostname];
  const name = host.toLowerCase().replace(/\.$/, '');
  return name === 'localhost' ? ['127.0.0.1', '[::1]'] : [name];
}

function redisAddressFitsSocketType(values: SettingValues): Finding | null {
  if (values.backendType !== 'redis' || values.redisType !== 'single') return null;
  const blamed: SettingKey[] = ['redisUrl', 'redisSocketType'];
  if (values.redisSocketType === 'unix') {
    if (canBeSocketPath(values.redisUrl)) return null;
    return { blamed, problem: 'not an address for a unix socket', accepted: 'the path of a unix socket' };
  }
  try {
    readTcpAddress(values.redisUrl);
    return null;
  } catch (fault) {
    if (!(fault instanceof RedisAddressFault)) throw fault;
    return {
      blamed,
      problem: `not an address for ${values.redisSocketType}: ${fault.message}`,
      accepted: 'host:port (port 1 to 65535) or redis://user:password@host:port/db',
    };
  }
}

function tlsHasItsFiles(values: SettingValues): Finding | null {
  const files: readonly SettingKey[] = ['grpcServerTlsCert', 'grpcServerTlsKey'];
  const missing = files.filter(key => values[key] === '');
  if (!values.grpcServerUseTls || missing.length === 0) return null;
  return {
    blamed: ['grpcServerUseTls', ...missing],
    problem: 'TLS needs a certificate and its key',
    accepted: 'the paths of both files, or GRPC_SERVER_USE_TLS=false',
  };
}

/** Whoever names a CA expects callers to be checked, and an open port would be a bad surprise. */
function clientCaNeedsTls(values: SettingValues): Finding | null {
  if (values.grpcClientTlsCaCert === '' || values.grpcServerUseTls) return null;
  return {
    blamed: ['grpcClientTlsCaCert', 'grpcServerUseTls'],
    problem: 'without TLS no caller shows a certificate',
    accepted: 'GRPC_SERVER_USE_TLS=true, or no GRPC_CLIENT_TLS_CACERT',
  };
}

function clientNameNeedsCa(values: SettingValues): Finding | null {
  if (values.grpcClientTlsSan === '' || values.grpcClientTlsCaCert !== '') return null;
  return {
    blamed: ['grpcClientTlsSan', 'grpcClientTlsCaCert'],
    problem: 'a name in a certificate proves nothing unless a CA vouches for it',
    accepted: 'the file of the CA in GRPC_CLIENT_TLS_CACERT, or no GRPC_CLIENT_TLS_SAN',
  };
}
