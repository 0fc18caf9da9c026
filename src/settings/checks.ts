import { isIPv6 } from 'node:net';
import { redisAddressFault } from './kinds/redis-address.ts';
import { nodeIds } from './kinds/xds-kinds.ts';
import { STORE_SETTING_KEYS, storelessSettings } from './store-settings.ts';
import type { SettingKey, Settings, SettingValues } from './table.ts';

/** What is wrong between settings that are right by themselves. */
interface Finding {
  readonly blamed: readonly SettingKey[];
  readonly problem: string;
  readonly accepted: string;
}

/** A rule over several settings. */
interface CrossCheck {
  /** What `find` reads, or derives from. It is not asked when one of these settings has a fault of its own. */
  readonly reads: readonly SettingKey[];
  readonly find: (values: SettingValues, givenBy: Settings['givenBy']) => Finding | null;
}

type Listener = 'http' | 'grpc' | 'debug';

export const CROSS_CHECKS: readonly CrossCheck[] = [
  portIsFree('http', 'grpc'),
  portIsFree('http', 'debug'),
  portIsFree('grpc', 'debug'),
  metricsPortIsFree('http'),
  metricsPortIsFree('grpc'),
  metricsPortIsFree('debug'),
  { reads: ['sharePorts'], find: systemSharesPorts },
  { reads: ['backendType', 'redisType', 'redisSocketType', 'redisUrl'], find: redisAddressFits },
  {
    reads: [
      'backendType',
      'redisPerSecond',
      'redisPerSecondType',
      'redisPerSecondSocketType',
      'redisPerSecondUrl',
    ],
    find: perSecondAddressFits,
  },
  {
    reads: ['redisTls', 'redisPerSecondTls', 'redisTlsClientCert', 'redisTlsClientKey'],
    find: redisClientHasItsFiles,
  },
  { reads: ['backendType', ...STORE_SETTING_KEYS], find: storeIsChosen },
  onePassword('redisAuth', 'redisAuthFile'),
  onePassword('redisSentinelAuth', 'redisSentinelAuthFile'),
  onePassword('redisPerSecondAuth', 'redisPerSecondAuthFile'),
  onePassword('redisPerSecondSentinelAuth', 'redisPerSecondSentinelAuthFile'),
  { reads: ['backendType', 'redisPerSecond'], find: perSecondNeedsRedis },
  { reads: ['backendType', 'memcachedServers', 'memcachedSrv'], find: memcachedHasOneSource },
  {
    reads: ['memcachedTls', 'memcachedTlsClientCert', 'memcachedTlsClientKey'],
    find: memcachedClientHasItsFiles,
  },
  { reads: ['backendType', 'memoryStoreSnapshotPath'], find: snapshotIsOfTheEmbeddedStore },
  {
    reads: ['configType', 'xdsServerUrl', 'xdsUseTls', 'xdsTlsClientCert', 'xdsTlsClientKey'],
    find: xdsClientHasItsFiles,
  },
  { reads: ['configType', 'xdsServerUrl', 'xdsNodeId'], find: xdsServersHaveTheirNodeIds },
  { reads: ['grpcServerUseTls', 'grpcServerTlsCert', 'grpcServerTlsKey'], find: tlsHasItsFiles },
  { reads: ['grpcServerUseTls', 'grpcClientTlsCaCert'], find: clientCaNeedsTls },
  { reads: ['grpcClientTlsCaCert', 'grpcClientTlsSan'], find: clientNameNeedsCa },
  {
    reads: ['tasksEnabled', 'tasksStore', 'tasksRedisUrl', 'tasksRedisType'],
    find: tasksInRedisHaveAnAddress,
  },
  {
    reads: ['tasksEnabled', 'secretsMasterKey', 'secretsMasterKeyFile'],
    find: tasksHaveOneMasterKey,
  },
  { reads: ['tasksJwtIssuer', 'tasksJwtAudience', 'tasksJwtJwksUrl'], find: identityProviderIsComplete },
  {
    reads: ['tasksJwtIssuer', 'tasksJwtAutoProvision', 'tasksJwtTenantClaim'],
    find: provisionedUsersHaveATenant,
  },
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

/** The same for the port that Prometheus asks, which is open only when it is wanted. */
function metricsPortIsFree(other: Listener): CrossCheck {
  return {
    reads: [
      'usePrometheus',
      'disableStats',
      'prometheusAddress',
      'grpcSocketPath',
      `${other}Host`,
      `${other}Port`,
    ],
    find(values) {
      if (!values.usePrometheus || values.disableStats) return null;
      if (other === 'grpc' && values.grpcSocketPath !== '') return null;
      const { host, port } = values.prometheusAddress;
      if (port === 0 || port !== values[`${other}Port`]) return null;
      if (!hostsOverlap(host, values[`${other}Host`])) return null;
      return {
        blamed: ['prometheusAddress', `${other}Port`],
        problem: 'two servers would listen on one port',
        accepted: 'different ports, or 0 for any free one',
      };
    },
  };
}

/** Elsewhere the option of that name has other meanings: macOS gives all connections to the process that came last. */
function systemSharesPorts(values: SettingValues): Finding | null {
  if (!values.sharePorts || process.platform === 'linux') return null;
  return {
    blamed: ['sharePorts'],
    problem: `${process.platform} does not spread the connections of a port over several processes, as Linux does`,
    accepted: 'false, and a HOST, PORT, GRPC_HOST or GRPC_PORT of its own for each process',
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

function redisAddressFits(values: SettingValues): Finding | null {
  if (values.backendType !== 'redis') return null;
  const { redisType: type, redisSocketType: socketType, redisUrl: url } = values;
  const fault = redisAddressFault({ type, socketType, url });
  const key = type === 'single' ? 'redisSocketType' : 'redisType';
  return fault === null ? null : { blamed: ['redisUrl', key], ...fault };
}

function perSecondAddressFits(values: SettingValues): Finding | null {
  if (values.backendType !== 'redis' || !values.redisPerSecond) return null;
  const { redisPerSecondType: type, redisPerSecondSocketType: socketType, redisPerSecondUrl: url } = values;
  const fault = redisAddressFault({ type, socketType, url });
  const key = type === 'single' ? 'redisPerSecondSocketType' : 'redisPerSecondType';
  return fault === null ? null : { blamed: ['redisPerSecondUrl', key], ...fault };
}

/** Without this, a slip in the name of an address would leave every replica counting for itself. */
function storeIsChosen(values: SettingValues, givenBy: Settings['givenBy']): Finding | null {
  const blamed = storelessSettings({ values, givenBy });
  if (blamed.length === 0) return null;
  return {
    blamed,
    problem: 'settings of a counter store without the address of one; each process would count for itself',
    accepted:
      'the address of Redis in KVCACHE_URL (or REDIS_URL), or of memcached in ALTCACHE_HOST_PORT (or ' +
      'MEMCACHE_HOST_PORT); or BACKEND_TYPE=memory to count in the memory of each process on purpose',
  };
}

/** Of two passwords nobody can say which one is meant. */
function onePassword(auth: SettingKey, file: SettingKey): CrossCheck {
  return {
    reads: [auth, file],
    find(values) {
      if (values[auth] === '' || values[file] === '') return null;
      return {
        blamed: [auth, file],
        problem: 'two sources of one password',
        accepted: 'the password itself, or the file that holds it',
      };
    },
  };
}

/** A second instance was set up, and its limits are expected to be counted there. */
function perSecondNeedsRedis(values: SettingValues, givenBy: Settings['givenBy']): Finding | null {
  if (!values.redisPerSecond || values.backendType !== 'embedded') return null;
  // Otherwise the check that a store is chosen has said so.
  if (givenBy.backendType === undefined) return null;
  return {
    blamed: ['redisPerSecond', 'backendType'],
    problem: 'there is no first instance of Redis beside which limits per second could have a second one',
    accepted: 'the address of the first in KVCACHE_URL, or KVCACHE_PERSECOND=false',
  };
}

function redisClientHasItsFiles(values: SettingValues): Finding | null {
  if (!values.redisTls && !values.redisPerSecondTls) return null;
  if ((values.redisTlsClientCert === '') === (values.redisTlsClientKey === '')) return null;
  return {
    blamed: ['redisTlsClientCert', 'redisTlsClientKey'],
    problem: 'a certificate and its key are used together',
    accepted: 'the paths of both files, or of neither',
  };
}

function memcachedHasOneSource(values: SettingValues): Finding | null {
  if (values.backendType !== 'memcached') return null;
  const isListed = values.memcachedServers !== '';
  if (isListed !== (values.memcachedSrv !== '')) return null;
  return {
    blamed: ['memcachedServers', 'memcachedSrv'],
    problem: isListed ? 'two sources of memcached servers' : 'memcached has no servers',
    accepted: 'a list of servers, or the SRV record that names them',
  };
}

function memcachedClientHasItsFiles(values: SettingValues): Finding | null {
  if (!values.memcachedTls) return null;
  if ((values.memcachedTlsClientCert === '') === (values.memcachedTlsClientKey === '')) return null;
  return {
    blamed: ['memcachedTlsClientCert', 'memcachedTlsClientKey'],
    problem: 'a certificate and its key are used together',
    accepted: 'the paths of both files, or of neither',
  };
}

/** Whoever names a file expects counters to be there after a restart. */
function snapshotIsOfTheEmbeddedStore(values: SettingValues): Finding | null {
  if (values.memoryStoreSnapshotPath === '' || values.backendType === 'embedded') return null;
  return {
    blamed: ['memoryStoreSnapshotPath', 'backendType'],
    problem: 'only the embedded store is kept in a file',
    accepted: 'BACKEND_TYPE=memory, or no MEMORY_STORE_SNAPSHOT_PATH',
  };
}

function xdsClientHasItsFiles(values: SettingValues): Finding | null {
  const usesTls = values.xdsServerUrl.some(({ tls }) => tls ?? values.xdsUseTls);
  if (values.configType !== 'xds' || !usesTls) return null;
  if ((values.xdsTlsClientCert === '') === (values.xdsTlsClientKey === '')) return null;
  return {
    blamed: ['xdsTlsClientCert', 'xdsTlsClientKey'],
    problem: 'a certificate and its key are of no use without each other',
    accepted: 'the paths of both files, or neither',
  };
}

function xdsServersHaveTheirNodeIds(values: SettingValues): Finding | null {
  const servers = values.xdsServerUrl.length;
  if (values.configType !== 'xds' || nodeIds(values.xdsNodeId, servers) !== null) return null;
  return {
    blamed: ['xdsNodeId', 'xdsServerUrl'],
    problem: 'the number of node ids is not the number of servers',
    accepted: `one node id for all ${servers} servers, or ${servers} separated by commas`,
  };
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

function tasksInRedisHaveAnAddress(values: SettingValues, givenBy: Settings['givenBy']): Finding | null {
  const { tasksEnabled, tasksStore, tasksRedisUrl: url, tasksRedisType: type } = values;
  if (tasksEnabled && url !== '' && givenBy.tasksStore === undefined) {
    return {
      blamed: ['tasksRedisUrl', 'tasksStore'],
      problem: 'tasks have an address in Redis but would be kept in a file of this machine',
      accepted: 'TASKS_STORE=redis, or TASKS_STORE=sqlite to keep them in a file on purpose',
    };
  }
  if (!tasksEnabled || tasksStore !== 'redis') return null;
  if (url === '') {
    return {
      blamed: ['tasksStore', 'tasksRedisUrl'],
      problem: 'tasks are to be kept in Redis, and no address says in which',
      accepted: 'TASKS_REDIS_URL with the address, or TASKS_STORE=sqlite',
    };
  }
  const socketType = type === 'single' && url.startsWith('/') ? 'unix' : 'tcp';
  const fault = redisAddressFault({ type, socketType, url });
  return fault === null ? null : { blamed: ['tasksRedisUrl'], ...fault };
}

/** Secrets that are sealed by a key that nobody kept would be lost with the next start. */
function tasksHaveOneMasterKey(values: SettingValues): Finding | null {
  const given = [values.secretsMasterKey, values.secretsMasterKeyFile].filter(text => text !== '').length;
  if (!values.tasksEnabled || given === 1) return null;
  return {
    blamed: ['tasksEnabled', 'secretsMasterKey', 'secretsMasterKeyFile'],
    problem: given === 0 ? 'the task service has no key for secrets' : 'two sources of one key',
    accepted:
      'SECRETS_MASTER_KEY ("openssl rand -base64 32" makes one), or SECRETS_MASTER_KEY_FILE, one of them',
  };
}

function identityProviderIsComplete(values: SettingValues): Finding | null {
  const { tasksJwtIssuer, tasksJwtAudience, tasksJwtJwksUrl } = values;
  const given = [tasksJwtIssuer, tasksJwtAudience, tasksJwtJwksUrl].filter(text => text !== '').length;
  if (given === 0 || given === 3) return null;
  return {
    blamed: ['tasksJwtIssuer', 'tasksJwtAudience', 'tasksJwtJwksUrl'],
    problem: 'the identity provider is described incompletely',
    accepted: 'all three of TASKS_JWT_ISSUER, TASKS_JWT_AUDIENCE and TASKS_JWT_JWKS_URL, or none',
  };
}

/** Otherwise every user of the provider could choose a tenant by the host, and become its user. */
function provisionedUsersHaveATenant(values: SettingValues): Finding | null {
  if (values.tasksJwtIssuer === '' || !values.tasksJwtAutoProvision || values.tasksJwtTenantClaim !== '') {
    return null;
  }
  return {
    blamed: ['tasksJwtAutoProvision', 'tasksJwtTenantClaim'],
    problem: 'users are created at their first login, and tokens do not say for which tenant',
    accepted:
      'TASKS_JWT_TENANT_CLAIM with the claim that names the tenant, or TASKS_JWT_AUTO_PROVISION=false',
  };
}
