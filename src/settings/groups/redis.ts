import { HOUR_MS, SECOND_MS } from '../../base/clock.ts';
import {
  adjusted,
  anyText,
  bool,
  checkedText,
  choice,
  derivedSetting,
  duration,
  file,
  flag,
  integer,
  oneOf,
  type SettingGroup,
  setting,
} from '../kinds/kinds.ts';
import { DEFAULT_PER_SECOND_ADDRESS, DEFAULT_REDIS_ADDRESS } from '../kinds/redis-address.ts';

/** The Redis instance for all limits, or the second one for per-second limits. No setting of one defaults to the other's. */
type Instance = '' | 'PERSECOND_';

function bothNames(instance: Instance, name: string): readonly [string, string] {
  return [`KVCACHE_${instance}${name}`, `REDIS_${instance}${name}`];
}

/** The instance as help texts name it. */
function shown(instance: Instance): string {
  return instance === '' ? 'Redis' : 'the per-second Redis';
}

const address = checkedText({
  label:
    'host:port, path of a unix socket, redis:// or rediss://user:password@host:port/db, or a list with commas',
  accepts:
    'host:port, the path of a unix socket, or redis://user:password@host:port/db (rediss:// for TLS); for a cluster a list of its nodes, ' +
    'for sentinels the name of the master and a list of them, separated by commas',
  trims: 'commas',
  holds: text => text !== '',
});

const retryInterval = duration({ min: 1, max: HOUR_MS });

/** The client of the reference implementation reads a pool size of 0 as this. */
const POOL_OF_ZERO = 4;

/** How an instance is reached. */
function accessSettings(instance: Instance) {
  const names = (name: string) => bothNames(instance, name);
  const name = shown(instance);
  const authFile = (of: 'AUTH' | 'SENTINEL_AUTH') =>
    file(
      names(`${of}_FILE`),
      `File that contains the value of \`KVCACHE_${instance}${of}\`, instead of that variable. It is read for each ` +
        'connection, so passwords and tokens can be rotated without a restart.',
    );
  return {
    type: setting({
      names: names('TYPE'),
      kind: choice({
        texts: { single: 'single', sentinel: 'sentinel', cluster: 'cluster' },
        letterCase: 'ignored',
      }),
      default: 'single',
      help:
        `Deployment type of ${name}: one server or a proxy (\`single\`), a master that sentinels monitor ` +
        '(`sentinel`), or a cluster (`cluster`).',
    }),
    socketType: derivedSetting({
      names: names('SOCKET_TYPE'),
      kind: oneOf('unix', 'tcp', 'tcp4', 'tcp6'),
      default: `\`unix\` if \`KVCACHE_${instance}URL\` is a path, otherwise \`tcp\``,
      help:
        `Network of the connections to ${name} if it is a single server. \`tcp4\` and \`tcp6\` allow only ` +
        'one version of IP. Sentinels and clusters are always reached over TCP.',
    }),
    auth: setting({
      names: names('AUTH'),
      kind: anyText,
      default: '',
      help:
        `Credentials for ${name}: \`password\` or \`user:password\`. They take precedence over those in ` +
        `\`KVCACHE_${instance}URL\`. Never printed.`,
      secret: true,
    }),
    authFile: authFile('AUTH'),
    sentinelAuth: setting({
      names: names('SENTINEL_AUTH'),
      kind: anyText,
      default: '',
      help:
        `Credentials for the sentinels of ${name}: \`password\` or \`user:password\`. If empty, credentials ` +
        'in the address of the first sentinel apply. Never printed.',
      secret: true,
    }),
    sentinelAuthFile: authFile('SENTINEL_AUTH'),
    tls: flag(
      names('TLS'),
      `Connect to ${name} and its sentinels over TLS (1.2 or 1.3). Addresses that begin with \`rediss://\` ` +
        'enable it as well.',
    ),
  };
}

/** How the connections to an instance are used. */
function useSettings(instance: Instance) {
  const names = (name: string) => bothNames(instance, name);
  const name = shown(instance);
  return {
    timeoutMs: setting({
      names: names('TIMEOUT'),
      kind: adjusted(duration({ max: HOUR_MS }), ms => Math.max(ms, 0)),
      default: 10 * SECOND_MS,
      help:
        `Timeout for connecting to ${name}, and for the response to a command. \`0\` or less disables the ` +
        'timeout.',
    }),
    poolSize: setting({
      names: names('POOL_SIZE'),
      kind: adjusted(integer({ min: 0, max: 1_000 }), size => (size === 0 ? POOL_OF_ZERO : size)),
      default: 10,
      help:
        'Maximum number of connections that the primary thread and the threads of `SERVE_THREADS` together keep to a ' +
        `server of ${name}; see docs/stores.md. Each thread of \`WORKER_THREADS\` keeps up to as many again. ` +
        'Connections are opened when all open ones are busy; each carries one batch of decisions at a time. `0` is ' +
        `${POOL_OF_ZERO}.`,
    }),
    poolOnEmptyBehavior: setting({
      names: names('POOL_ON_EMPTY_BEHAVIOR'),
      kind: choice({ texts: { create: 'create', error: 'error', wait: 'wait' }, letterCase: 'ignored' }),
      default: 'create',
      help:
        `What a batch does when all pooled connections to ${name} are busy. \`wait\` waits for a free ` +
        `connection. \`create\` and \`error\` also wait, but at most \`KVCACHE_${instance}POOL_ON_EMPTY_WAIT_DURATION\`: ` +
        'then `create` opens a temporary connection and `error` fails the batch.',
    }),
    poolOnEmptyWaitMs: setting({
      names: names('POOL_ON_EMPTY_WAIT_DURATION'),
      kind: adjusted(duration({ max: HOUR_MS }), ms => Math.max(ms, 0)),
      default: SECOND_MS,
      help:
        `How long a batch waits for a free connection to ${name} before it opens a temporary one or fails, ` +
        `when \`KVCACHE_${instance}POOL_ON_EMPTY_BEHAVIOR\` is \`create\` or \`error\`.`,
    }),
    clusterParallelism: setting({
      names: names('CLUSTER_PIPELINE_PARALLELISM'),
      kind: integer({ min: 0, max: 1_000 }),
      default: 0,
      help:
        `Maximum number of cluster nodes of ${name} that are asked at the same time for the keys of a ` +
        'batch. `1` asks one node after the other, `0` asks all nodes at once.',
    }),
    pipelineWindowMs: setting({
      names: names('PIPELINE_WINDOW'),
      kind: adjusted(duration({ max: SECOND_MS }), ms => Math.max(ms, 0)),
      default: 0,
      help:
        `How long requests are collected into one batch for ${name}, for example \`150us\`. \`0\` or less ` +
        'sends requests at once, and those that arrive while a batch is in flight form the next batch. Batching over a ' +
        'time window adds up to that much latency to every request and uses more CPU. Leave it at `0` unless Redis is ' +
        'the bottleneck. With two Redis instances, the longer window applies to both.',
    }),
    pipelineLimit: setting({
      names: names('PIPELINE_LIMIT'),
      kind: integer({ max: Number.MAX_SAFE_INTEGER }),
      default: 0,
      help:
        'Has no effect, as in the reference implementation. Accepted so that existing configurations start; a value ' +
        'above `0` logs a warning.',
    }),
  };
}

/** The settings of an instance by their keys in {@link Settings}, which begin with its own. */
function keyed<I extends string, S extends SettingGroup['settings']>(instance: I, settings: S) {
  const entries = Object.entries(settings).map(([key, each]) => [
    `${instance}${key[0].toUpperCase()}${key.slice(1)}`,
    each,
  ]);
  return Object.fromEntries(entries) as { readonly [K in keyof S & string as `${I}${Capitalize<K>}`]: S[K] };
}

function addressHelp(instance: Instance): string {
  return (
    `Address of ${shown(instance)}: one server, the nodes of a cluster, or the name of the master followed by its ` +
    'sentinels, separated by commas. Never printed because it may contain a password.'
  );
}

/** The store in Redis (spec 2.7 and 2.8). */
export const redis = {
  title: 'Redis store',
  introduction:
    'Connections to Redis, which counts the requests when `BACKEND_TYPE` is `redis`; see docs/stores.md.',
  settings: {
    redisUrl: derivedSetting({
      names: bothNames('', 'URL'),
      kind: address,
      default: `\`${DEFAULT_REDIS_ADDRESS}\``,
      help: addressHelp(''),
      secret: true,
    }),
    ...keyed('redis', accessSettings('')),
    redisTlsClientCert: file(
      bothNames('', 'TLS_CLIENT_CERT'),
      'PEM file with the client certificate that Sluice presents to Redis. Applies to both Redis instances.',
    ),
    redisTlsClientKey: file(
      bothNames('', 'TLS_CLIENT_KEY'),
      'PEM file with the private key of the client certificate for Redis, without a passphrase. Applies to both ' +
        'Redis instances.',
    ),
    redisTlsCaCert: file(
      bothNames('', 'TLS_CACERT'),
      'PEM file with CA certificates to verify Redis servers with, in addition to those of the system, of Node.js ' +
        'and of `NODE_EXTRA_CA_CERTS`. Applies to both Redis instances.',
    ),
    redisTlsSkipHostnameVerification: flag(
      bothNames('', 'TLS_SKIP_HOSTNAME_VERIFICATION'),
      'Accept a Redis certificate for any host name. It must still be signed by a trusted CA. Applies to both Redis ' +
        'instances.',
    ),
    ...keyed('redis', useSettings('')),
    redisStartupInitialIntervalMs: setting({
      names: bothNames('', 'STARTUP_INITIAL_INTERVAL'),
      kind: retryInterval,
      default: SECOND_MS,
      help: 'Initial delay between attempts to connect to Redis at startup. Applies to both Redis instances.',
    }),
    redisStartupMaxIntervalMs: setting({
      names: bothNames('', 'STARTUP_MAX_INTERVAL'),
      kind: retryInterval,
      default: 30 * SECOND_MS,
      help:
        'Maximum delay between attempts to connect to Redis at startup. If it is not greater than ' +
        '`KVCACHE_STARTUP_INITIAL_INTERVAL`, every delay is this long. Applies to both Redis instances.',
    }),
    redisStartupMaxElapsedMs: setting({
      names: bothNames('', 'STARTUP_MAX_ELAPSED_TIME'),
      kind: adjusted(duration({ max: 480 * HOUR_MS }), ms => Math.max(ms, 0)),
      default: 0,
      help:
        'Time after which Sluice stops trying to connect to Redis at startup, and exits. `0` or less retries forever. ' +
        'Applies to both Redis instances.',
    }),
    redisHealthCheckActiveConnection: flag(
      bothNames('', 'HEALTH_CHECK_ACTIVE_CONNECTION'),
      'Report unhealthy while there is no connection to Redis, or to one of the two Redis instances.',
    ),
    redisCloseConnectionOnReadonlyError: setting({
      names: bothNames('', 'CLOSE_CONNECTION_ON_READONLY_ERROR'),
      kind: bool,
      default: true,
      help:
        'Replace a connection on which Redis answers `READONLY`, so that a failover behind the same address is ' +
        'noticed. Sluice always does this; `false` has no effect and logs a warning.',
    }),
  },
} as const;

/** The second Redis instance, for per-second limits. */
export const redisPerSecond = {
  title: 'Redis store for per-second limits',
  introduction: 'A second Redis instance for per-second limits, used when `KVCACHE_PERSECOND` is `true`.',
  settings: {
    redisPerSecond: flag(
      bothNames('', 'PERSECOND'),
      'Count per-second limits in a second Redis instance, so that their frequent writes do not load the first one. ' +
        'No setting of the second instance defaults to that of the first.',
    ),
    redisPerSecondUrl: setting({
      names: bothNames('PERSECOND_', 'URL'),
      kind: address,
      default: DEFAULT_PER_SECOND_ADDRESS,
      help: addressHelp('PERSECOND_'),
      secret: true,
    }),
    ...keyed('redisPerSecond', accessSettings('PERSECOND_')),
    ...keyed('redisPerSecond', useSettings('PERSECOND_')),
  },
} as const;
