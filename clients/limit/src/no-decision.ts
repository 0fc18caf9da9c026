/**
 * Why there was no decision:
 *
 * - `timeout`: the service did not answer before the deadline of the call.
 * - `unavailable`: there is no connection to the service, or it was lost before the answer.
 * - `overloaded`: `maxPending` calls were waiting already.
 * - `error_answer`: the service answered with an error, or with something that is not a decision.
 * - `invalid_request`: the request was not sent, because a part of it has the wrong type or range.
 * - `closed`: the client was closed.
 */
export type NoDecisionCode =
  | 'timeout'
  | 'unavailable'
  | 'overloaded'
  | 'error_answer'
  | 'invalid_request'
  | 'closed';

/** There was no decision. `message` says why, and `cause` has the error of the connection, if there was one. */
export class NoDecision extends Error {
  readonly code: NoDecisionCode;

  constructor(code: NoDecisionCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'NoDecision';
    this.code = code;
  }
}
