/**
 * Why a decision was not made. Each front maps these to its own status in one table
 * (gRPC: `src/transports/grpc/rate-limit-service.ts`, HTTP: `src/transports/http/answer.ts`).
 *
 * - `bad_request`: the caller's message breaks a rule; the text names the field and what is accepted
 * - `unparseable`: the caller's bytes are not a message at all
 * - `too_large`: the message is well formed, but holds more than one request may hold
 * - `no_rules`: no configuration has been loaded yet
 * - `store_failed`: the counter store did not answer; no hit is known to be counted
 * - `overloaded`: a queue is full; trying again later helps
 * - `cancelled`: the caller went away, or its deadline passed, before the decision was begun; nothing is counted
 * - `internal`: a defect of ours
 */
export type FaultCode =
  | 'bad_request'
  | 'unparseable'
  | 'too_large'
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

/** A failure whose cause is known, with a text for the caller: what was wrong, where, and what to do. */
export class Fault extends StacklessError {
  readonly code: FaultCode;

  constructor(code: FaultCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'Fault';
    this.code = code;
  }
}

/** Turns whatever was thrown into an Error, so that handlers need not ask what they caught. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The code of a failed system call (`ENOENT`), or the text of any other failure. */
export function systemCode(failure: unknown): string {
  if (failure instanceof Error && 'code' in failure && typeof failure.code === 'string') return failure.code;
  return String(failure);
}
