/** Runs something for each item, so many at once; ends with the first failure, when those under way have ended. */
export async function eachAtMost<T>(
  items: readonly T[],
  atOnce: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const lane = async (): Promise<void> => {
    while (next < items.length && !failed) {
      try {
        await run(items[next++]);
      } catch (thrown) {
        failed = true;
        throw thrown;
      }
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason;
}
