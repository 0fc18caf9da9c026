import { asError } from '../../../base/fault.ts';

/**
 * Runs all jobs, a few at a time. One that fails does not keep the others from being done.
 *
 * @throws (rejects with) the first failure, once all are done
 */
export async function runAll(jobs: readonly (() => Promise<void>)[], atOnce: number): Promise<void> {
  let failure: Error | null = null;
  let next = 0;
  const take = async (): Promise<void> => {
    while (next < jobs.length) {
      try {
        await jobs[next++]();
      } catch (thrown) {
        failure ??= asError(thrown);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, jobs.length) }, take));
  if (failure !== null) throw failure;
}
