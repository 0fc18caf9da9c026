import type { Settings } from '../../settings/table.ts';

/** The connections to one server, divided among the threads of the process. */
interface ConnectionShares {
  readonly primary: number;
  /** By place of the serving thread. A thread with 0 hands its batches on to the primary thread. */
  readonly serving: readonly number[];
}

/**
 * Divides the connections of each instance among the primary thread and the serving threads, so that the total does not
 * exceed the size of the pool.
 *
 * The primary thread, which decides little, gets one, and the serving threads share the rest evenly. If there are not
 * enough for all serving threads, only the first ones get connections, the same in all instances. The primary thread then
 * counts for the others, so it gets an even share.
 *
 * @param sizes of the pool of each instance, at least 1
 */
export function divideConnections(sizes: readonly number[], threads: number): ConnectionShares[] {
  const owners = Math.min(threads, ...sizes.map(size => size - 1));
  return sizes.map(size => {
    const primary = owners === threads && threads > 0 ? 1 : size - owners * Math.floor(size / (owners + 1));
    const rest = size - primary;
    const serving = Array.from({ length: threads }, (_, place) =>
      place < owners ? Math.floor(rest / owners) + (place < rest % owners ? 1 : 0) : 0,
    );
    return { primary, serving };
  });
}

/** The connections of one thread to each server. */
interface OwnConnections {
  readonly main: number;
  readonly perSecond: number;
}

/**
 * Returns the connections to Redis of the primary thread, or of the serving thread at a place; null if the thread has
 * none. Without serving threads, every thread has as many as the settings say.
 */
export function ownConnections(
  settings: Pick<Settings, 'redisPoolSize' | 'redisPerSecondPoolSize' | 'redisPerSecond'>,
  { threads, place }: { readonly threads: number; readonly place: number | null },
): OwnConnections | null {
  const { redisPoolSize, redisPerSecondPoolSize, redisPerSecond } = settings;
  const sizes = redisPerSecond ? [redisPoolSize, redisPerSecondPoolSize] : [redisPoolSize];
  const [main, perSecond = 0] = divideConnections(sizes, threads).map(shares =>
    place === null ? shares.primary : shares.serving[place],
  );
  return main === 0 ? null : { main, perSecond };
}
