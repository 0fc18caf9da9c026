import { type Polled, usePolledAnswer } from '../service/polled.ts';
import { callApi } from './api.ts';

/** Asks again after this many milliseconds, while the tab is visible. */
const DEFAULT_INTERVAL_MS = 2_000;

/**
 * Reads a path of the operator's API now and every `everyMs`. A null path asks nothing; `everyMs` 0 asks once. With a
 * `body`, the request is a POST that only reads.
 */
export function usePolled<Answer>(
  path: string | null,
  { everyMs = DEFAULT_INTERVAL_MS, body }: { readonly everyMs?: number; readonly body?: unknown } = {},
): Polled<Answer> {
  const asked = path === null ? null : `${path}\n${body === undefined ? '' : JSON.stringify(body)}`;
  return usePolledAnswer<Answer>(asked, everyMs, signal =>
    callApi(path ?? '', { signal, ...(body !== undefined && { method: 'POST', body }) }),
  );
}
