import {
  type ConnectionInjector,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerOptions,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import { statusMessage } from '../../grpc/blocks.ts';
import {
  type BidiMethod,
  GRPC_STATUS,
  type GrpcStatus,
  METHOD_FAILED_MESSAGE,
  type ReplyStream,
  type StreamMethod,
  type UnaryMethod,
  type UnaryReply,
} from '../../grpc/service.ts';
import { type ListenAddress, Listener } from './listener.ts';
import { type GrpcServer, type GrpcServerOptions, MOVING_MESSAGE, STOPPING_MESSAGE } from './server.ts';

/** Maximum number of open calls per connection. A client with more calls waits or opens another connection. */
const MAX_STREAMS_PER_CONNECTION = 1024;

/** Maximum number of messages that wait for a caller that does not read. With more, its stream ends. */
const MAX_QUEUED_MESSAGES = 64;

/** The library adds up to a tenth to the age of connections. */
const LONGEST_AGE = 1.1;

/** Timers of Node.js fire immediately above 2^31 - 1 ms. */
const MAX_TIMER_MS = Math.floor((2 ** 31 - 1) / LONGEST_AGE);

/** A call with a stream of responses, as the library has it. */
type StreamOfLibrary = ServerWritableStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>;

/**
 * {@link GrpcServer} on `@grpc/grpc-js`. This class owns the listening socket and passes connections to the library.
 * That gives exact listen errors, control of the socket file, and a `stop` that ends even if a peer stays connected.
 */
export class GrpcJsServer implements GrpcServer {
  readonly name = 'grpc';
  readonly #options: GrpcServerOptions;
  readonly #streams = new Set<GrpcJsStream>();
  #running: { readonly grpc: Server; readonly listener: Listener } | null = null;
  #address: ListenAddress;
  #accepting = false;
  #stopped: Promise<void> = Promise.resolve();

  constructor(options: GrpcServerOptions) {
    this.#options = options;
    this.#address = options.listen;
  }

  get address(): ListenAddress {
    return this.#address;
  }

  async start(): Promise<void> {
    const { listen, tls, logger } = this.#options;
    const grpc = new Server(libraryOptions(this.#options));
    this.#register(grpc);
    const injector: ConnectionInjector = grpc.createConnectionInjector(ServerCredentials.createInsecure());
    const listener = await Listener.open(listen, {
      tls,
      onConnection: socket => injector.injectConnection(socket),
      onAcceptError: error => logger.error('Could not accept a gRPC connection', { error: error.message }),
    });
    this.#running = { grpc, listener };
    this.#address = listener.address;
    this.#accepting = true;
  }

  stop(): Promise<void> {
    const running = this.#running;
    if (running !== null) {
      this.#running = null;
      this.#stopped = this.#drain(running.grpc, running.listener);
    }
    return this.#stopped;
  }

  async #drain(grpc: Server, listener: Listener): Promise<void> {
    const { clock, drainTimeoutMs, logger } = this.#options;
    this.#accepting = false;
    // Streams end first, because an open stream keeps its connection open and `stop` would wait for it.
    for (const stream of this.#streams) stream.end(GRPC_STATUS.unavailable, STOPPING_MESSAGE);
    const closed = listener.close();
    const shutDown = new Promise<void>(resolve => grpc.tryShutdown(() => resolve()));
    const timer = clock.after(drainTimeoutMs, () => {
      logger.warning('Shutdown timeout: closed gRPC connections with unfinished calls', {
        connections: listener.connections,
      });
      grpc.forceShutdown();
      listener.destroyConnections();
    });
    await Promise.all([closed, shutDown]);
    timer.cancel();
  }

  #register(grpc: Server): void {
    const { service, logger } = this.#options;
    for (const [path, method] of service.unary) {
      grpc.register(path, unaryHandler(path, method, logger), asBytes, asBytes, 'unary');
    }
    for (const [path, method] of service.serverStreaming) {
      const handler = (call: ServerWritableStream<Buffer, Buffer>) => this.#openStream(path, method, call);
      grpc.register(path, handler, asBytes, asBytes, 'serverStream');
    }
    for (const [path, method] of service.bidiStreaming) {
      const handler = (call: ServerDuplexStream<Buffer, Buffer>) => this.#openBidi(path, method, call);
      grpc.register(path, handler, asBytes, asBytes, 'bidi');
    }
  }

  #openStream(path: string, method: StreamMethod, call: ServerWritableStream<Buffer, Buffer>): void {
    const stream = this.#accept(path, call);
    stream?.attempt(() => method(call.request, stream));
  }

  #openBidi(path: string, method: BidiMethod, call: ServerDuplexStream<Buffer, Buffer>): void {
    const stream = this.#accept(path, call);
    stream?.attempt(() => {
      const receiver = method(stream);
      call.on('data', (message: Buffer) => stream.attempt(() => receiver.message(message)));
      call.on('end', () => stream.attempt(() => receiver.end()));
      this.#limitAge(stream);
    });
  }

  /** Returns null if the server is stopping; the call has then ended. */
  #accept(path: string, call: StreamOfLibrary): GrpcJsStream | null {
    const stream = new GrpcJsStream(call, thrown => logFailure(this.#options.logger, path, thrown));
    if (!this.#accepting) {
      stream.end(GRPC_STATUS.unavailable, STOPPING_MESSAGE);
      return null;
    }
    this.#streams.add(stream);
    stream.onClose(() => this.#streams.delete(stream));
    return stream;
  }

  /**
   * The library does not say when a connection has reached its age. A stream that is this old itself is on a connection
   * that has got GOAWAY, so the client opens the next one on another connection.
   */
  #limitAge(stream: GrpcJsStream): void {
    const { clock, maxConnectionAgeMs } = this.#options;
    if (maxConnectionAgeMs === 0) return;
    const timer = clock.after(Math.min(maxConnectionAgeMs, MAX_TIMER_MS) * LONGEST_AGE, () =>
      stream.end(GRPC_STATUS.unavailable, MOVING_MESSAGE),
    );
    stream.onClose(() => timer.cancel());
  }
}

/** Messages stay bytes, because methods encode and decode them. */
function asBytes(message: Buffer): Buffer {
  return message;
}

function libraryOptions(options: GrpcServerOptions): ServerOptions {
  const { maxConnectionAgeMs: age, maxConnectionAgeGraceMs: grace } = options;
  return {
    'grpc.max_receive_message_length': options.maxMessageBytes,
    'grpc.max_concurrent_streams': MAX_STREAMS_PER_CONNECTION,
    // Call statistics of the library take time on each call, and nothing reads them.
    'grpc.enable_channelz': 0,
    ...(age > 0 && { 'grpc.max_connection_age_ms': Math.min(age, MAX_TIMER_MS) }),
    ...(grace > 0 && { 'grpc.max_connection_age_grace_ms': Math.min(grace, MAX_TIMER_MS) }),
  };
}

/** The address in the text with which the library describes a peer: `address:port`, or `unknown` for a unix socket. */
function addressOf(peer: string): string {
  return peer.slice(0, Math.max(peer.lastIndexOf(':'), 0));
}

function logFailure(logger: Logger, path: string, thrown: unknown): void {
  const error = asError(thrown);
  logger.error('gRPC method failed (this is a bug; please report it)', {
    method: path,
    error: error.stack ?? error.message,
  });
}

function unaryHandler(path: string, method: UnaryMethod, logger: Logger) {
  return (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>): void => {
    const reply = new GrpcJsReply(callback, call);
    try {
      method(call.request, reply);
    } catch (thrown) {
      logFailure(logger, path, thrown);
      reply.fail(GRPC_STATUS.internal, METHOD_FAILED_MESSAGE);
    }
  };
}

/** Sends one answer only: a method that throws after it has answered must not answer again. */
class GrpcJsReply implements UnaryReply {
  readonly #callback: sendUnaryData<Buffer>;
  readonly #call: ServerUnaryCall<Buffer, Buffer>;
  #answered = false;

  constructor(callback: sendUnaryData<Buffer>, call: ServerUnaryCall<Buffer, Buffer>) {
    this.#callback = callback;
    this.#call = call;
  }

  get peer(): string {
    return addressOf(this.#call.getPeer());
  }

  get done(): boolean {
    return this.#answered || this.#call.cancelled;
  }

  header(name: string): string {
    // The library keeps pseudo-fields apart.
    if (name === ':authority') return this.#call.getHost();
    return this.#call.metadata.get(name)[0]?.toString() ?? '';
  }

  send(response: Uint8Array): void {
    if (this.#answered) return;
    this.#answered = true;
    this.#callback(null, Buffer.from(response));
  }

  fail(status: GrpcStatus, message: string): void {
    if (this.#answered) return;
    this.#answered = true;
    this.#callback({ code: status, details: statusMessage(message) });
  }
}

class GrpcJsStream implements ReplyStream {
  readonly #call: StreamOfLibrary;
  readonly #listeners: (() => void)[] = [];
  readonly #failed: (thrown: unknown) => void;
  #closed = false;

  /** @param failed called with what a method, its receiver or a listener throws */
  constructor(call: StreamOfLibrary, failed: (thrown: unknown) => void) {
    this.#call = call;
    this.#failed = failed;
    call.once('cancelled', () => this.#close());
  }

  get peer(): string {
    return addressOf(this.#call.getPeer());
  }

  send(response: Uint8Array): void {
    if (this.#closed) return;
    if (this.#call.writableLength < MAX_QUEUED_MESSAGES) this.#call.write(Buffer.from(response));
    else this.end(GRPC_STATUS.resourceExhausted, 'the caller does not read its responses');
  }

  end(status: GrpcStatus, message: string): void {
    if (this.#closed) return;
    if (status === GRPC_STATUS.ok) this.#call.end();
    // The library ends a stream with a status through this event, which its own listener handles.
    else this.#call.emit('error', { code: status, details: statusMessage(message) });
    this.#close();
  }

  onClose(listener: () => void): void {
    if (this.#closed) listener();
    else this.#listeners.push(listener);
  }

  /** Runs code of the method, unless the stream has ended. What it throws ends the stream. */
  attempt(run: () => void): void {
    if (this.#closed) return;
    try {
      run();
    } catch (thrown) {
      this.#failed(thrown);
      this.end(GRPC_STATUS.internal, METHOD_FAILED_MESSAGE);
    }
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (thrown) {
        this.#failed(thrown);
      }
    }
  }
}
