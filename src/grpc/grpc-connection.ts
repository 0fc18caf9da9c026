import { asError } from '../base/fault.ts';
import type { Logger } from '../base/logger.ts';
import type { StreamHandler } from '../http2/connection/context.ts';
import { Http2Connection } from '../http2/connection/http2-connection.ts';
import type { ConnectionLimits } from '../http2/connection/limits.ts';
import type { RequestHead } from '../http2/connection/request-head.ts';
import { ERROR } from '../http2/faults.ts';
import type { Http2Stream } from '../http2/streams/stream.ts';
import { BidiCall } from './bidi-call.ts';
import { type Call, type CallContext, UnaryCall, UnfinishedCalls } from './calls.ts';
import type { Deadlines } from './deadlines.ts';
import { RefusedRequest, sendHttpRefusal } from './http-refusal.ts';
import { type CallLimits, HeldBytes } from './limits.ts';
import {
  type Inflater,
  type MessageFault,
  MessageReader,
  PREFIX_BYTES,
  wholeMessage,
} from './message-reader.ts';
import { OpenStreams } from './open-streams.ts';
import { MESSAGE_REFUSALS, TOO_MANY_ABANDONED } from './refusals.ts';
import { type BidiRoute, NO_TIMEOUT, type NotGrpcRoute, type Route, routeOf } from './route.ts';
import { GRPC_STATUS, type GrpcService, type GrpcStatus, METHOD_FAILED_MESSAGE } from './service.ts';
import { StreamCall } from './stream-calls.ts';

/** Options that all connections of a server share. */
export interface GrpcConnectionOptions {
  readonly service: GrpcService;
  readonly limits: ConnectionLimits;
  readonly callLimits: CallLimits;
  /** Limit on the bytes of unfinished requests of all connections. */
  readonly held: HeldBytes;
  readonly inflater: Inflater;
  readonly deadlines: Deadlines;
  readonly logger: Logger;
}

/** The transport of a connection. */
export interface Transport {
  /** The address of the peer; empty for a unix socket, or if the connection has closed. */
  readonly peer: string;
  /** There may be output that was written outside of `receive` and `tick`. */
  wrote(): void;
}

/** Minimum number of bytes that an unfinished request counts, without its message. */
const CALL_BYTES = 1_024;

/** Memory that a waiting response and its stream use in addition to the bytes of the response. */
const WAITING_ANSWER_BYTES = 1_024;

/** The approximate memory of an unfinished request without its message. */
function bytesOf({ block }: RequestHead): number {
  return Math.max(CALL_BYTES, block.listBytes);
}

/** gRPC on one HTTP/2 connection ("gRPC over HTTP2"): finds the method, joins the message, sends the response. */
export class GrpcConnection implements StreamHandler, CallContext {
  readonly connection: Http2Connection;
  readonly deadlines: Deadlines;
  readonly maxStreamQueuedBytes: number;
  /** Output bytes that the operating system has not accepted yet; set by the transport. */
  backlogBytes = 0;
  abandoned = 0;
  readonly #options: GrpcConnectionOptions;
  readonly #transport: Transport;
  readonly #held: HeldBytes;
  /** Bytes of incomplete frames and header sections that `#held` counts. */
  #unfinishedBytes = 0;
  readonly #unfinished = new UnfinishedCalls();
  /** Open server-streaming calls; null until there is one, because most connections never have any. */
  #streams: OpenStreams | null = null;
  /** Open bidirectional calls; null until there is one. */
  #bidi: OpenStreams | null = null;
  #nowMs: number;

  constructor(options: GrpcConnectionOptions, transport: Transport, nowMs: number) {
    this.#options = options;
    this.#transport = transport;
    this.#nowMs = nowMs;
    this.deadlines = options.deadlines;
    this.maxStreamQueuedBytes = options.callLimits.maxStreamQueuedBytes;
    this.#held = new HeldBytes(options.callLimits.maxHeldBytes, options.held);
    this.connection = new Http2Connection(options.limits, this, nowMs);
  }

  get peer(): string {
    return this.#transport.peer;
  }

  /** Bytes that wait for the peer: for the operating system, for the transport, and for flow-control windows. */
  get queuedBytes(): number {
    return this.backlogBytes + this.connection.output.length + this.connection.queuedBytes;
  }

  /** Memory of the waiting responses. Most responses are short and use more memory than their bytes. */
  get answerMemory(): number {
    return this.queuedBytes + this.connection.waitingStreams * WAITING_ANSWER_BYTES;
  }

  /** Bytes of unfinished requests, frames and header sections. */
  get heldBytes(): number {
    return this.#held.held;
  }

  /** Handles bytes of the peer until the work reaches `maxWork`. Returns the number of bytes handled. */
  receive(bytes: Uint8Array, nowMs: number, maxWork?: number): number {
    this.#nowMs = nowMs;
    const taken = this.connection.receive(bytes, nowMs, maxWork);
    this.#countUnfinished();
    return taken;
  }

  /** Enforces the timeouts. */
  tick(nowMs: number): void {
    this.#nowMs = nowMs;
    const { requestMs } = this.#options.callLimits;
    for (let call = this.#unfinished.oldest; call !== null; call = this.#unfinished.oldest) {
      if (nowMs - call.beganMs <= requestMs) break;
      call.fail(GRPC_STATUS.deadlineExceeded, `the request was not complete within ${requestMs} ms`);
    }
    this.connection.tick(nowMs);
    this.#countUnfinished();
  }

  /** Ends the connection immediately. */
  abort(): void {
    this.connection.abort(ERROR.cancel);
    this.#countUnfinished();
  }

  /** Ends every open call with a stream of responses, and all that are still to come. */
  endStreams(status: GrpcStatus, message: string): void {
    this.#streams ??= new OpenStreams();
    this.#streams.end(status, message);
    this.endBidiStreams(status, message);
  }

  /** Ends every open bidirectional call, and all that are still to come. */
  endBidiStreams(status: GrpcStatus, message: string): void {
    this.#bidi ??= new OpenStreams();
    this.#bidi.end(status, message);
  }

  wrote(): void {
    this.#transport.wrote();
  }

  /** Does not consider the size of the response, because a response above the limit could then never be sent. */
  hasRoom(): boolean {
    return this.answerMemory < this.#options.callLimits.maxQueuedBytes;
  }

  requestBegan(call: Call): void {
    call.beganMs = this.#nowMs;
    this.#unfinished.add(call);
  }

  requestEnded(call: Call): void {
    this.#unfinished.remove(call);
    this.#held.release(call.heldBytes);
  }

  methodFailed(call: Call, thrown: unknown): void {
    const error = asError(thrown);
    this.#options.logger.error('gRPC method failed (this is a bug; please report it)', {
      method: call.path,
      error: error.stack ?? error.message,
    });
  }

  request(stream: Http2Stream, head: RequestHead, endStream: boolean): void {
    head.route ??= routeOf(head, this.#options.service);
    const route = head.route as Route;
    if (route.kind === 'refused') this.connection.end(stream, route.block);
    else if (route.kind === 'not gRPC') this.#refuseRequest(stream, head, route, endStream);
    else if (this.abandoned >= this.#options.callLimits.maxAbandoned)
      this.connection.end(stream, TOO_MANY_ABANDONED.block);
    else if (route.kind === 'bidi') this.#beginStream(stream, route, endStream);
    else if (!this.#held.take(bytesOf(head))) this.connection.end(stream, MESSAGE_REFUSALS['no room'].block);
    else {
      const call =
        route.kind === 'unary'
          ? new UnaryCall(stream, head, this, route.method)
          : new StreamCall(stream, route.path, this, route.method);
      this.#begin(call, bytesOf(head));
      if (route.isGzip) call.reader = this.#reader(this.#options.inflater);
      if (route.timeoutMs !== NO_TIMEOUT) call.setDeadline(this.#nowMs + route.timeoutMs);
      if (endStream) this.#refuse(call, 'none');
    }
  }

  data(stream: Http2Stream, bytes: Uint8Array, start: number, end: number, endStream: boolean): void {
    const call = stream.call as Call;
    if (endStream && call.reader === null && wholeMessage(bytes, start, end)) {
      if (end - start - PREFIX_BYTES > this.#options.inflater.maxMessageBytes)
        this.#refuse(call, 'too large');
      else this.#run(call, bytes.subarray(start + PREFIX_BYTES, end));
      return;
    }
    if (call instanceof BidiCall) {
      call.receive(bytes, start, end, endStream);
      return;
    }
    const fault = start === end ? null : this.#collect(call, bytes, start, end);
    if (fault !== null) this.#refuse(call, fault);
    else if (endStream) this.#finish(call);
  }

  aborted(stream: Http2Stream): void {
    const call = stream.call as Call | null;
    if (call !== null && !call.done) call.abandon();
  }

  #countUnfinished(): void {
    const bytes = this.connection.unfinishedBytes;
    if (bytes === this.#unfinishedBytes) return;
    this.#held.add(bytes - this.#unfinishedBytes);
    this.#unfinishedBytes = bytes;
  }

  #begin(call: Call, heldBytes: number): void {
    call.stream.call = call;
    call.heldBytes = heldBytes;
    this.requestBegan(call);
  }

  /** Begins a call with a stream of requests, which may be empty. */
  #beginStream(stream: Http2Stream, route: BidiRoute, endStream: boolean): void {
    const { inflater } = this.#options;
    const call = new BidiCall(stream, route.path, this, {
      maxMessageBytes: inflater.maxMessageBytes,
      room: this.#held,
      inflater: route.isGzip ? inflater : null,
    });
    stream.call = call;
    if (route.timeoutMs !== NO_TIMEOUT) call.setDeadline(this.#nowMs + route.timeoutMs);
    this.#bidi ??= new OpenStreams();
    if (!this.#bidi.open(call)) return;
    call.begin(route.method);
    if (endStream) call.endRequests();
  }

  /** Refuses a request that is not a gRPC call: after its end if the client is sending, otherwise immediately. */
  #refuseRequest(stream: Http2Stream, head: RequestHead, route: NotGrpcRoute, endStream: boolean): void {
    const { path, refusal, isAwaited } = route;
    if (endStream || isAwaited || !this.#held.take(bytesOf(head)))
      sendHttpRefusal(this.connection, stream, refusal);
    else this.#begin(new RefusedRequest(stream, path, this, refusal), bytesOf(head));
  }

  #collect(call: Call, bytes: Uint8Array, start: number, end: number): MessageFault | null {
    call.reader ??= this.#reader(null);
    const fault = call.reader.append(bytes, start, end);
    if (fault === null) this.connection.expect(call.stream, call.reader.missing);
    return fault;
  }

  #reader(inflater: Inflater | null): MessageReader {
    return new MessageReader(this.#options.inflater.maxMessageBytes, this.#held, inflater);
  }

  #finish(call: Call): void {
    const message = call.reader === null ? 'none' : call.reader.finish();
    if (typeof message === 'string') {
      this.#refuse(call, message);
      return;
    }
    // The length of the last frame does not reflect this work: earlier frames contained a part of the message, or the
    // message was compressed.
    this.connection.addWork(message.length);
    this.#run(call, message);
  }

  /** Runs the method. An error that it throws is a bug: the call fails, and the cause is logged. */
  #run(call: Call, message: Uint8Array): void {
    call.endRequest();
    if (call instanceof StreamCall) {
      this.#streams ??= new OpenStreams();
      if (!this.#streams.open(call)) return;
    }
    try {
      call.run(message);
    } catch (thrown) {
      this.methodFailed(call, thrown);
      call.fail(GRPC_STATUS.internal, METHOD_FAILED_MESSAGE);
    }
  }

  #refuse(call: Call, fault: MessageFault): void {
    call.refuse(MESSAGE_REFUSALS[fault]);
  }
}
