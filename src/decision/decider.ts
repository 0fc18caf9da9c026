import type { Fault } from '../base/fault.ts';

/**
 * The encoding of a response: a `RateLimitResponse` in protobuf wire format or proto3 JSON, or the headers and the body of
 * an HTTP response (`messages/http-response.ts`).
 */
export type ResponseFormat = 'protobuf' | 'json' | 'http';

/** Where a request comes from. */
export interface CallOrigin {
  /** The address of the peer, which is usually a proxy; empty for a unix socket, or if the peer has disconnected. */
  readonly peer: string;
  /** The trace ID of the caller: 32 lower-case hexadecimal digits. Empty if it sent none. */
  readonly traceId: string;
}

/** Receives one decision. Exactly one of the methods is called, once. */
export interface DecisionReply {
  /** Identifies the connection of the request. The requests of one caller share a part of the queue. */
  readonly caller?: object | undefined;
  /** Costs nothing until it is read. Undefined if it is unknown, as in decision threads. */
  readonly origin?: CallOrigin | undefined;
  /** True if the call was canceled or its deadline has passed. Such a request is not decided and not counted. */
  readonly gone: boolean;
  /**
   * @param response valid only during the call: its buffer is reused
   * @param retryAfterS the value of `Retry-After` for a front that answers refused callers itself; absent or 0 for none
   */
  answered(response: Uint8Array, overLimit: boolean, retryAfterS?: number): void;
  refused(fault: Fault): void;
}

/** For requests whose answer nobody waits for. */
export const NO_REPLY: DecisionReply = { gone: false, answered: () => {}, refused: () => {} };

/** The decision service, as the transports use it. */
export interface Decider {
  /**
   * Decides one `RateLimitRequest` (v3, protobuf wire format). The bytes are copied before the method returns. The reply
   * may be called before or after it returns.
   */
  decide(request: Uint8Array, format: ResponseFormat, reply: DecisionReply): void;
}
