import { Worker } from 'node:worker_threads';
import type { Test } from 'tap';
import { SharedBound } from '../../../src/base/threads/shared-bound.ts';
import { logLine } from '../../../src/base/threads/thread-log.ts';
import type { ReplyStream, RequestReceiver, UnaryReply } from '../../../src/grpc/service.ts';
import type { ListenAddress } from '../../../src/transports/grpc/listener.ts';
import { DEFAULT_SERVER_LIMITS } from '../../../src/transports/grpc/own-server.ts';
import type { GrpcServer, GrpcServerOptions } from '../../../src/transports/grpc/server.ts';
import { BlockingPort, blockingEnds } from './blocking-port.ts';
import type { FromGrpcThread, ToGrpcThread } from './grpc-thread.ts';

type Port = BlockingPort<ToGrpcThread, FromGrpcThread>;
type OfServer = Extract<FromGrpcThread, { readonly id: number }>;

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const MODULE = new URL(`grpc-thread.${extension}`, import.meta.url);

/** Threads in which servers listen on one port. They end with the test. */
export class GrpcThreads {
  readonly #threads: readonly GrpcThread[];
  #servers = 0;

  constructor(t: Test, count: number) {
    this.#threads = Array.from({ length: count }, () => new GrpcThread());
    t.teardown(() => Promise.all(this.#threads.map(thread => thread.terminate())));
  }

  /** How many calls each thread has had. */
  get calls(): readonly number[] {
    return this.#threads.map(({ calls }) => calls);
  }

  /** A server whose connections are in these threads, and whose methods run in this one. */
  server(options: GrpcServerOptions): GrpcServer {
    return new ThreadedGrpcServer(options, this.#threads, ++this.#servers);
  }
}

class GrpcThread {
  readonly port: Port;
  calls = 0;
  /** Receivers of calls with a stream of requests. */
  readonly receivers = new Map<number, RequestReceiver>();
  readonly #worker: Worker;
  readonly #servers = new Map<number, (message: OfServer) => void>();
  readonly #listeners = new Map<number, (() => void)[]>();

  constructor() {
    const [here, there] = blockingEnds();
    this.#worker = new Worker(MODULE, { workerData: there, transferList: [there.port] });
    this.port = new BlockingPort(here, (message: FromGrpcThread) => {
      if (message.kind === 'closed') this.#listeners.get(message.call)?.shift()?.();
      else this.#servers.get(message.id)?.(message);
    });
  }

  hear(id: number, heard: (message: OfServer) => void): void {
    this.#servers.set(id, heard);
  }

  /** The call in the thread, with the methods of both kinds of calls. */
  reply(call: number): UnaryReply & ReplyStream {
    this.calls++;
    const { port } = this;
    const listeners: (() => void)[] = [];
    this.#listeners.set(call, listeners);
    return {
      get peer() {
        return String(port.call({ kind: 'peer', call }));
      },
      get done() {
        return port.call({ kind: 'isDone', call }) === true;
      },
      header: name => String(port.call({ kind: 'header', call, name })),
      send: message => port.call({ kind: 'send', call, message: new Uint8Array(message) }),
      fail: (status, message) => port.call({ kind: 'end', call, status, message }),
      end: (status, message) => port.call({ kind: 'end', call, status, message }),
      onClose: listener => {
        listeners.push(listener);
        port.call({ kind: 'onClose', call });
      },
    };
  }

  async terminate(): Promise<void> {
    this.port.close();
    await this.#worker.terminate();
  }
}

/** Each start opens new servers, because a serving thread opens its port once. */
class ThreadedGrpcServer implements GrpcServer {
  readonly name = 'grpc';
  readonly #options: GrpcServerOptions;
  readonly #threads: readonly GrpcThread[];
  readonly #id: number;
  #address: ListenAddress;
  #runs = false;
  #stopped: Promise<unknown> = Promise.resolve();

  constructor(options: GrpcServerOptions, threads: readonly GrpcThread[], id: number) {
    this.#options = options;
    this.#threads = threads;
    this.#id = id;
    this.#address = options.listen;
  }

  get address(): ListenAddress {
    return this.#address;
  }

  async start(): Promise<void> {
    const { listen } = this.#options;
    const threads = this.#threads.length;
    const connections = new SharedBound(DEFAULT_SERVER_LIMITS.maxConnections, threads);
    this.#runs = true;
    this.#address = listen;
    for (const thread of this.#threads) this.#address = await this.#startIn(thread, connections);
  }

  async stop(): Promise<void> {
    if (this.#runs) {
      this.#runs = false;
      // All ports are closed before a caller can notice it.
      this.#stopped = Promise.all(this.#threads.map(thread => this.#stopIn(thread)));
    }
    await this.#stopped;
  }

  #startIn(thread: GrpcThread, connections: SharedBound): Promise<ListenAddress> {
    const { service, logger, clock: _clock, tls: _tls, ...options } = this.#options;
    return new Promise((resolve, reject) => {
      this.#hear(thread, message => {
        if (message.kind === 'started') resolve(message.address);
        else if (message.kind === 'failed') reject(message.error);
      });
      thread.port.call({
        kind: 'start',
        server: {
          ...options,
          listen: { ...this.#address, shared: true },
          id: this.#id,
          threads: this.#threads.length,
          connections: connections.join(),
          unary: [...service.unary.keys()],
          streaming: [...service.serverStreaming.keys()],
          bidi: [...service.bidiStreaming.keys()],
        },
      });
    });
  }

  #stopIn(thread: GrpcThread): Promise<void> {
    return new Promise(resolve => {
      this.#hear(thread, message => {
        if (message.kind === 'stopped') resolve();
      });
      thread.port.call({ kind: 'stop', id: this.#id });
    });
  }

  /** Runs methods and writes log lines. Passes other messages on. */
  #hear(thread: GrpcThread, heard: (message: OfServer) => void): void {
    const { service, logger } = this.#options;
    thread.hear(this.#id, message => {
      if (message.kind === 'called') {
        const { path, request, call } = message;
        const method = service.unary.get(path) ?? service.serverStreaming.get(path);
        method?.(request, thread.reply(call));
      } else if (message.kind === 'opened') {
        const receiver = service.bidiStreaming.get(message.path)?.(thread.reply(message.call));
        if (receiver !== undefined) thread.receivers.set(message.call, receiver);
      } else if (message.kind === 'heard') thread.receivers.get(message.call)?.message(message.message);
      else if (message.kind === 'heardAll') thread.receivers.get(message.call)?.end();
      else if (message.kind === 'log') logLine(logger, message);
      else heard(message);
    });
  }
}
