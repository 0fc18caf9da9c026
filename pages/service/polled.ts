import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from './call.ts';

/** The latest answer to a request that is repeated. */
export interface Polled<Answer> {
  /** The last answer to this question; null before the first one. It stays if a later request fails. */
  readonly answer: Answer | null;
  /** Why the last request failed; null if it did not. */
  readonly error: ApiError | null;
  /** When the last answer arrived, in milliseconds since the epoch; 0 before the first one. */
  readonly answeredMs: number;
  readonly reload: () => void;
}

/**
 * Asks now and every `everyMs`, one request at a time and only while the tab is visible. `everyMs` 0 asks once.
 *
 * @param asked names the question; another name begins again, and null asks nothing
 * @param ask rejects with an ApiError
 */
export function usePolledAnswer<Answer>(
  asked: string | null,
  everyMs: number,
  ask: (signal: AbortSignal) => Promise<Answer>,
): Polled<Answer> {
  const latest = useRef(ask);
  latest.current = ask;
  const [state, setState] = useState<{
    readonly asked: string | null;
    readonly answer: Answer | null;
    readonly error: ApiError | null;
    readonly answeredMs: number;
  }>({ asked, answer: null, error: null, answeredMs: 0 });
  const [round, setRound] = useState(0);
  // Not after painting, so that the first request is on its way before the first view. `reload` begins another round.
  useLayoutEffect(() => {
    if (asked === null) return;
    const end = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    // A tab that was opened in the background asks when it is seen for the first time, also if it asks once.
    let isPutOff = false;
    const next = async () => {
      timer = undefined;
      isPutOff = document.hidden;
      if (!isPutOff) {
        try {
          const answer = await latest.current(end.signal);
          setState({ asked, answer, error: null, answeredMs: Date.now() });
        } catch (thrown) {
          if (end.signal.aborted) return;
          const error = thrown as ApiError;
          setState(was =>
            was.asked === asked ? { ...was, error } : { asked, answer: null, error, answeredMs: 0 },
          );
        }
        if (end.signal.aborted) return;
      }
      if (everyMs > 0) timer = setTimeout(next, everyMs);
    };
    const seen = () => {
      if (document.hidden || (timer === undefined && !isPutOff)) return;
      clearTimeout(timer);
      void next();
    };
    document.addEventListener('visibilitychange', seen);
    void next();
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
    answeredMs: isCurrent ? state.answeredMs : 0,
    reload: () => setRound(was => was + 1),
  };
}
