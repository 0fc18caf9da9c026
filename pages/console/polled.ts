import { type Polled, usePolledAnswer } from '../service/polled.ts';
import { useCall } from './session.ts';

/** Asks again after this many milliseconds, while the tab is visible. */
const DEFAULT_INTERVAL_MS = 3_000;

/**
 * Reads a path of the tenant's API now and every `everyMs`, as the signed-in user. A null path asks nothing; `everyMs` 0
 * asks once.
 */
export function usePolled<Answer>(
  path: string | null,
  { everyMs = DEFAULT_INTERVAL_MS }: { readonly everyMs?: number } = {},
): Polled<Answer> {
  const call = useCall();
  return usePolledAnswer<Answer>(path, everyMs, signal => call(path ?? '', { signal }));
}
