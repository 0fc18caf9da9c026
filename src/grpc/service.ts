/**
 * gRPC services as the servers see them, free of any server library. Messages are bytes in protobuf wire format.
 * A service is a set of methods by full path; every server in `src/transports/grpc` serves the same value.
 */
export interface GrpcService {
  readonly unary: ReadonlyMap<string, UnaryMethod>;
  readonly serverStreaming: ReadonlyMap<string, StreamMethod>;
}

/** Handles one call. `request` is only valid until the method returns. */
export type UnaryMethod = (request: Uint8Array, reply: UnaryReply) => void;

/** Where the answer of a unary call goes; exactly one of the methods is called, once. */
export interface UnaryReply {
  /** Identifies the connection of the call, if the server distinguishes connections. */
  readonly caller?: object | undefined;
  /** Nothing is answered any more: it has been, the caller is gone, or the deadline has passed. */
  readonly done: boolean;
  /**
   * A header field of the call, by its name in lower case; empty when the call does not have it. Only until the method
   * returns: fields may be large, and are not kept for as long as a call takes.
   */
  header(name: string): string;
  /** `response` is only valid during the call. */
  send(response: Uint8Array): void;
  fail(status: GrpcStatus, message: string): void;
}

/** Handles one call whose answer is a stream. */
export type StreamMethod = (request: Uint8Array, stream: ReplyStream) => void;

export interface ReplyStream {
  /** Sends one message; the bytes are copied. Nothing happens once the stream has ended. */
  send(response: Uint8Array): void;
  /** Ends the stream with a status. */
  end(status: GrpcStatus, message: string): void;
  /** Calls `listener` once, when the caller goes away or the stream has ended. */
  onClose(listener: () => void): void;
}

/** Status codes of the gRPC protocol. */
export const GRPC_STATUS = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;
export type GrpcStatus = (typeof GRPC_STATUS)[keyof typeof GRPC_STATUS];

/** The status message of a call whose method threw: the cause is for the log, not for the caller. */
export const METHOD_FAILED_MESSAGE = 'the call failed inside the server; its log says why';
