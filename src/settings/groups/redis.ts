import { HOUR_MS, SECOND_MS } from '../kinds/durations.ts';
import { adjusted, anyText, bool, checkedText, choice, duration, integer, path } from '../kinds/kinds.ts';
import { DEFAULT_PER_SECOND_ADDRESS, DEFAULT_REDIS_ADDRESS } from '../kinds/redis-address.ts';
import { derivedSetting, setting } from '../kinds/setting.ts';

/** The instance for all limits, and the one for limits per second; each has its own value, none follows the other. */
type Instance = '' | 'PERSECOND_';

function bothNames(instance: Instance, name: string): readonly [string, string] {
  return [`KVCACHE_${instance}${name}`, `REDIS_${instance}${name}`];
}

/** What a setting does; for the second instance, of which it is the same. */
function helpOf(instance: Instance, name: string, help: string): string {
  return instance === '' ? help : `As \`KVCACHE_${name}\`, for the second instance.`;
}

const address = checkedText({
  label: 'host:port, path of a unix socket, redis://user:password@host:port/db, or a list with commas',
  accepts:
    'host:port, the path of a unix socket, or redis://user:password@host:port/db; for a cluster a list of its nodes, ' +
    'for sentinels the name of the master and a list of them, with commas in between',
  holds: text => text !== '',
});

const retryInterval = duration({ min: 1, max: HOUR_MS });

/** The reference implementation's client takes 0 for this. */
const POOL_OF_ZERO = 4;

function type(instance: Instance) {
  return setting({
    names: bothNames(instance, 'TYPE'),
    kind: choice({
      texts: { single: 'single', sentinel: 'sentinel', cluster: 'cluster' },
      letterCase: 'ignored',
    }),
    default: 'single',
    help: helpOf(
      instance,
      'TYPE',
      'Arrangement of the Redis servers: one server (or a proxy), a master that sentinels know, or a cluster.',
    ),
  });
}

function socketType(instance: Instance) {
  return derivedSetting({
    names: bothNames(instance, 'SOCKET_TYPE'),
    kind: choice({
      texts: { unix: 'unix', tcp: 'tcp', tcp4: 'tcp4', tcp6: 'tcp6' },
      letterCase: 'exact',
    }),
    default: `\`unix\` when \`KVCACHE_${instance}URL\` is a path, else \`tcp\``,
    help: helpOf(
      instance,
      'SOCKET_TYPE',
      'Network of the connections to a single Redis; `tcp4` and `tcp6` allow one version of IP only. Sentinels and ' +
        'clusters are always reached by TCP.',
    ),
  });
}

function auth(instance: Instance) {
  return setting({
    names: bothNames(instance, 'AUTH'),
    kind: anyText,
    default: '',
    help: helpOf(
      instance,
      'AUTH',
      '`password` or `user:password` for Redis; wins over the one in `KVCACHE_URL`. Never printed.',
    ),
    secret: true,
  });
}

function authFile(instance: Instance, name: 'AUTH' | 'SENTINEL_AUTH') {
  return setting({
    names: bothNames(instance, `${name}_FILE`),
    kind: path,
    default: '',
    help: helpOf(
      instance,
      `${name}_FILE`,
      `File that holds what \`KVCACHE_${name}\` would, in place of it. It is read for each connection, so a password ` +
        'can be replaced and a token renewed without a restart.',
    ),
  });
}

function sentinelAuth(instance: Instance) {
  return setting({
    names: bothNames(instance, 'SENTINEL_AUTH'),
    kind: anyText,
    default: '',
    help: helpOf(
      instance,
      'SENTINEL_AUTH',
      '`password` or `user:password` for the sentinels. Empty: they are asked without. Never printed.',
    ),
    secret: true,
  });
}

function tls(instance: Instance) {
  return setting({
    names: bothNames(instance, 'TLS'),
    kind: bool,
    default: false,
    help: helpOf(instance, 'TLS', 'Connect to Redis, and to sentinels, over TLS (1.2 or 1.3).'),
  });
}

function timeout(instance: Instance) {
  return setting({
    names: bothNames(instance, 'TIMEOUT'),
    kind: adjusted(duration({ max: HOUR_MS }), ms => Math.max(ms, 0)),
    default: 10 * SECOND_MS,
    help: helpOf(
      instance,
      'TIMEOUT',
      'Longest time for a connection to Redis, and for the answer to a command. `0` or less is no limit.',
    ),
  });
}

function poolSize(instance: Instance) {
  return setting({
    names: bothNames(instance, 'POOL_SIZE'),
    kind: adjusted(integer({ min: 0, max: 1_000 }), size => (size === 0 ? POOL_OF_ZERO : size)),
    default: 10,
    help: helpOf(
      instance,
      'POOL_SIZE',
      'Connections to a Redis server that a thread keeps at most. One is opened at the start, others when all are at ' +
        `work; each has one batch of decisions at a time. \`0\` is ${POOL_OF_ZERO}.`,
    ),
  });
}

function poolOnEmptyBehavior(instance: Instance) {
  return setting({
    names: bothNames(instance, 'POOL_ON_EMPTY_BEHAVIOR'),
    kind: choice({ texts: { create: 'create', error: 'error', wait: 'wait' }, letterCase: 'ignored' }),
    default: 'create',
    help: helpOf(
      instance,
      'POOL_ON_EMPTY_BEHAVIOR',
      'What a batch does when all connections of the pool are at work: wait for one, and after a time open one more ' +
        'for this once (`create`) or fail (`error`); or wait however long it takes (`wait`).',
    ),
  });
}

function poolOnEmptyWait(instance: Instance) {
  return setting({
    names: bothNames(instance, 'POOL_ON_EMPTY_WAIT_DURATION'),
    kind: adjusted(duration({ max: HOUR_MS }), ms => Math.max(ms, 0)),
    default: SECOND_MS,
    help: helpOf(instance, 'POOL_ON_EMPTY_WAIT_DURATION', 'That time.'),
  });
}

function pipelineWindow(instance: Instance) {
  return setting({
    names: bothNames(instance, 'PIPELINE_WINDOW'),
    kind: adjusted(duration({ max: SECOND_MS }), ms => Math.max(ms, 0)),
    default: 0,
    help: helpOf(
      instance,
      'PIPELINE_WINDOW',
      'How long a batch of requests is held back so that more join it, for example `150us`. `0` or less: requests ' +
        'leave at once, and those that come while others are under way form a batch. The longer of both windows holds ' +
        'when there are two instances. A window takes what is left of a core, and every request as much longer.',
    ),
  });
}

function pipelineLimit(instance: Instance) {
  return setting({
    names: bothNames(instance, 'PIPELINE_LIMIT'),
    kind: integer({ max: Number.MAX_SAFE_INTEGER }),
    default: 0,
    help: helpOf(
      instance,
      'PIPELINE_LIMIT',
      'No effect, as in the reference implementation; above `0` a warning says so.',
    ),
  });
}

function clusterParallelism(instance: Instance) {
  return setting({
    names: bothNames(instance, 'CLUSTER_PIPELINE_PARALLELISM'),
    kind: integer({ min: 0, max: 1_000 }),
    default: 0,
    help: helpOf(
      instance,
      'CLUSTER_PIPELINE_PARALLELISM',
      'Nodes of a cluster that are asked at the same time for the keys of a batch; `1` asks one after the other, `0` ' +
        'all at once.',
    ),
  });
}

/** The store in Redis (spec 2.7 and 2.8). */
export const redis = {
  title: 'Redis store',
  settings: {
    redisUrl: derivedSetting({
      names: bothNames('', 'URL'),
      kind: address,
      default: `\`${DEFAULT_REDIS_ADDRESS}\``,
      help:
        'Address of the Redis store: of one server; of the nodes of a cluster; or the name of the master and its ' +
        'sentinels. Never printed, because it may carry a password.',
      secret: true,
    }),
    redisType: type(''),
    redisSocketType: socketType(''),
    redisAuth: auth(''),
    redisAuthFile: authFile('', 'AUTH'),
    redisSentinelAuth: sentinelAuth(''),
    redisSentinelAuthFile: authFile('', 'SENTINEL_AUTH'),
    redisTls: tls(''),
    redisTlsClientCert: setting({
      names: bothNames('', 'TLS_CLIENT_CERT'),
      kind: path,
      default: '',
      help: 'PEM file with the certificate that is shown to Redis. The TLS files are for both instances.',
    }),
    redisTlsClientKey: setting({
      names: bothNames('', 'TLS_CLIENT_KEY'),
      kind: path,
      default: '',
      help: 'PEM file with the private key of that certificate, without a passphrase.',
    }),
    redisTlsCaCert: setting({
      names: bothNames('', 'TLS_CACERT'),
      kind: path,
      default: '',
      help: 'PEM file with the certificates of CAs that are trusted in addition to those of the system, of Node.js and of `NODE_EXTRA_CA_CERTS`.',
    }),
    redisTlsSkipHostnameVerification: setting({
      names: bothNames('', 'TLS_SKIP_HOSTNAME_VERIFICATION'),
      kind: bool,
      default: false,
      help: 'Accept a certificate of Redis for any host name; that a trusted CA signed it is checked still.',
    }),
    redisTimeoutMs: timeout(''),
    redisPoolSize: poolSize(''),
    redisPoolOnEmptyBehavior: poolOnEmptyBehavior(''),
    redisPoolOnEmptyWaitMs: poolOnEmptyWait(''),
    redisClusterParallelism: clusterParallelism(''),
    redisPipelineWindowMs: pipelineWindow(''),
    redisPipelineLimit: pipelineLimit(''),
    redisStartupInitialIntervalMs: setting({
      names: bothNames('', 'STARTUP_INITIAL_INTERVAL'),
      kind: retryInterval,
      default: SECOND_MS,
      help: 'First wait between attempts to connect to Redis at start. These three are for both instances.',
    }),
    redisStartupMaxIntervalMs: setting({
      names: bothNames('', 'STARTUP_MAX_INTERVAL'),
      kind: retryInterval,
      default: 30 * SECOND_MS,
      help: 'Longest wait between these attempts. When it is not above the first wait, every wait is this long.',
    }),
    redisStartupMaxElapsedMs: setting({
      names: bothNames('', 'STARTUP_MAX_ELAPSED_TIME'),
      kind: adjusted(duration({ max: 480 * HOUR_MS }), ms => Math.max(ms, 0)),
      default: 0,
      help: 'Time after which these attempts, and the start, are given up. `0` or less tries for ever.',
    }),
    redisHealthCheckActiveConnection: setting({
      names: bothNames('', 'HEALTH_CHECK_ACTIVE_CONNECTION'),
      kind: bool,
      default: false,
      help: 'Be unhealthy while there is no connection to Redis, or to one of the two instances.',
    }),
    redisCloseConnectionOnReadonlyError: setting({
      names: bothNames('', 'CLOSE_CONNECTION_ON_READONLY_ERROR'),
      kind: bool,
      default: true,
      help:
        'Replace a connection on which Redis answers `READONLY`, so that a failover behind one address is noticed. ' +
        'Sluice always does this; `false` has no effect and logs a warning.',
    }),
  },
} as const;

/** The second instance of Redis, for limits per second. */
export const redisPerSecond = {
  title: 'Redis store for limits per second',
  settings: {
    redisPerSecond: setting({
      names: bothNames('', 'PERSECOND'),
      kind: bool,
      default: false,
      help: 'Count limits per second in a second instance of Redis. Its settings do not follow those of the first.',
    }),
    redisPerSecondUrl: setting({
      names: bothNames('PERSECOND_', 'URL'),
      kind: address,
      default: DEFAULT_PER_SECOND_ADDRESS,
      help: helpOf('PERSECOND_', 'URL', ''),
      secret: true,
    }),
    redisPerSecondType: type('PERSECOND_'),
    redisPerSecondSocketType: socketType('PERSECOND_'),
    redisPerSecondAuth: auth('PERSECOND_'),
    redisPerSecondAuthFile: authFile('PERSECOND_', 'AUTH'),
    redisPerSecondSentinelAuth: sentinelAuth('PERSECOND_'),
    redisPerSecondSentinelAuthFile: authFile('PERSECOND_', 'SENTINEL_AUTH'),
    redisPerSecondTls: tls('PERSECOND_'),
    redisPerSecondTimeoutMs: timeout('PERSECOND_'),
    redisPerSecondPoolSize: poolSize('PERSECOND_'),
    redisPerSecondPoolOnEmptyBehavior: poolOnEmptyBehavior('PERSECOND_'),
    redisPerSecondPoolOnEmptyWaitMs: poolOnEmptyWait('PERSECOND_'),
    redisPerSecondClusterParallelism: clusterParallelism('PERSECOND_'),
    redisPerSecondPipelineWindowMs: pipelineWindow('PERSECOND_'),
    redisPerSecondPipelineLimit: pipelineLimit('PERSECOND_'),
  },
} as const;
