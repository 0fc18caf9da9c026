/**
 * A gRPC service, independent of server libraries: methods by their full path. Messages are bytes in protobuf wire
 * format. Every server in `src/transports/grpc` can serve it.
 */
export interface GrpcService {
  readonly unary: ReadonlyMap<string, UnaryMethod>;
  readonly serverStreaming: ReadonlyMap<string, StreamMethod>;
  /** Methods whose requests are a stream too. */
  readonly bidiStreaming: ReadonlyMap<string, BidiMethod>;
}

/** Handles one call. `request` is only valid until the method returns. */
export type UnaryMethod = (request: Uint8Array, reply: UnaryReply) => void;

/** The response of a unary call. The method calls exactly one of `send` and `fail`, once. */
export interface UnaryReply {
  /** Identifies the connection of the call, if the server distinguishes connections. */
  readonly caller?: object | undefined;
  /** The address of the peer; empty for a unix socket, or if the peer has disconnected. */
  readonly peer: string;
  /** Whether the call is over: it was answered, the caller is gone, or the deadline has passed. */
  readonly done: boolean;
  /**
   * A header field of the call, by its name in lower case, or `:authority`; empty if it is absent. Only valid until the method returns:
   * fields can be large, so they are not kept for the duration of the call.
   */
  header(name: string): string;
  /** `response` is only valid during the call. */
  send(response: Uint8Array): void;
  fail(status: GrpcStatus, message: string): void;
}

/** Handles one server-streaming call. `request` is only valid until the method returns. */
export type StreamMethod = (request: Uint8Array, stream: ReplyStream) => void;

/**
 * Handles one call with a stream of requests and a stream of responses. It is called when the call begins, before the
 * first message, and returns what receives the messages. A call may stay open for days. The method has to bound how many
 * are open: the server bounds them for each connection only.
 */
export type BidiMethod = (stream: ReplyStream) => RequestReceiver;

/**
 * Receives the requests of one call, until the call has ended. If it throws, the call ends with INTERNAL, as it does if
 * a method throws.
 */
export interface RequestReceiver {
  /** One message. `request` is only valid until this returns. */
  message(request: Uint8Array): void;
  /** The caller has sent its last message. The call stays open until the method ends the stream. Called at most once. */
  end(): void;
}

/** The responses of a server-streaming or bidirectional call. */
export interface ReplyStream {
  /** The address of the peer; empty for a unix socket, or if the peer has disconnected. */
  readonly peer: string;
  /** Sends one message. The bytes are copied. Does nothing once the stream has ended. */
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

/** The status message of a call whose method threw an error. The cause is logged, not sent to the caller. */
export const METHOD_FAILED_MESSAGE = 'internal error; see the log of the server';
