import { asError } from './fault.ts';

/**
 * Runs `run` for each item, at most `limit` items at a time. A failure does not keep the other items from running.
 *
 * @throws (rejects with) the first failure, once all items have run
 */
export async function forEachLimited<T>(
  items: readonly T[],
  limit: number,
  run: (item: T) => Promise<unknown>,
): Promise<void> {
  let failure: Error | null = null;
  let next = 0;
  const runNext = async (): Promise<void> => {
    while (next < items.length) {
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
