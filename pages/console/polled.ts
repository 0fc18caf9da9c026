import { type Polled, usePolledAnswer } from '../service/polled.ts';
import { useCall } from './session.ts';

/** Asks again after this many milliseconds, while the tab is visible. */
const DEFAULT_INTERVAL_MS = 3_000;

interface PollOptions {
  readonly everyMs?: number;
  /** Reads the text of an answer; `JSON.parse` if absent. */
  readonly read?: (text: string) => unknown;
}

/**
 * Reads a path of the tenant's API now and every `everyMs`, as the signed-in user. A null path asks nothing; `everyMs` 0
 * asks once.
 */
export function usePolled<Answer>(
  path: string | null,
  { everyMs = DEFAULT_INTERVAL_MS, read }: PollOptions = {},
): Polled<Answer> {
  const call = useCall();
  return usePolledAnswer<Answer>(path, everyMs, signal => call(path ?? '', { signal }, read));
}
