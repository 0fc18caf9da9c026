import { Problem, retryLater } from '../checks/problem.ts';

/**
 * How often a change is tried: one of a resource that the caller can read again itself, and one of documents that the
 * caller does not know of.
 */
const TRIES = { version_mismatch: 5, store_unavailable: 8 } as const;

/**
 * Repeats a change for as long as other requests change the same documents between its reads and its write.
 *
 * @param what the documents, as the caller knows them
 * @param code the problem if others were always faster
 * @param attempt returns null if another request was faster
 */
export async function tryAgain<T extends object>(
  what: string,
  code: keyof typeof TRIES,
  attempt: () => Promise<T | null>,
): Promise<T> {
  for (let tries = 0; tries < TRIES[code]; tries++) {
    const done = await attempt();
    if (done !== null) return done;
  }
  const detail = `Other requests are changing ${what} at the same time. Retry the request.`;
  throw code === 'version_mismatch' ? new Problem(code, detail) : retryLater(code, detail);
}
