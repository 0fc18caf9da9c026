import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { backoffMs } from '../../../../base/backoff.ts';
import type { Clock, Timer } from '../../../../base/clock.ts';
import type { AuthFile, Credentials } from '../../../../base/files/auth-file.ts';
import { tlsOptions } from '../../../../clients/redis/address.ts';
import type { RedisTaskStoreOptions } from './options.ts';

/** Delays between attempts to connect. They are short, so that an outage ends soon after Redis is available again. */
const RECONNECT = { initialMs: 50, maxMs: 2_000 };
/** Delay before a command is retried whose slot is being migrated. */
const TRY_AGAIN_MS = 100;
/** Maximum number of redirections that one such retry causes. */
const REDIRECTIONS_A_ROUND = 4;
/** A connection is closed if it is silent for this much longer than the timeout of a reply. */
const SILENCE_MARGIN_MS = 1_000;
/** How often the slots of a cluster are refreshed. */
const REFRESH_MS = 1_000;

/**
 * Creates the ioredis client. It never sends a command twice: if the reply to a creation was lost, the task may have
 * been created. It follows only the redirections of a cluster, because these say that the command did not run.
 */
export function ioredisClient(options: RedisTaskStoreOptions): Redis | Cluster {
  const { type, addresses, access, timeoutMs, random } = options;
  const wait = (times: number) => backoffMs(RECONNECT, times - 1, random);
  if (type === 'single') {
    const [address] = addresses;
    return new Redis({
      ...('path' in address ? { path: address.path } : { host: address.host, port: address.port }),
      ...connectionOptions(options),
      ...(access.tls !== undefined && { tls: tlsOptions(access.tls, address) }),
      enableOfflineQueue: false,
      retryStrategy: wait,
      // After a failover, another server may be the master behind the same address.
      reconnectOnError: (failure: Error) => failure.message.startsWith('READONLY'),
    });
  }
  return new Cluster(
    addresses.filter(address => 'host' in address),
    {
      lazyConnect: true,
      enableOfflineQueue: false,
      clusterRetryStrategy: wait,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: TRY_AGAIN_MS,
      retryDelayOnTryAgain: TRY_AGAIN_MS,
      maxRedirections: Math.ceil(timeoutMs / TRY_AGAIN_MS) * REDIRECTIONS_A_ROUND,
      slotsRefreshTimeout: timeoutMs,
      redisOptions: connectionOptions(options),
    },
  );
}

function connectionOptions({ access, timeoutMs }: RedisTaskStoreOptions) {
  return {
    ...access,
    lazyConnect: true,
    protocol: 2 as const,
    disableClientInfo: true,
    connectTimeout: timeoutMs,
    socketTimeout: timeoutMs + SILENCE_MARGIN_MS,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  } satisfies RedisOptions;
}

/**
 * Refreshes which node of a cluster has which slots, so that the client notices a failover.
 *
 * ioredis can do this itself (`slotsRefreshInterval`). But a refresh that is in progress when the client disconnects
 * starts the timer of ioredis again, which then keeps the process from exiting.
 */
export class ClusterRefresh {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  #timer: Timer | null = null;

  constructor(cluster: Cluster, clock: Clock) {
    this.#cluster = cluster;
    this.#clock = clock;
  }

  start(): void {
    this.#timer = this.#clock.after(REFRESH_MS, () => {
      // Has no effect while a refresh is in progress. A disconnected client refreshes the slots when it connects.
      if (this.#cluster.status === 'ready') this.#cluster.refreshSlotsCache();
      this.start();
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }
}

/**
 * Credentials from a file. ioredis reads its options synchronously when it connects. Therefore the file is read in
 * advance: before the first connection, and each time a connection is lost or refused.
 */
export class LatestCredentials {
  readonly #file: AuthFile;
  readonly #failed: (failure: unknown) => void;
  #latest: Credentials = { username: '', password: '' };
  #reading: Promise<void> | null = null;

  /** @param failed called with the reason if the file cannot be read; the previous credentials remain in use */
  constructor(file: AuthFile, failed: (failure: unknown) => void) {
    this.#file = file;
    this.#failed = failed;
  }

  /** Reads the file. Calls during a read share that read. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  /** Lets every connection of the client use the credentials that were read last. */
  useIn(client: Redis | Cluster): void {
    const refresh = () => void this.refresh();
    if (client instanceof Cluster) {
      // Each node has its own options. This event comes before the node connects.
      client.on('+node', (node: Redis) => {
        this.#replaceIn(node);
        node.on('close', refresh);
      });
      client.on('node error', refresh);
    } else this.#replaceIn(client);
    client.on('error', refresh);
    client.on('close', refresh);
  }

  #replaceIn({ options }: Redis): void {
    Object.defineProperties(options, {
      username: { get: () => this.#latest.username || undefined, enumerable: true, configurable: true },
      password: { get: () => this.#latest.password || undefined, enumerable: true, configurable: true },
    });
  }

  async #read(): Promise<void> {
    try {
      this.#latest = await this.#file.read();
    } catch (failure) {
      this.#failed(failure);
    }
  }
}
