import { isMainThread, workerData } from 'node:worker_threads';
import { systemClock } from '../../../src/base/clock.ts';
import { LOG_LEVELS } from '../../../src/base/logger.ts';
import { Bound, type BoundSeat } from '../../../src/base/threads/shared-bound.ts';
import { type ThreadLog, ThreadLogger } from '../../../src/base/threads/thread-log.ts';
import type { BidiMethod, GrpcStatus, ReplyStream, UnaryReply } from '../../../src/grpc/service.ts';
import type { ListenAddress } from '../../../src/transports/grpc/listener.ts';
import { OwnGrpcServer, serverLimitsOf } from '../../../src/transports/grpc/own-server.ts';
import type { GrpcServerOptions } from '../../../src/transports/grpc/server.ts';
import { type BlockingEnd, BlockingPort } from './blocking-port.ts';

/** One of several servers on a port. */
export interface ServerInThread extends Omit<GrpcServerOptions, 'service' | 'logger' | 'clock' | 'tls'> {
  readonly id: number;
  /** Number of servers on the port. */
  readonly threads: number;
  /** The connections of all servers on the port. */
  readonly connections: BoundSeat;
  /** Paths of methods. */
  readonly unary: readonly string[];
  readonly streaming: readonly string[];
  readonly bidi: readonly string[];
}

/** Calls to a thread with servers. */
export type ToGrpcThread =
  | { readonly kind: 'start'; readonly server: ServerInThread }
  | { readonly kind: 'stop'; readonly id: number }
  | { readonly kind: 'peer' | 'isDone' | 'onClose'; readonly call: number }
  | { readonly kind: 'header'; readonly call: number; readonly name: string }
  | { readonly kind: 'send'; readonly call: number; readonly message: Uint8Array }
  | { readonly kind: 'end'; readonly call: number; readonly status: GrpcStatus; readonly message: string };

/** Calls from a thread with servers. */
export type FromGrpcThread =
  | { readonly kind: 'started'; readonly id: number; readonly address: ListenAddress }
  | { readonly kind: 'failed'; readonly id: number; readonly error: unknown }
  | { readonly kind: 'stopped'; readonly id: number }
  | {
      readonly kind: 'called';
      readonly id: number;
      readonly call: number;
      readonly path: string;
      readonly request: Uint8Array;
    }
  | { readonly kind: 'opened'; readonly id: number; readonly call: number; readonly path: string }
  | { readonly kind: 'heard'; readonly id: number; readonly call: number; readonly message: Uint8Array }
  /** The caller has sent its last message. */
  | { readonly kind: 'heardAll'; readonly id: number; readonly call: number }
  /** The stream has ended, or its caller has left. */
  | { readonly kind: 'closed'; readonly call: number }
  | (ThreadLog & { readonly id: number });

/** The servers of this thread. Their methods run in the thread that has started this one. */
class GrpcThread {
  readonly #port: BlockingPort<FromGrpcThread, ToGrpcThread>;
  readonly #servers = new Map<number, OwnGrpcServer>();
  readonly #calls: (UnaryReply | ReplyStream)[] = [];

  constructor(end: BlockingEnd) {
    this.#port = new BlockingPort(end, message => this.#run(message));
  }

  #run(message: ToGrpcThread): unknown {
    if (message.kind === 'start') return this.#start(message.server);
    if (message.kind === 'stop') return this.#stop(message.id);
    const call = this.#calls[message.call];
    switch (message.kind) {
      case 'peer':
        return call.peer;
      case 'isDone':
        return 'done' in call && call.done;
      case 'header':
        return 'header' in call ? call.header(message.name) : '';
      case 'send':
        return call.send(message.message);
      case 'end':
        return 'fail' in call
          ? call.fail(message.status, message.message)
          : call.end(message.status, message.message);
      case 'onClose':
        if ('onClose' in call) call.onClose(() => this.#port.call({ kind: 'closed', call: message.call }));
        return;
    }
  }

  #start({ id, threads, connections, unary, streaming, bidi, ...options }: ServerInThread): void {
    const method = (path: string) => (request: Uint8Array, call: UnaryReply | ReplyStream) => {
      this.#port.call({
        ...{ kind: 'called', id, path },
        call: this.#calls.push(call) - 1,
        request: new Uint8Array(request),
      });
    };
    const methods = (paths: readonly string[]) => new Map(paths.map(path => [path, method(path)]));
    const server = new OwnGrpcServer(
      {
        ...options,
        service: {
          unary: methods(unary),
          serverStreaming: methods(streaming),
          bidiStreaming: new Map(bidi.map(path => [path, this.#bidiMethod(id, path)])),
        },
        logger: new ThreadLogger(LOG_LEVELS, line => this.#port.call({ ...line, id })),
        clock: systemClock,
      },
      { limits: serverLimitsOf(threads), connections: Bound.at(connections) },
    );
    this.#servers.set(id, server);
    server.start().then(
      () => this.#port.call({ kind: 'started', id, address: server.address }),
      error => this.#port.call({ kind: 'failed', id, error }),
    );
  }

  #bidiMethod(id: number, path: string): BidiMethod {
    return stream => {
      const call = this.#calls.push(stream) - 1;
      this.#port.call({ kind: 'opened', id, call, path });
      return {
        message: request => this.#port.call({ kind: 'heard', id, call, message: new Uint8Array(request) }),
        end: () => this.#port.call({ kind: 'heardAll', id, call }),
      };
    };
  }

  /** When this returns, the port is closed. */
  #stop(id: number): void {
    const stopped = this.#servers.get(id)?.stop() ?? Promise.resolve();
    void stopped.then(() => this.#port.call({ kind: 'stopped', id }));
  }
}

if (!isMainThread) new GrpcThread(workerData as BlockingEnd);
