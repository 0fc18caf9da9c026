import type { Test } from 'tap';
import { createLogger } from '../../src/app/logging/logging.ts';
import { systemClock } from '../../src/base/clock.ts';
import type {
  BidiMethod,
  GrpcService,
  StreamMethod,
  UnaryMethod,
  UnaryReply,
} from '../../src/grpc/service.ts';
import type { ListenAddress } from '../../src/transports/grpc/listener.ts';
import {
  DEFAULT_MAX_MESSAGE_BYTES,
  DEFAULT_MAX_METADATA_BYTES,
  type GrpcServer,
  type GrpcServerOptions,
} from '../../src/transports/grpc/server.ts';
import { GrpcClient } from '../support/grpc-client.ts';

export type MakeGrpcServer = (options: GrpcServerOptions) => GrpcServer;

export interface Methods {
  readonly unary?: Record<string, UnaryMethod>;
  readonly streaming?: Record<string, StreamMethod>;
  readonly bidi?: Record<string, BidiMethod>;
}
export type LogLine = Record<string, unknown>;

export interface Running {
  readonly server: GrpcServer;
  readonly client: GrpcClient;
  readonly log: LogLine[];
}

/** What servers of tests have unless the test says otherwise. */
export const PLAIN_OPTIONS = {
  listen: { host: '127.0.0.1', port: 0 },
  maxMessageBytes: DEFAULT_MAX_MESSAGE_BYTES,
  maxMetadataBytes: DEFAULT_MAX_METADATA_BYTES,
  maxConnectionAgeMs: 0,
  maxConnectionAgeGraceMs: 0,
  drainTimeoutMs: 30_000,
  clock: systemClock,
};

/** Tests that a server is known to fail: the name of the test, and why the failure is accepted. */
export type KnownFailures = Readonly<Record<string, string>>;

/** Makes servers that end with their test. */
export class Examinee {
  readonly listen: (t: Test) => ListenAddress;
  /** Known failures that no test has asked for yet. */
  readonly unused: Set<string>;
  readonly #makeServer: MakeGrpcServer;
  readonly #knownFailures: KnownFailures;

  constructor(
    makeServer: MakeGrpcServer,
    listen: (t: Test) => ListenAddress,
    knownFailures: KnownFailures = {},
  ) {
    this.#makeServer = makeServer;
    this.listen = listen;
    this.#knownFailures = knownFailures;
    this.unused = new Set(Object.keys(knownFailures));
  }

  /** A test that is skipped, with its reason, for a server that is known to fail it. */
  test(t: Test, name: string, run: (t: Test) => Promise<void>): void {
    this.unused.delete(name);
    t.test(name, { skip: this.#knownFailures[name] ?? false }, run);
  }

  make(t: Test, methods: Methods, options: Partial<GrpcServerOptions> = {}, log: LogLine[] = []): GrpcServer {
    const server = this.#makeServer({
      ...PLAIN_OPTIONS,
      listen: options.listen ?? this.listen(t),
      service: serviceOf(methods),
      logger: createLogger({ level: 'trace', format: 'json', write: line => log.push(JSON.parse(line)) }),
      ...options,
    });
    t.teardown(() => server.stop());
    return server;
  }

  async start(t: Test, methods: Methods, options: Partial<GrpcServerOptions> = {}): Promise<Running> {
    const log: LogLine[] = [];
    const server = this.make(t, methods, options, log);
    await server.start();
    const client = new GrpcClient(server.address);
    t.teardown(() => client.close());
    return { server, client, log };
  }
}

export function serviceOf({ unary = {}, streaming = {}, bidi = {} }: Methods): GrpcService {
  return {
    unary: new Map(Object.entries(unary)),
    serverStreaming: new Map(Object.entries(streaming)),
    bidiStreaming: new Map(Object.entries(bidi)),
  };
}

export const echo: UnaryMethod = (request, reply) => reply.send(request);

/** A method whose calls wait until the test answers them. */
export class HeldCalls {
  readonly replies: UnaryReply[] = [];
  #awaited = { count: 0, resolve: () => {} };

  readonly method: UnaryMethod = (_request, reply) => {
    this.replies.push(reply);
    if (this.replies.length === this.#awaited.count) this.#awaited.resolve();
  };

  /** Resolves once `count` calls have come in. */
  async arrived(count: number): Promise<void> {
    if (this.replies.length >= count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited = { count, resolve };
    await promise;
  }
}
