import { randomInt } from 'node:crypto';
import { type ClientTlsFiles, clientTls } from '../../src/app/stores/client-tls.ts';
import { redisInstance } from '../../src/app/stores/redis-counters.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { AuthFile } from '../../src/base/files/auth-file.ts';
import { Outage, OutageLog, type OutageTexts } from '../../src/base/outage-log.ts';
import { CounterTable } from '../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../src/counters/embedded/embedded-store.ts';
import type { FingerprintKey } from '../../src/counters/fingerprint.ts';
import type { RedisCounters } from '../../src/counters/redis/commands/counters.ts';
import { SharedKeys } from '../../src/counters/redis/commands/shared-keys.ts';
import type { OnEmpty } from '../../src/counters/redis/connections/pool.ts';
import { ConnectionCount } from '../../src/counters/redis/connections/redis-link.ts';
import type { FeedListener } from '../../src/counters/redis/connections/refund-feed.ts';
import { RedisCounterStore } from '../../src/counters/redis/redis-counter-store.ts';
import type { CounterStore } from '../../src/counters/store.ts';
import { StatsRegistry } from '../../src/stats/registry.ts';
import type { Exemptions } from '../exam/exemptions.ts';
import { KeepingLogger } from './keeping-logger.ts';
import { type RedisServer, redisFor } from './redis-server.ts';

/** What a test needs of `tap` to clean up after itself. */
export interface Teardown {
  teardown(run: () => unknown): void;
}

export const TEST_FINGERPRINT_KEY: FingerprintKey = [0x1234567, -0x7654321, 0x2468ace, -0x13579bd];

/** A store to examine. `open` gives a fresh, empty one. */
export interface StoreKind {
  readonly name: string;
  /** What it cannot do in the exam of counter stores. */
  readonly exempt?: Exemptions;
  open(t: Teardown): Promise<CounterStore>;
}

/** An embedded store of its own. */
export function embeddedStore(places = 1_024): EmbeddedCounterStore {
  return new EmbeddedCounterStore(CounterTable.create(places));
}

/** The embedded store. */
export const sharedStoreKind: StoreKind = {
  name: 'memory',
  open: async () => embeddedStore(16_384),
};

/** Arguments of a Redis with a user who may not run scripts, like whoever comes through a sharding proxy. */
export const WITHOUT_SCRIPTS = [
  '--user',
  'plain',
  'on',
  'nopass',
  '~*',
  '+@all',
  '-eval',
  '-evalsha',
  '-script',
];
/** `KVCACHE_AUTH` of that user. */
export const PLAIN_USER = 'plain:';

/** Of stores in Redis. */
export const IN_REDIS: Exemptions = { batchClock: 'leases end by the clock of Redis' };

/** Of stores that send a command for each key: ioredis rounds integers in replies that are close to 2^53. */
export const SINGLE_COMMANDS: Exemptions = { ...IN_REDIS, lastCounts: 'integers in replies are rounded' };

const NO_SCRIPTS: Exemptions = {
  ...SINGLE_COMMANDS,
  admission: 'only a script can compare before it adds',
};

/**
 * Redis over TCP and without scripts, and over a unix socket, on a real server that lives as long as the test file. The
 * counter store hides how it is connected, so only its own exam needs the unix socket.
 */
export async function redisStoreKinds(
  t: Teardown,
): Promise<{ redis: RedisServer; kinds: StoreKind[]; overUnixSocket: StoreKind }> {
  const redis = await redisFor(t, { unixSocket: true, args: WITHOUT_SCRIPTS });
  const kind = (name: string, endpoint: TestEndpoint, exempt: Exemptions = IN_REDIS): StoreKind => ({
    name,
    exempt,
    open: async inner => {
      await redis.command('FLUSHALL');
      const store = redisStore(endpoint, { poolSize: 2 });
      inner.teardown(() => store.stop());
      await store.start();
      return store;
    },
  });
  return {
    redis,
    kinds: [
      kind('redis over tcp', { socketType: 'tcp', url: redis.address, auth: '' }),
      kind('redis without scripts', { socketType: 'tcp', url: redis.address, auth: PLAIN_USER }, NO_SCRIPTS),
    ],
    overUnixSocket: kind('redis over a unix socket', {
      socketType: 'unix',
      url: redis.socketPath!,
      auth: '',
    }),
  };
}

/** Where a store is, as the settings say it. */
export interface TestEndpoint {
  readonly socketType: 'tcp' | 'unix';
  readonly url: string;
  readonly auth: string;
  /** One server when it is not given. */
  readonly type?: 'single' | 'sentinel' | 'cluster';
  readonly sentinelAuth?: string;
  readonly authFile?: AuthFile;
  readonly sentinelAuthFile?: AuthFile;
  readonly tls?: ClientTlsFiles;
}

export interface RedisStoreOptions {
  readonly timeoutMs?: number;
  readonly startMaxElapsedMs?: number;
  readonly logger?: KeepingLogger;
  readonly clock?: Clock;
  /** Where the connections are counted, by the names of the service. */
  readonly stats?: StatsRegistry;
  /** Connections; ten when it is not given. */
  readonly poolSize?: number;
  readonly onEmpty?: OnEmpty;
  readonly connected?: (connected: boolean) => void;
  /** Told of refunds that other processes make. */
  readonly listener?: FeedListener;
  /** Seconds by which a time to live may be longer than its window. */
  readonly jitterS?: number;
}

/** How the stores of tests log that Redis cannot be used. */
export const REDIS_OUTAGES: OutageTexts = {
  level: 'error',
  began: 'Redis is unavailable',
  beganAtStart: 'Redis is unavailable at start',
  over: 'Redis is available again',
  fields: {},
};

/** A store on one instance of Redis, not yet started. */
export function redisStore(endpoint: TestEndpoint, options: RedisStoreOptions = {}): RedisCounterStore {
  const { clock = systemClock, logger = new KeepingLogger() } = options;
  const counters = redisCounters(endpoint, { ...options, logger, clock });
  const { listener = null } = options;
  const refunds = listener === null ? null : { listener, timeoutMs: options.timeoutMs ?? 5_000 };
  return new RedisCounterStore({ counters, secondsApart: false, refunds, outages: [], clock, logger });
}

/** Counters in one instance of Redis, not yet connected. */
export function redisCounters(endpoint: TestEndpoint, options: RedisStoreOptions = {}): RedisCounters {
  const { clock = systemClock, logger = new KeepingLogger(), stats = new StatsRegistry() } = options;
  const counters = { opened: stats.counter('opened'), closed: stats.counter('closed') };
  const connections = new ConnectionCount(counters, options.connected);
  stats.gauge('active', () => connections.active);
  const { type = 'single', sentinelAuth = '', tls = null } = endpoint;
  const { authFile = null, sentinelAuthFile = null } = endpoint;
  const onEmpty = options.onEmpty ?? { behavior: 'create', waitMs: 1_000 };
  return redisInstance(
    {
      ...endpoint,
      type,
      authFile,
      sentinelAuth,
      sentinelAuthFile,
      tls: tls === null ? null : clientTls(tls),
      pool: { size: options.poolSize ?? 10, onEmpty },
      clusterParallelism: 0,
    },
    {
      timeoutMs: options.timeoutMs ?? 5_000,
      startup: { initialMs: 20, maxMs: 50, maxElapsedMs: options.startMaxElapsedMs ?? 0 },
      clock,
      logger,
      random: () => randomInt(1_000_000) / 1_000_000,
      connections,
      outage: new Outage(REDIS_OUTAGES, new OutageLog({ clock, logger }), clock),
    },
    new SharedKeys(options.jitterS ?? 0),
  );
}

/** The stores between which decisions could differ: the exams of decisions go over all of them. */
export async function allStoreKinds(t: Teardown): Promise<StoreKind[]> {
  const { kinds } = await redisStoreKinds(t);
  return [sharedStoreKind, ...kinds];
}
