import { type SettingFault, shownAs } from './faults.ts';
import { anyText, bool, duration, integer, type Kind } from './kinds.ts';

/**
 * Settings of the reference implementation and of the specification (spec 2.7) that this version does not read.
 *
 * Deployments that move here carry them along, so none may be ignored without a word. One that asks for protection, for
 * other servers, or for another result refuses the start; one that only tunes what is not there is named in a warning.
 * Variables that only a library of the reference implementation reads (`OTEL_…`, `DD_…`, `GOSTATS_…`) are not among
 * them: processes have those for other reasons.
 */
export interface MissingSetting {
  /** The documented name, then the one of the reference implementation. */
  readonly names: readonly [string, ...string[]];
  /** True for a text that asks for nothing this version does not do. */
  readonly harmless: (text: string) => boolean;
  /** What this version does not have, when it refuses the start; null when a warning is enough. */
  readonly lacks: string | null;
}

/** The two names of settings whose documented names hold a word in place of a product's. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^KVCACHE_/, 'REDIS_'],
  [/^ALTCACHE_/, 'MEMCACHE_'],
  [/^(USE_)?PUSHSTATS/, '$1STATSD'],
  [/^AGENTSTATS_MOGRIFIERS$/, 'USE_DOG_STATSD_MOGRIFIERS'],
  [/^(USE_)?AGENTSTATS/, '$1DOG_STATSD'],
  [/^(USE_)?PULLSTATS/, '$1PROMETHEUS'],
];

function bothNames(name: string): [string, ...string[]] {
  const found = WORDS.find(([pattern]) => pattern.test(name));
  return found === undefined ? [name] : [name, name.replace(...found)];
}

/** Reads as the value that is the same as not setting it. */
function reads<V>(kind: Kind<V>, harmless: V): (text: string) => boolean {
  return text => {
    const reading = kind.read(text);
    return 'value' in reading && reading.value === harmless;
  };
}

const off = reads(bool, false);
const empty = reads(anyText, '');
const count = (value: number) => reads(integer({ max: Number.MAX_SAFE_INTEGER }), value);
const time = (ms: number) => reads(duration({ max: Number.MAX_SAFE_INTEGER }), ms);
/** In any letter case. */
const word = (value: string) => (given: string) => given.toLowerCase() === value;

type Harmless = MissingSetting['harmless'];
type Environment = Readonly<Record<string, string | undefined>>;

function refused(name: string, lacks: string, harmless: Harmless = off): MissingSetting {
  return { names: bothNames(name), harmless, lacks };
}

function warned(name: string, harmless: Harmless = empty): MissingSetting {
  return { names: bothNames(name), harmless, lacks: null };
}

/** What exists once for Redis, and once more for the second instance for limits per second. */
function redisTuning(prefix: 'KVCACHE_' | 'KVCACHE_PERSECOND_'): MissingSetting[] {
  return [
    refused(`${prefix}TLS`, 'TLS to Redis'),
    warned(`${prefix}POOL_SIZE`, count(10)),
    warned(`${prefix}POOL_ON_EMPTY_BEHAVIOR`, word('create')),
    warned(`${prefix}POOL_ON_EMPTY_WAIT_DURATION`, time(1_000)),
    warned(`${prefix}PIPELINE_WINDOW`, time(0)),
    warned(`${prefix}PIPELINE_LIMIT`, count(0)),
    warned(`${prefix}CLUSTER_PIPELINE_PARALLELISM`, count(1)),
    warned(`${prefix}SENTINEL_AUTH`),
  ];
}

/** In the order of the documents. A setting that comes to be read leaves this list. */
export const MISSING_SETTINGS: readonly MissingSetting[] = [
  warned('CONFIG_GRPC_XDS_NODE_ID', word('default')),
  warned('CONFIG_GRPC_XDS_NODE_METADATA'),
  warned('CONFIG_GRPC_XDS_SERVER_URL', word('localhost:18000')),
  warned('CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL', time(3_000)),
  warned('CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS'),
  refused('CONFIG_GRPC_XDS_SERVER_USE_TLS', 'rules from an xDS server'),
  warned('CONFIG_GRPC_XDS_CLIENT_TLS_CERT'),
  warned('CONFIG_GRPC_XDS_CLIENT_TLS_KEY'),
  warned('CONFIG_GRPC_XDS_SERVER_TLS_CACERT'),
  warned('CONFIG_GRPC_XDS_SERVER_TLS_SAN'),
  warned('XDS_CLIENT_BACKOFF_INITIAL_INTERVAL', time(10_000)),
  warned('XDS_CLIENT_BACKOFF_MAX_INTERVAL', time(60_000)),
  warned('XDS_CLIENT_BACKOFF_RANDOM_FACTOR', word('0.5')),
  warned('XDS_CLIENT_BACKOFF_JITTER', reads(bool, true)),
  warned('XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES', count(0)),

  refused('USE_PUSHSTATS', 'a statsd sink'),
  refused('USE_AGENTSTATS', 'a DogStatsD sink'),
  refused('USE_PULLSTATS', 'a Prometheus endpoint'),
  refused('AGENTSTATS_MOGRIFIERS', 'mogrifiers', empty),
  // Both values are met: `/stats` is all that there is to read.
  warned('DISABLE_STATS', given => off(given) || reads(bool, true)(given)),
  warned('STATS_FLUSH_INTERVAL', time(10_000)),
  warned('EXTRA_TAGS'),
  warned('PUSHSTATS_HOST', word('localhost')),
  warned('PUSHSTATS_PORT', count(8_125)),
  warned('PUSHSTATS_PROTOCOL', word('tcp')),
  warned('PULLSTATS_ADDR', word(':9090')),
  warned('PULLSTATS_PATH', word('/metrics')),
  warned('PULLSTATS_MAPPER_YAML'),
  warned('PULLSTATS_RESPONSE_TIME_AS_MILLISECONDS', off),

  ...redisTuning('KVCACHE_'),
  warned('KVCACHE_TLS_CLIENT_CERT'),
  warned('KVCACHE_TLS_CLIENT_KEY'),
  warned('KVCACHE_TLS_CACERT'),
  warned('KVCACHE_TLS_SKIP_HOSTNAME_VERIFICATION', off),
  refused('KVCACHE_HEALTH_CHECK_ACTIVE_CONNECTION', 'health that follows the connection to Redis'),
  refused('KVCACHE_PERSECOND', 'a second Redis for limits per second'),
  ...redisTuning('KVCACHE_PERSECOND_'),
  warned('KVCACHE_PERSECOND_SOCKET_TYPE'),
  warned('KVCACHE_PERSECOND_TYPE'),
  warned('KVCACHE_PERSECOND_URL'),
  warned('KVCACHE_PERSECOND_AUTH'),
  warned('KVCACHE_PERSECOND_TIMEOUT', time(10_000)),

  refused('ALTCACHE_HOST_PORT', 'a memcached store', empty),
  refused('ALTCACHE_SRV', 'a memcached store', empty),
  refused('ALTCACHE_TLS', 'a memcached store'),
  warned('ALTCACHE_SRV_REFRESH', time(0)),
  warned('ALTCACHE_MAX_IDLE_CONNS', count(2)),
  warned('ALTCACHE_TLS_CLIENT_CERT'),
  warned('ALTCACHE_TLS_CLIENT_KEY'),
  warned('ALTCACHE_TLS_CACERT'),
  warned('ALTCACHE_TLS_SKIP_HOSTNAME_VERIFICATION', off),

  refused('TRACING_ENABLED', 'tracing'),
  warned('TRACING_EXPORTER_PROTOCOL', word('http')),
  warned('TRACING_SERVICE_NAME', word('ratelimit')),
  warned('TRACING_SERVICE_NAMESPACE'),
  warned('TRACING_SERVICE_INSTANCE_ID'),
  warned('TRACING_SAMPLING_RATE', word('1')),
];

/** A fault for each variable that asks for what this version must not pass over in silence. */
export function missingSettingFaults(env: Environment): SettingFault[] {
  return asked(env).flatMap(({ variable, text, setting }) => {
    if (setting.lacks === null) return [];
    return {
      given: [shownAs(variable, text, false)],
      problem: `this version does not have ${setting.lacks}`,
      accepted: setting.harmless('false') ? 'false, or the variable unset' : 'the variable unset',
    };
  });
}

/** The variables that are set, are not read, and change nothing that a caller would notice. */
export function unreadVariables(env: Environment): string[] {
  return asked(env).flatMap(({ variable, setting }) => (setting.lacks === null ? [variable] : []));
}

/** Every variable of {@link MISSING_SETTINGS} that is set to something else than what is there anyway. */
function asked(env: Environment): { variable: string; text: string; setting: MissingSetting }[] {
  return MISSING_SETTINGS.flatMap(setting =>
    setting.names.flatMap(variable => {
      const text = env[variable];
      return text === undefined || setting.harmless(text) ? [] : [{ variable, text, setting }];
    }),
  );
}
