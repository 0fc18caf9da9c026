import { type Problem, retryLater } from '../checks/problem.ts';
import type { RestCall, RestHead } from '../http/http.ts';

/** A call that was refused at once. */
export const NO_CALL: RestCall = { body: () => {}, gone: () => {} };

/** The call does not fit into a queue. */
export function full(): Problem {
  return retryLater(
    'overloaded',
    'Too many or too large requests of this tenant are waiting. Retry in a second.',
  );
}

/** There is no thread that could handle the call. */
export function noThread(): Problem {
  return retryLater(
    'overloaded',
    'The REST interface is restarting, and the request was not processed. Retry in a second.',
  );
}

/**
 * A thread that had the call has ended.
 *
 * @param isHandled whether the thread may have changed something for the call
 */
export function interrupted({ method }: RestHead, isHandled: boolean): Problem {
  const mayHaveChanged = isHandled && method !== 'GET' && method !== 'HEAD';
  return retryLater(
    'interrupted',
    mayHaveChanged
      ? 'The request was interrupted and may have taken effect. Retry it; retry a POST with the same Idempotency-Key.'
      : 'The request was interrupted and had no effect. Retry it.',
  );
}
