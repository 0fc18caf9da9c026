import type { RedisOptions } from 'ioredis';
import type { Clock } from '../../../../base/clock.ts';
import type { AuthFile } from '../../../../base/files/auth-file.ts';
import type { Logger } from '../../../../base/logger.ts';
import type { RedisAddress } from '../../../../clients/redis/address.ts';
import type { Durability } from '../../../../clients/redis/requirements.ts';

export interface RedisTaskStoreOptions {
  /** `single`: one server. `cluster`: some nodes of a Redis Cluster, which name all others. */
  readonly type: 'single' | 'cluster';
  /** At least one. For a single server, only the first is used. */
  readonly addresses: readonly RedisAddress[];
  /** Credentials, TLS and, for a single server, the number of the database. */
  readonly access: Pick<RedisOptions, 'username' | 'password' | 'db'> & {
    readonly tls?: NonNullable<RedisOptions['tls']>;
  };
  /** Contains user name and password, instead of those in `access`; null for none. */
  readonly authFile: AuthFile | null;
  /** Adds to the reason of a failed connection which setting helps. */
  readonly explain: (reason: string) => string;
  /** Prefix of every key. It must not contain braces, because these determine the slot of a key. */
  readonly keyPrefix: string;
  /** The `appendfsync` that the servers must have. */
  readonly durability: Durability;
  /** Timeout of a reply. */
  readonly timeoutMs: number;
  /** Timeout of the first connection. Redis may have a large data set to load. */
  readonly startMs: number;
  /** Maximum number of operations in progress. Further ones are rejected as overloaded. */
  readonly maxInFlight: number;
  /** How often the store checks all tenants for lost hints; null for never. */
  readonly sweepMs: number | null;
  /** The time of the store; null for the time of Redis. */
  readonly time: Clock | null;
  /** For delays and timeouts. */
  readonly clock: Clock;
  /** A random number from 0 to below 1, for the delays between attempts to connect. */
  readonly random: () => number;
  readonly logger: Logger;
}

/** Defaults of the options that have one. */
export const REDIS_TASK_STORE_DEFAULTS = {
  access: {},
  authFile: null,
  explain: reason => reason,
  keyPrefix: 'sluice:',
  durability: 'everysec',
  timeoutMs: 5_000,
  startMs: 30_000,
  maxInFlight: 10_000,
  sweepMs: 30_000,
  time: null,
  random: Math.random,
} as const satisfies Partial<RedisTaskStoreOptions>;
