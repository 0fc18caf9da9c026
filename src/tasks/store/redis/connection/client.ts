import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { backoffMs } from '../../../../base/backoff.ts';
import type { RedisTaskStoreOptions } from './options.ts';

/** Waits between attempts to connect: an outage should end soon after Redis is back. */
const RECONNECT = { initialMs: 50, maxMs: 2_000 };
/** Wait before a tenant whose slot is being moved is asked for again. */
const TRY_AGAIN_MS = 100;
/** How many redirections one such round costs at most. */
const REDIRECTIONS_A_ROUND = 4;
/** A connection that is silent for so much longer than a bounded answer takes is given up. */
const SILENCE_MARGIN_MS = 1_000;

/**
 * The client library, so set that it sends nothing a second time: a task whose creation was not answered may have been
 * created. Only redirections of a cluster are followed, as they say that nothing was done.
 */
export function redisClient(options: RedisTaskStoreOptions): Redis | Cluster {
  const { type, addresses, timeoutMs, random } = options;
  const wait = (times: number) => backoffMs(RECONNECT, times - 1, random);
  if (type === 'single') {
    const [address] = addresses;
    return new Redis({
      ...('path' in address ? { path: address.path } : { host: address.host, port: address.port }),
      ...connectionOptions(options),
      enableOfflineQueue: false,
      retryStrategy: wait,
      // Behind one address, another server may have become the master.
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
