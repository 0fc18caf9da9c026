import type { Http2Connection } from '../http2/connection/http2-connection.ts';
import { fieldOf, type RequestHead } from '../http2/connection/request-head.ts';
import type { Http2Stream } from '../http2/streams/stream.ts';
import { ANSWER_HEAD, failureBlock, OK_TRAILERS } from './blocks.ts';
import type { Dated, Deadlines } from './deadlines.ts';
import { type ContentReader, PREFIX_BYTES } from './message-reader.ts';
import type { Refusal } from './refusals.ts';
import { GRPC_STATUS, type GrpcStatus, type UnaryMethod, type UnaryReply } from './service.ts';

/** The parts of a connection that its calls use. */
export interface CallContext {
  readonly connection: Http2Connection;
  /** The address of the peer; empty if it has none. */
  readonly peer: string;
  readonly deadlines: Deadlines;
  /** Response bytes of one call with a stream of responses that may wait for the caller. */
  readonly maxStreamQueuedBytes: number;
  /** Number of abandoned calls whose methods have not answered yet. */
  abandoned: number;
  /** Whether one more response may be queued, given the responses that already wait for the peer. */
  hasRoom(): boolean;
  /** A message of an open stream of requests has begun: from now on, the call is an unfinished request. */
  requestBegan(call: Call): void;
  /** The request of an unfinished call is complete, or no longer needed. */
  requestEnded(call: Call): void;
  /** Output was added that the transport has to send. */
  wrote(): void;
  /** The code of a method has thrown an error. */
  methodFailed(call: Call, thrown: unknown): void;
}

/** The status message of a call whose responses nobody reads. */
export const NOT_READ = 'too many response bytes are waiting because the caller does not read them';

/** What all kinds of calls have in common. */
export abstract class Call implements Dated {
  readonly stream: Http2Stream;
  readonly path: string;
  deadlineMs = Number.POSITIVE_INFINITY;
  /** When the unfinished request began, in milliseconds since the epoch. */
  beganMs = 0;
  /** Bytes that the unfinished request counts towards the limits on unfinished requests. */
  heldBytes = 0;
  /** The calls of the connection that began before and after this one, while its request is unfinished. */
  older: Call | null = null;
  newer: Call | null = null;
  done = false;
  /** Joins a message that arrives in several parts; null until it is needed. */
  reader: ContentReader | null = null;
  protected readonly context: CallContext;
  #requestEnded = false;

  constructor(stream: Http2Stream, path: string, context: CallContext) {
    this.stream = stream;
    this.path = path;
    this.context = context;
  }

  /** Passes the request to its method. */
  abstract run(message: Uint8Array): void;

  /** Ends the call with a status other than OK. */
  abstract fail(status: GrpcStatus, message: string): void;

  /** Ends a call whose content cannot be read. It has no response yet. */
  refuse({ block }: Refusal): void {
    this.close();
    this.context.connection.end(this.stream, block);
  }

  setDeadline(deadlineMs: number): void {
    this.deadlineMs = deadlineMs;
    this.context.deadlines.add(this);
  }

  expire(): void {
    this.fail(GRPC_STATUS.deadlineExceeded, 'the deadline of the call has passed');
  }

  /** The caller no longer waits for the response. */
  abandon(): void {
    this.close();
  }

  /** Whether the method has the request and has not answered yet. */
  protected get isRunning(): boolean {
    return this.#requestEnded && !this.done;
  }

  /** Frees what the call holds of its request. */
  endRequest(): void {
    if (this.#requestEnded) return;
    this.#requestEnded = true;
    this.reader?.dispose();
    this.reader = null;
    this.context.requestEnded(this);
  }

  /** Nothing more is sent: the response is complete, or the caller is gone. */
  close(): void {
    this.done = true;
    this.endRequest();
    if (this.deadlineMs !== Number.POSITIVE_INFINITY) this.context.deadlines.remove(this);
  }
}

/**
 * The calls of a connection whose requests are not complete, oldest first. Nearly every call is in it for a moment
 * only, so the links are in the calls themselves: a set would cost an allocation for each.
 */
export class UnfinishedCalls {
  #oldest: Call | null = null;
  #newest: Call | null = null;

  /** The call that began first; null without calls. */
  get oldest(): Call | null {
    return this.#oldest;
  }

  add(call: Call): void {
    call.older = this.#newest;
    if (this.#newest === null) this.#oldest = call;
    else this.#newest.newer = call;
    this.#newest = call;
  }

  /** Removes a call that was added. */
  remove(call: Call): void {
    const { older, newer } = call;
    if (older === null) this.#oldest = newer;
    else older.newer = newer;
    if (newer === null) this.#newest = older;
    else newer.older = older;
    call.older = null;
    call.newer = null;
  }
}

/** The prefix of a message, which is not compressed. All calls share the memory, one message at a time. */
const prefix = new Uint8Array(PREFIX_BYTES);

/** The prefix of a message that is sent; valid until the next call. */
export function prefixOf({ length }: Uint8Array): Uint8Array {
  prefix[1] = length >>> 24;
  prefix[2] = length >>> 16;
  prefix[3] = length >>> 8;
  prefix[4] = length;
  return prefix;
}

/** A call with one request and one response. */
export class UnaryCall extends Call implements UnaryReply {
  readonly #method: UnaryMethod;
  #isAbandoned = false;
  #head: RequestHead | null;

  constructor(stream: Http2Stream, head: RequestHead, context: CallContext, method: UnaryMethod) {
    super(stream, head.path, context);
    this.#head = head;
    this.#method = method;
  }

  get caller(): object {
    return this.context;
  }

  get peer(): string {
    return this.context.peer;
  }

  header(name: string): string {
    return this.#head === null ? '' : fieldOf(this.#head.block, name);
  }

  run(message: Uint8Array): void {
    this.#method(message, this);
    this.#head = null;
  }

  send(response: Uint8Array): void {
    if (this.done) {
      this.#settle();
      return;
    }
    const { context, stream } = this;
    if (!context.hasRoom()) {
      this.fail(GRPC_STATUS.resourceExhausted, NOT_READ);
      return;
    }
    this.close();
    const { connection } = context;
    connection.sendHead(stream, ANSWER_HEAD);
    connection.sendData(stream, response, prefixOf(response));
    connection.end(stream, OK_TRAILERS);
    context.wrote();
  }

  fail(status: GrpcStatus, message: string): void {
    if (this.done) {
      this.#settle();
      return;
    }
    this.close();
    this.context.connection.end(this.stream, failureBlock(status, message));
    this.context.wrote();
  }

  override expire(): void {
    this.#leaveWork();
    super.expire();
  }

  override abandon(): void {
    this.#leaveWork();
    super.abandon();
  }

  #leaveWork(): void {
    if (!this.isRunning) return;
    this.#isAbandoned = true;
    this.context.abandoned++;
  }

  /** The method has answered an abandoned call. */
  #settle(): void {
    if (!this.#isAbandoned) return;
    this.#isAbandoned = false;
    this.context.abandoned--;
  }
}
