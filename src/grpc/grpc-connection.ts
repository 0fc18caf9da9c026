import type { ByteWriter } from '../base/bytes.ts';
import { asError } from '../base/fault.ts';
import type { Logger } from '../base/logger.ts';
import type { StreamHandler } from '../http2/connection/context.ts';
import { Http2Connection } from '../http2/connection/http2-connection.ts';
import type { ConnectionLimits } from '../http2/connection/limits.ts';
import type { RequestHead } from '../http2/connection/request-head.ts';
import { ERROR, type Http2Fault } from '../http2/faults.ts';
import type { Http2Stream } from '../http2/streams/stream.ts';
import { trailersOnlyBlock } from './blocks.ts';
import { type Call, type CallContext, StreamCall, UnaryCall, UnfinishedCalls } from './calls.ts';
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
import { NO_TIMEOUT, type NotGrpcRoute, type Route, routeOf } from './route.ts';
import { GRPC_STATUS, type GrpcService, type GrpcStatus, METHOD_FAILED_MESSAGE } from './service.ts';

/** What all connections of a server share. */
export interface GrpcConnectionOptions {
  readonly service: GrpcService;
  readonly limits: ConnectionLimits;
  readonly callLimits: CallLimits;
  readonly maxMessageBytes: number;
  /** What the unfinished requests of all connections may hold together. */
  readonly held: HeldBytes;
  readonly inflater: Inflater;
  readonly deadlines: Deadlines;
  readonly logger: Logger;
}

/** What carries a connection. */
export interface Transport {
  /** There is output, or may be, that did not come about within `receive` or `tick`. */
  wrote(): void;
}

/** The least that a request without its message counts as, of what unfinished requests may hold. */
const CALL_BYTES = 1_024;

/** Memory that a waiting answer and its stream use in addition to the bytes of the answer. */
const WAITING_ANSWER_BYTES = 1_024;

/** What it counts as: about what it takes in memory. */
function bytesOf({ block }: RequestHead): number {
  return Math.max(CALL_BYTES, block.listBytes);
}

function refusal(status: GrpcStatus, message: string): Uint8Array {
  return trailersOnlyBlock(status, message);
}

/** What is answered to content that is not one message. */
const MESSAGE_REFUSALS: Readonly<Record<MessageFault, Uint8Array>> = {
  compressed: refusal(
    GRPC_STATUS.internal,
    'the message is compressed, but grpc-encoding does not name an encoding',
  ),
  'not gzip': refusal(GRPC_STATUS.internal, 'grpc-encoding is gzip, but the message is not valid gzip'),
  'too much inflated': refusal(
    GRPC_STATUS.resourceExhausted,
    'the server has received too many messages that are much larger than their compressed size; try again later',
  ),
  'bad flag': refusal(GRPC_STATUS.internal, 'a message begins with its compressed flag, 0 or 1'),
  'too large': refusal(
    GRPC_STATUS.resourceExhausted,
    'the request message is larger than the server accepts',
  ),
  none: refusal(GRPC_STATUS.unimplemented, 'the call takes one message, and none came'),
  incomplete: refusal(GRPC_STATUS.internal, 'the request ended before its message was complete'),
  'more than one': refusal(GRPC_STATUS.unimplemented, 'the call takes one message, and more came'),
  'no room': refusal(
    GRPC_STATUS.resourceExhausted,
    'the server holds too many unfinished requests; try again later',
  ),
};

const TOO_MANY_ABANDONED = refusal(
  GRPC_STATUS.resourceExhausted,
  'too many calls of this connection were given up and are still worked on; try again later',
);

/** gRPC on one HTTP/2 connection ("gRPC over HTTP2"): finds the method, puts the message together, answers. */
export class GrpcConnection implements StreamHandler, CallContext {
  readonly connection: Http2Connection;
  readonly deadlines: Deadlines;
  readonly maxStreamQueuedBytes: number;
  /** Bytes of output that the transport has taken and the system has not; set by the transport. */
  backlogBytes = 0;
  abandoned = 0;
  readonly #options: GrpcConnectionOptions;
  readonly #transport: Transport;
  readonly #held: HeldBytes;
  /** Bytes of frames and header sections without their end, as far as they are counted in `#held`. */
  #unfinishedBytes = 0;
  readonly #unfinished = new UnfinishedCalls();
  /** Open streams of answers; null until there is one, as on most connections there never is. */
  #streams: Set<StreamCall> | null = null;
  /** Why streams of answers are not opened any more; null while they are. */
  #streamsEnded: { readonly status: GrpcStatus; readonly message: string } | null = null;
  #nowMs: number;

  constructor(options: GrpcConnectionOptions, transport: Transport, nowMs: number) {
    this.#options = options;
    this.#transport = transport;
    this.#nowMs = nowMs;
    this.deadlines = options.deadlines;
    this.maxStreamQueuedBytes = options.callLimits.maxStreamQueuedBytes;
    this.#held = new HeldBytes(options.callLimits.maxHeldBytes, options.held);
    this.connection = new Http2Connection({ limits: options.limits, handler: this }, nowMs);
  }

  /** Bytes for the peer. The transport takes them and resets the writer. */
  get output(): ByteWriter {
    return this.connection.output;
  }

  /** True when the connection is to be ended once its output is written. */
  get closed(): boolean {
    return this.connection.closed;
  }

  /** What the peer did wrong, when that is why the connection was closed. */
  get fault(): Http2Fault | null {
    return this.connection.fault;
  }

  get streamCount(): number {
    return this.connection.streamCount;
  }

  /** Bytes that wait for the peer: in the system's place, for being written, and for its windows. */
  get queuedBytes(): number {
    return this.backlogBytes + this.connection.output.length + this.connection.queuedBytes;
  }

  /** Memory of the waiting answers. Most answers are short, and use more memory than their bytes. */
  get answerMemory(): number {
    return this.queuedBytes + this.connection.waitingStreams * WAITING_ANSWER_BYTES;
  }

  /** Bytes that unfinished requests, frames and header sections hold. */
  get heldBytes(): number {
    return this.#held.held;
  }

  /** Work of the last {@link receive}; see `LEAST_FRAME_WORK`. */
  get work(): number {
    return this.connection.work;
  }

  /** Handles bytes of the peer until the work reaches `maxWork`. Returns the number of bytes handled. */
  receive(bytes: Uint8Array, nowMs: number, maxWork?: number): number {
    this.#nowMs = nowMs;
    const taken = this.connection.receive(bytes, nowMs, maxWork);
    this.#countUnfinished();
    return taken;
  }

  /** Finds what time has brought about. */
  tick(nowMs: number): void {
    this.#nowMs = nowMs;
    const { requestMs } = this.#options.callLimits;
    for (let call = this.#unfinished.oldest; call !== null; call = this.#unfinished.oldest) {
      if (nowMs - call.beganMs <= requestMs) break;
      call.fail(GRPC_STATUS.deadlineExceeded, `the request did not come within ${requestMs} ms`);
    }
    this.connection.tick(nowMs);
    this.#countUnfinished();
  }

  /** Tells the peer to open no more streams. */
  drain(): void {
    this.connection.drain();
  }

  /** The connection is gone. */
  abort(): void {
    this.connection.abort(ERROR.cancel);
    this.#countUnfinished();
  }

  /** Ends every open stream of answers, and each that is still asked for. */
  endStreams(status: GrpcStatus, message: string): void {
    this.#streamsEnded = { status, message };
    for (const call of [...(this.#streams ?? [])]) call.end(status, message);
  }

  wrote(): void {
    this.#transport.wrote();
  }

  /** The size of the answer does not matter: else one above the bound could never be given. */
  hasRoom(): boolean {
    return this.answerMemory < this.#options.callLimits.maxQueuedBytes;
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
      this.connection.end(stream, TOO_MANY_ABANDONED);
    else if (!this.#held.take(bytesOf(head))) this.connection.end(stream, MESSAGE_REFUSALS['no room']);
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
      if (end - start - PREFIX_BYTES > this.#options.maxMessageBytes) this.#refuse(call, 'too large');
      else this.#run(call, bytes.subarray(start + PREFIX_BYTES, end));
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
    call.beganMs = this.#nowMs;
    this.#unfinished.add(call);
  }

  /** Holds the answer back until the request has ended, unless nobody would be served by that. */
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
    return new MessageReader(this.#options.maxMessageBytes, this.#held, inflater);
  }

  #finish(call: Call): void {
    const message = call.reader === null ? 'none' : call.reader.finish();
    if (typeof message === 'string') {
      this.#refuse(call, message);
      return;
    }
    // The length of the last frame does not show this work: earlier frames contained a part of the message, or it was
    // compressed.
    this.connection.addWork(message.length);
    this.#run(call, message);
  }

  /** A method that throws is a defect of ours: its caller is told, the log has the cause. */
  #run(call: Call, message: Uint8Array): void {
    call.endRequest();
    if (call instanceof StreamCall && !this.#openStream(call)) return;
    try {
      call.run(message);
    } catch (thrown) {
      this.methodFailed(call, thrown);
      call.fail(GRPC_STATUS.internal, METHOD_FAILED_MESSAGE);
    }
  }

  #openStream(call: StreamCall): boolean {
    const ended = this.#streamsEnded;
    if (ended !== null) {
      call.end(ended.status, ended.message);
      return false;
    }
    this.#streams ??= new Set();
    this.#streams.add(call);
    call.onClose(() => this.#streams?.delete(call));
    return true;
  }

  #refuse(call: Call, fault: MessageFault): void {
    call.refuse(MESSAGE_REFUSALS[fault]);
  }
}
