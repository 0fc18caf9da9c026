import type { RedisOptions } from 'ioredis';
import type { Clock } from '../../../../base/clock.ts';
import type { AuthFile } from '../../../../base/files/auth-file.ts';
import type { Logger } from '../../../../base/logger.ts';

/** Where one Redis server listens. */
export type RedisAddress = { readonly host: string; readonly port: number } | { readonly path: string };

export interface RedisTaskStoreOptions {
  /** `cluster`: some nodes of a Redis Cluster, of which all others are learnt. `single`: one server. */
  readonly type: 'single' | 'cluster';
  /** At least one; of a single server the first. */
  readonly addresses: readonly RedisAddress[];
  /** Who asks, and how it is encrypted. `db` is for a single server. */
  readonly access: Pick<RedisOptions, 'username' | 'password' | 'tls' | 'db'>;
  /** Holds user and password, in place of those in `access`; null for none. */
  readonly authFile: AuthFile | null;
  /** The reason why a connection failed, with the setting that helps. */
  readonly explain: (reason: string) => string;
  /** What every key begins with; without braces, which say what a key's slot is. */
  readonly keyPrefix: string;
  /** What `appendfsync` must be: with `everysec` about the last second can be lost when the power fails. */
  readonly durability: 'always' | 'everysec';
  /** Longest wait for an answer. */
  readonly timeoutMs: number;
  /** Longest wait for Redis at the start; it may have much to load. */
  readonly startMs: number;
  /** Operations that may be under way at once; more are refused as overloaded. */
  readonly maxInFlight: number;
  /** How often all tenants are looked through for hints that were lost; null for never. */
  readonly sweepMs: number | null;
  /** The store's time; null for that of Redis. */
  readonly time: Clock | null;
  /** For waits and bounds. */
  readonly clock: Clock;
  /** From 0 to below 1; spreads the waits between attempts to connect. */
  readonly random: () => number;
  readonly logger: Logger;
}

/** What fits most; the rest has to be said. */
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

/** How log lines and errors name a server. */
export function shownAddress(address: RedisAddress): string {
  if ('path' in address) return address.path;
  return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
}
