import { useEffect, useState } from 'preact/hooks';
import { type ApiError, callApi } from './api.ts';

/** The latest answer to a request that is repeated. */
export interface Polled<Answer> {
  /** The last answer of this path; null before the first one. It stays if a later request fails. */
  readonly answer: Answer | null;
  /** Why the last request failed; null if it did not. */
  readonly error: ApiError | null;
  readonly reload: () => void;
}

/** Asks again after this many milliseconds, while the tab is visible. */
const DEFAULT_INTERVAL_MS = 2_000;

/**
 * Reads a path of the operator's API now and every `everyMs`, one request at a time and only while the tab is visible.
 * A null path asks nothing; `everyMs` 0 asks once. With a `body`, the request is a POST that only reads.
 */
export function usePolled<Answer>(
  path: string | null,
  { everyMs = DEFAULT_INTERVAL_MS, body }: { readonly everyMs?: number; readonly body?: unknown } = {},
): Polled<Answer> {
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const asked = path === null ? null : `${path}\n${sent ?? ''}`;
  const [state, setState] = useState<{
    readonly asked: string | null;
    readonly answer: Answer | null;
    readonly error: ApiError | null;
  }>({ asked, answer: null, error: null });
  const [round, setRound] = useState(0);
  // `reload` begins another round.
  useEffect(() => {
    if (path === null) return;
    const end = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      timer = undefined;
      if (!document.hidden) {
        try {
          const answer = await callApi<Answer>(path, {
            signal: end.signal,
            ...(sent !== undefined && { method: 'POST', body: JSON.parse(sent) }),
          });
          setState({ asked, answer, error: null });
        } catch (thrown) {
          if (end.signal.aborted) return;
          setState(was => ({
            asked,
            answer: was.asked === asked ? was.answer : null,
            error: thrown as ApiError,
          }));
        }
        if (end.signal.aborted) return;
      }
      if (everyMs > 0) timer = setTimeout(ask, everyMs);
    };
    const seen = () => {
      if (document.hidden || timer === undefined) return;
      clearTimeout(timer);
      void ask();
    };
    document.addEventListener('visibilitychange', seen);
    void ask();
    return () => {
      end.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [asked, everyMs, round]);
  const isCurrent = state.asked === asked;
  return {
    answer: isCurrent ? state.answer : null,
    error: isCurrent ? state.error : null,
    reload: () => setRound(was => was + 1),
  };
}
