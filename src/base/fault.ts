/**
 * Why a decision was not made. Each protocol maps these codes to its own status in one table
 * (gRPC: `src/transports/grpc/rate-limit-service.ts`, HTTP: `src/transports/http/answer.ts`).
 *
 * - `bad_request`: the caller's message breaks a rule; the text names the field and what is accepted
 * - `unparseable`: the caller's bytes are not a valid message
 * - `too_large`: the message is valid, but exceeds a limit for one request
 * - `unimplemented`: the message is valid, but asks for something that the settings disable
 * - `no_rules`: no configuration has been loaded yet
 * - `store_failed`: the counter store did not answer, so it is unknown whether hits were counted
 * - `overloaded`: a queue is full; the caller can retry later
 * - `cancelled`: the caller disconnected, or its deadline passed, before the decision started; nothing is counted
 * - `internal`: a bug in Sluice
 */
export type FaultCode =
  | 'bad_request'
  | 'unparseable'
  | 'too_large'
  | 'unimplemented'
  | 'no_rules'
  | 'store_failed'
  | 'overloaded'
  | 'cancelled'
  | 'internal';

/**
 * An error without a stack trace. Capturing the stack costs several times as much as the rest of a rejected request, so
 * errors that a caller can cause with any request do not have one.
 */
export abstract class StacklessError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = limit;
  }
}

/** A failure with a known cause. The message is for the caller: what is wrong, where, and what to do. */
export class Fault extends StacklessError {
  readonly code: FaultCode;

  constructor(code: FaultCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'Fault';
    this.code = code;
  }
}

/** Returns the thrown value itself if it is an Error, otherwise an Error with its text. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Returns the code of a failed system call, such as `ENOENT`, or the text of any other failure. */
export function systemCode(failure: unknown): string {
  if (failure instanceof Error && 'code' in failure && typeof failure.code === 'string') return failure.code;
  return String(failure);
}
