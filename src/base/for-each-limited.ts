import { asError } from './fault.ts';

/**
 * Runs `run` for each item, at most `limit` items at a time.
 *
 * @param afterFailure `continue`: a failure does not keep the other items from running. `stop`: after a failure no
 *   further items are started, for work that most likely fails for the same reason
 * @throws (rejects with) the first failure, once nothing is running
 */
export async function forEachLimited<T>(
  items: readonly T[],
  limit: number,
  run: (item: T) => Promise<unknown>,
  afterFailure: 'continue' | 'stop' = 'continue',
): Promise<void> {
  let failure: Error | null = null;
  let next = 0;
  const runNext = async (): Promise<void> => {
    while (next < items.length && (failure === null || afterFailure === 'continue')) {
      try {
        await run(items[next++]);
      } catch (thrown) {
        failure ??= asError(thrown);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, runNext));
  if (failure !== null) throw failure;
}
