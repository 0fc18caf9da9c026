import type { Fault } from '../base/fault.ts';

/** How the answer is encoded: `RateLimitResponse` in protobuf wire format, or in proto3 JSON. */
export type ResponseFormat = 'protobuf' | 'json';

/** Where one decision goes. Exactly one of the methods is called, once. */
export interface DecisionReply {
  /** Identifies the connection of the request. Requests of one caller share a part of the queue. */
  readonly caller?: object | undefined;
  /** Nobody waits for the decision any more. A request that nobody waits for when its turn comes is not counted. */
  readonly gone: boolean;
  /** `response` is only valid during the call: it points into a buffer that is used again. */
  answered(response: Uint8Array, overLimit: boolean): void;
  refused(fault: Fault): void;
}

/** What the fronts see of the decision service. */
export interface Decider {
  /**
   * Decides one `RateLimitRequest` (protobuf wire format, v3). The bytes are copied before the call returns;
   * the reply may be called before or after it returns.
   */
  decide(request: Uint8Array, format: ResponseFormat, reply: DecisionReply): void;
}
