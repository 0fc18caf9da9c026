import { isIPv6 } from 'node:net';
import { postgresAddressFault } from './kinds/postgres-address.ts';
import { redisAddressFault } from './kinds/redis-address.ts';
import { nodeIds } from './kinds/xds-kinds.ts';
import { STORE_SETTING_KEYS, storelessSettings } from './store-settings.ts';
import type { SettingKey, Settings, SettingValues } from './table.ts';

/** A conflict between settings that are valid by themselves. */
interface Finding {
  readonly blamed: readonly SettingKey[];
  readonly problem: string;
  readonly accepted: string;
}

/** A rule over several settings. */
interface CrossCheck {
  /** Settings that `find` depends on. The check is skipped if one of them is invalid by itself. */
  readonly reads: readonly SettingKey[];
  readonly find: (values: SettingValues, givenBy: Settings['givenBy']) => Finding | null;
}

/** A server that listens on a port. */
interface Listener {
  readonly port: SettingKey;
  readonly reads: readonly SettingKey[];
  /** The address; null if the server has no port. */
  readonly address: (values: SettingValues) => { readonly host: string; readonly port: number } | null;
}

const HTTP: Listener = {
  port: 'httpPort',
  reads: ['httpHost', 'httpPort'],
  address: ({ httpHost, httpPort }) => ({ host: httpHost, port: httpPort }),
};
const GRPC: Listener = {
  port: 'grpcPort',
  reads: ['grpcHost', 'grpcPort', 'grpcSocketPath'],
  address: ({ grpcHost, grpcPort, grpcSocketPath }) =>
    grpcSocketPath === '' ? { host: grpcHost, port: grpcPort } : null,
};
const DEBUG: Listener = {
  port: 'debugPort',
  reads: ['debugHost', 'debugPort'],
  address: ({ debugHost, debugPort }) => ({ host: debugHost, port: debugPort }),
};
const METRICS: Listener = {
  port: 'prometheusAddress',
  reads: ['usePrometheus', 'disableStats', 'prometheusAddress'],
  address: values => (values.usePrometheus && !values.disableStats ? values.prometheusAddress : null),
};

export const CROSS_CHECKS: readonly CrossCheck[] = [
  portIsFree(HTTP, GRPC),
  portIsFree(HTTP, DEBUG),
  portIsFree(GRPC, DEBUG),
  portIsFree(METRICS, HTTP),
  portIsFree(METRICS, GRPC),
  portIsFree(METRICS, DEBUG),
  { reads: ['sharePorts'], find: systemSharesPorts },
  redisAddressFits('redis', 'KVCACHE_URL'),
  redisAddressFits('redisPerSecond', 'KVCACHE_PERSECOND_URL'),
  clientHasItsFiles(
    ['redisTlsClientCert', 'redisTlsClientKey'],
    ['redisTls', 'redisPerSecondTls'],
    values => values.redisTls || values.redisPerSecondTls,
  ),
  { reads: ['backendType', ...STORE_SETTING_KEYS], find: storeIsChosen },
  onePassword('redisAuth', 'redisAuthFile'),
  onePassword('redisSentinelAuth', 'redisSentinelAuthFile'),
  onePassword('redisPerSecondAuth', 'redisPerSecondAuthFile'),
  onePassword('redisPerSecondSentinelAuth', 'redisPerSecondSentinelAuthFile'),
  onlyOne('adminToken', 'adminTokenFile', {
    problem: "the token of the operator's API is given twice",
    accepted: 'either ADMIN_TOKEN or ADMIN_TOKEN_FILE',
  }),
  { reads: ['backendType', 'redisPerSecond'], find: perSecondNeedsRedis },
  { reads: ['backendType', 'memcachedServers', 'memcachedSrv'], find: memcachedHasOneSource },
  clientHasItsFiles(
    ['memcachedTlsClientCert', 'memcachedTlsClientKey'],
    ['memcachedTls'],
    values => values.memcachedTls,
  ),
  { reads: ['backendType', 'memoryStoreSnapshotPath'], find: snapshotIsOfTheEmbeddedStore },
  clientHasItsFiles(
    ['xdsTlsClientCert', 'xdsTlsClientKey'],
    ['configType', 'xdsServerUrl', 'xdsUseTls'],
    ({ configType, xdsServerUrl, xdsUseTls }) =>
      configType === 'xds' && xdsServerUrl.some(({ tls }) => tls ?? xdsUseTls),
  ),
  { reads: ['configType', 'xdsServerUrl', 'xdsNodeId'], find: xdsServersHaveTheirNodeIds },
  { reads: ['grpcServerUseTls', 'grpcServerTlsCert', 'grpcServerTlsKey'], find: tlsHasItsFiles },
  { reads: ['grpcServerUseTls', 'grpcClientTlsCaCert'], find: clientCaNeedsTls },
  { reads: ['grpcClientTlsCaCert', 'grpcClientTlsSan'], find: clientNameNeedsCa },
  {
    reads: ['tasksEnabled', 'tasksStore', 'tasksRedisUrl', 'tasksRedisType'],
    find: tasksInRedisHaveAnAddress,
  },
  { reads: ['tasksEnabled', 'tasksStore', 'tasksPostgresUrl'], find: tasksInPostgresHaveAnAddress },
  {
    reads: ['tasksEnabled', 'secretsMasterKey', 'secretsMasterKeyFile'],
    find: tasksHaveOneMasterKey,
  },
  { reads: ['tasksJwtIssuer', 'tasksJwtAudience', 'tasksJwtJwksUrl'], find: identityProviderIsComplete },
  {
    reads: ['tasksJwtIssuer', 'tasksJwtAutoProvision', 'tasksJwtTenantClaim'],
    find: provisionedUsersHaveATenant,
  },
  {
    reads: ['decisionLogHashKeys', 'decisionLogHashSecret', 'decisionLogHashSecretFile'],
    find: hashSecretIsUsed,
  },
];

/**
 * Two servers on one port. The system may allow it and distribute the connections among them, so that half of the
 * calls would reach the wrong server.
 */
function portIsFree(first: Listener, second: Listener): CrossCheck {
  return {
    reads: [...first.reads, ...second.reads],
    find(values) {
      const [ours, theirs] = [first.address(values), second.address(values)];
      if (ours === null || theirs === null || ours.port === 0 || ours.port !== theirs.port) return null;
      if (!hostsOverlap(ours.host, theirs.host)) return null;
      return {
        blamed: [first.port, second.port],
        problem: 'two servers cannot listen on the same port',
        accepted: 'different ports, or 0 for any free one',
      };
    },
  };
}

/** Other systems implement the socket option differently: macOS gives all connections to the newest process. */
function systemSharesPorts(values: SettingValues): Finding | null {
  if (!values.sharePorts || process.platform === 'linux') return null;
  return {
    blamed: ['sharePorts'],
    problem: `processes cannot share ports on ${process.platform}: only Linux distributes the connections among them`,
    accepted: 'false, and a different HOST, PORT, GRPC_HOST or GRPC_PORT for each process',
  };
}

const EVERY_INTERFACE: ReadonlySet<string> = new Set(['', '0.0.0.0', '[::]']);

/** Host names are not resolved; only `localhost` is known to be an address. */
function hostsOverlap(first: string, second: string): boolean {
  const [ours, theirs] = [addressesOf(first), addressesOf(second)];
  if ([...ours, ...theirs].some(address => EVERY_INTERFACE.has(address))) return true;
  return ours.some(address => theirs.includes(address));
}

function addressesOf(host: string): string[] {
  // `URL` normalizes the many ways to write an IPv6 address, but cannot parse a zone (`fe80::1%eth0`).
  const url = `http://[${host}]`;
  if (isIPv6(host) && URL.canParse(url)) return [new URL(url).hostname];
  const name = host.toLowerCase().replace(/\.$/, '');
  return name === 'localhost' ? ['127.0.0.1', '[::1]'] : [name];
}

function redisAddressFits(instance: 'redis' | 'redisPerSecond', variable: string): CrossCheck {
  const [urlKey, typeKey] = [`${instance}Url`, `${instance}Type`] as const;
  const socketKey = `${instance}SocketType` as const;
  const reads: readonly SettingKey[] = ['backendType', typeKey, socketKey, urlKey];
  return {
    reads: instance === 'redis' ? reads : [instance, ...reads],
    find(values, givenBy) {
      if (values.backendType !== 'redis' || (instance === 'redisPerSecond' && !values.redisPerSecond))
        return null;
      const { [typeKey]: type, [socketKey]: socketType, [urlKey]: url } = values;
      // In the spelling that the operator uses: `REDIS_TYPE` beside `REDIS_URL`.
      const typeName = (givenBy[urlKey] ?? variable).replace(/URL$/, 'TYPE');
      const fault = redisAddressFault({ type, socketType, url, typeName });
      const key = type === 'single' ? socketKey : typeKey;
      return fault === null ? null : { blamed: [urlKey, key], ...fault };
    },
  };
}

/** A certificate without its key, or a key without its certificate, would not be presented. */
function clientHasItsFiles(
  files: readonly [SettingKey, SettingKey],
  reads: readonly SettingKey[],
  usesTls: (values: SettingValues) => boolean,
): CrossCheck {
  return {
    reads: [...reads, ...files],
    find(values) {
      const [cert, key] = files;
      if (!usesTls(values) || (values[cert] === '') === (values[key] === '')) return null;
      return {
        blamed: files,
        problem: 'a client certificate and its private key must be given together',
        accepted: 'the paths of both files, or of neither',
      };
    },
  };
}

/** Otherwise a typo in the name of the address variable would make every replica count separately. */
function storeIsChosen(values: SettingValues, givenBy: Settings['givenBy']): Finding | null {
  const blamed = storelessSettings({ values, givenBy });
  if (blamed.length === 0) return null;
  return {
    blamed,
    problem:
      'these settings belong to Redis or memcached, but no address of either is given; each process would count separately',
    accepted:
      'the address of Redis in KVCACHE_URL (or REDIS_URL), or of memcached in ALTCACHE_HOST_PORT (or ' +
      'MEMCACHE_HOST_PORT); or BACKEND_TYPE=memory to count separately in each process on purpose',
  };
}

/** With two values, it would be unclear which one applies. */
function onlyOne(one: SettingKey, other: SettingKey, texts: Omit<Finding, 'blamed'>): CrossCheck {
  return {
    reads: [one, other],
    find: values => (values[one] === '' || values[other] === '' ? null : { blamed: [one, other], ...texts }),
  };
}

function onePassword(auth: SettingKey, file: SettingKey): CrossCheck {
  return onlyOne(auth, file, {
    problem: 'the password is given twice',
    accepted: 'only one of the two: the password, or the file that contains it',
  });
}

/** The operator configured a second instance and expects per-second limits to be counted there. */
function perSecondNeedsRedis(values: SettingValues, givenBy: Settings['givenBy']): Finding | null {
  if (!values.redisPerSecond || values.backendType !== 'embedded') return null;
  // Without `BACKEND_TYPE`, `storeIsChosen` reports this already.
  if (givenBy.backendType === undefined) return null;
  return {
    blamed: ['redisPerSecond', 'backendType'],
    problem: 'a second Redis instance for per-second limits requires a first one',
    accepted: 'the address of the first instance in KVCACHE_URL, or KVCACHE_PERSECOND=false',
  };
}

function memcachedHasOneSource(values: SettingValues): Finding | null {
  if (values.backendType !== 'memcached') return null;
  const isListed = values.memcachedServers !== '';
  if (isListed !== (values.memcachedSrv !== '')) return null;
  return {
    blamed: ['memcachedServers', 'memcachedSrv'],
    problem: isListed ? 'the memcached servers are given twice' : 'no memcached servers are given',
    accepted: 'either a list of servers, or an SRV record',
  };
}

/** An operator who sets a snapshot file expects the counters to survive a restart. */
function snapshotIsOfTheEmbeddedStore(values: SettingValues): Finding | null {
  if (values.memoryStoreSnapshotPath === '' || values.backendType === 'embedded') return null;
  return {
    blamed: ['memoryStoreSnapshotPath', 'backendType'],
    problem: 'only the embedded store writes its counters to a file',
    accepted: 'BACKEND_TYPE=memory, or no MEMORY_STORE_SNAPSHOT_PATH',
  };
}

function xdsServersHaveTheirNodeIds(values: SettingValues): Finding | null {
  const servers = values.xdsServerUrl.length;
  if (values.configType !== 'xds' || nodeIds(values.xdsNodeId, servers) !== null) return null;
  return {
    blamed: ['xdsNodeId', 'xdsServerUrl'],
    problem: 'the number of node ids differs from the number of servers',
    accepted: `one node id for all ${servers} servers, or ${servers} separated by commas`,
  };
}

function tlsHasItsFiles(values: SettingValues): Finding | null {
  const files: readonly SettingKey[] = ['grpcServerTlsCert', 'grpcServerTlsKey'];
  const missing = files.filter(key => values[key] === '');
  if (!values.grpcServerUseTls || missing.length === 0) return null;
  return {
    blamed: ['grpcServerUseTls', ...missing],
    problem: 'TLS requires a certificate and its private key',
    accepted: 'the paths of both files, or GRPC_SERVER_USE_TLS=false',
  };
}

/** An operator who sets a CA expects client certificates to be verified; an open port would be a surprise. */
function clientCaNeedsTls(values: SettingValues): Finding | null {
  if (values.grpcClientTlsCaCert === '' || values.grpcServerUseTls) return null;
  return {
    blamed: ['grpcClientTlsCaCert', 'grpcServerUseTls'],
    problem: 'client certificates can only be verified over TLS',
    accepted: 'GRPC_SERVER_USE_TLS=true, or no GRPC_CLIENT_TLS_CACERT',
  };
}

function clientNameNeedsCa(values: SettingValues): Finding | null {
  if (values.grpcClientTlsSan === '' || values.grpcClientTlsCaCert !== '') return null;
  return {
    blamed: ['grpcClientTlsSan', 'grpcClientTlsCaCert'],
    problem: 'the name in a client certificate can only be verified with a CA',
    accepted: 'the file of the CA in GRPC_CLIENT_TLS_CACERT, or no GRPC_CLIENT_TLS_SAN',
  };
}

function tasksInRedisHaveAnAddress(values: SettingValues, givenBy: Settings['givenBy']): Finding | null {
  const { tasksEnabled, tasksStore, tasksRedisUrl: url, tasksRedisType: type } = values;
  if (tasksEnabled && url !== '' && givenBy.tasksStore === undefined) {
    return {
      blamed: ['tasksRedisUrl', 'tasksStore'],
      problem: 'an address of Redis is given for tasks, but they would be stored in a file on this machine',
      accepted: 'TASKS_STORE=redis, or TASKS_STORE=sqlite to store them in a file on purpose',
    };
  }
  if (!tasksEnabled || tasksStore !== 'redis') return null;
  if (url === '') {
    return {
      blamed: ['tasksStore', 'tasksRedisUrl'],
      problem: 'tasks are to be stored in Redis, but no address is given',
      accepted: 'TASKS_REDIS_URL with the address, or TASKS_STORE=sqlite',
    };
  }
  const socketType = type === 'single' && url.startsWith('/') ? 'unix' : 'tcp';
  const fault = redisAddressFault({ type, socketType, url, typeName: 'TASKS_REDIS_TYPE' });
  return fault === null ? null : { blamed: ['tasksRedisUrl'], ...fault };
}

function tasksInPostgresHaveAnAddress(values: SettingValues, givenBy: Settings['givenBy']): Finding | null {
  const { tasksEnabled, tasksStore, tasksPostgresUrl: url } = values;
  if (tasksEnabled && url !== '' && givenBy.tasksStore === undefined) {
    return {
      blamed: ['tasksPostgresUrl', 'tasksStore'],
      problem:
        'an address of PostgreSQL is given for tasks, but they would be stored in a file on this machine',
      accepted: 'TASKS_STORE=postgres, or TASKS_STORE=sqlite to store them in a file on purpose',
    };
  }
  if (!tasksEnabled || tasksStore !== 'postgres') return null;
  if (url === '') {
    return {
      blamed: ['tasksStore', 'tasksPostgresUrl'],
      problem: 'tasks are to be stored in PostgreSQL, but no address is given',
      accepted: 'TASKS_POSTGRES_URL with the address, or TASKS_STORE=sqlite',
    };
  }
  const problem = postgresAddressFault(url);
  if (problem === null) return null;
  return {
    blamed: ['tasksPostgresUrl'],
    problem,
    accepted: 'an address such as postgres://user:password@host:5432/database',
  };
}

/** A generated key would be lost at the next start, and with it all secrets that it encrypted. */
function tasksHaveOneMasterKey(values: SettingValues): Finding | null {
  const given = [values.secretsMasterKey, values.secretsMasterKeyFile].filter(text => text !== '').length;
  if (!values.tasksEnabled || given === 1) return null;
  return {
    blamed: ['tasksEnabled', 'secretsMasterKey', 'secretsMasterKeyFile'],
    problem:
      given === 0 ? 'the task service requires a master key for secrets' : 'the master key is given twice',
    accepted:
      'either SECRETS_MASTER_KEY ("openssl rand -base64 32" generates one), or SECRETS_MASTER_KEY_FILE',
  };
}

function identityProviderIsComplete(values: SettingValues): Finding | null {
  const { tasksJwtIssuer, tasksJwtAudience, tasksJwtJwksUrl } = values;
  const given = [tasksJwtIssuer, tasksJwtAudience, tasksJwtJwksUrl].filter(text => text !== '').length;
  if (given === 0 || given === 3) return null;
  return {
    blamed: ['tasksJwtIssuer', 'tasksJwtAudience', 'tasksJwtJwksUrl'],
    problem: 'the settings of the identity provider are incomplete',
    accepted: 'all three of TASKS_JWT_ISSUER, TASKS_JWT_AUDIENCE and TASKS_JWT_JWKS_URL, or none',
  };
}

/** Otherwise every user of the provider could become a user of any tenant by using its host name. */
function provisionedUsersHaveATenant(values: SettingValues): Finding | null {
  if (values.tasksJwtIssuer === '' || !values.tasksJwtAutoProvision || values.tasksJwtTenantClaim !== '') {
    return null;
  }
  return {
    blamed: ['tasksJwtAutoProvision', 'tasksJwtTenantClaim'],
    problem: 'users are created at their first login, but no claim of their tokens names the tenant',
    accepted:
      'TASKS_JWT_TENANT_CLAIM with the claim that names the tenant, or TASKS_JWT_AUTO_PROVISION=false',
  };
}

/** An operator who sets a secret expects hashes in the log, so personal data would be a surprise. */
function hashSecretIsUsed(values: SettingValues): Finding | null {
  const secrets: readonly SettingKey[] = ['decisionLogHashSecret', 'decisionLogHashSecretFile'];
  const given = secrets.filter(key => values[key] !== '');
  if (given.length === 0 || (values.decisionLogHashKeys && given.length === 1)) return null;
  return {
    blamed: ['decisionLogHashKeys', ...given],
    problem: given.length === 2 ? 'the secret is given twice' : 'without hashes, the secret has no effect',
    accepted: 'one of both secrets, and DECISION_LOG_HASH_KEYS=true',
  };
}
