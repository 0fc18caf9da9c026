import type { Test } from 'tap';
import { createLogger } from '../../src/app/logging/logging.ts';
import type { CallLimits } from '../../src/grpc/limits.ts';
import type { UnaryMethod } from '../../src/grpc/service.ts';
import type { ConnectionLimits } from '../../src/http2/connection/limits.ts';
import {
  DEFAULT_SERVER_LIMITS,
  OwnGrpcServer,
  type OwnServerParts,
  type ServerLimits,
} from '../../src/transports/grpc/own-server.ts';
import type { GrpcServerOptions } from '../../src/transports/grpc/server.ts';
import { echo, type LogLine, type Methods, PLAIN_OPTIONS, serviceOf } from '../exam/grpc-examinee.ts';
import { GrpcClient } from './grpc-client.ts';
import { ManualClock } from './manual-clock.ts';
import { until } from './until.ts';

/** Limits that differ from the defaults. */
export interface ChangedLimits extends Partial<Omit<ServerLimits, 'connection' | 'calls'>> {
  readonly connection?: Partial<ConnectionLimits>;
  readonly calls?: Partial<CallLimits>;
}

export interface OwnServing {
  readonly server: OwnGrpcServer;
  /** Moves only when told to. */
  readonly clock: ManualClock;
  readonly log: LogLine[];
  /** A client that keeps all rules, on a connection of its own. */
  readonly honest: GrpcClient;
}

/** What a test asks for beside `/s/Echo`. */
export interface OwnServed extends Methods, Omit<OwnServerParts, 'limits'> {
  readonly limits?: ChangedLimits;
  readonly options?: Partial<GrpcServerOptions>;
}

/** Starts our own server, with a clock in hand and small limits; it ends with its test. */
export async function serveOwn(t: Test, served: OwnServed = {}): Promise<OwnServing> {
  const clock = new ManualClock(1_700_000_000_000);
  const log: LogLine[] = [];
  const server = new OwnGrpcServer(
    {
      ...PLAIN_OPTIONS,
      service: serviceOf({ ...served, unary: { '/s/Echo': echo, ...served.unary } }),
      drainTimeoutMs: 0,
      logger: createLogger({ level: 'trace', format: 'json', write: line => log.push(JSON.parse(line)) }),
      clock,
      ...served.options,
    },
    { random: () => 0.5, ...served, limits: limitsWith(served.limits ?? {}) },
  );
  await server.start();
  const honest = new GrpcClient(server.address);
  t.teardown(async () => {
    honest.close();
    const stopped = server.stop();
    clock.advance(1);
    await stopped;
  });
  return { server, clock, log, honest };
}

function limitsWith({ connection, calls, ...server }: ChangedLimits): ServerLimits {
  return {
    ...DEFAULT_SERVER_LIMITS,
    ...server,
    connection: { ...DEFAULT_SERVER_LIMITS.connection, ...connection },
    calls: { ...DEFAULT_SERVER_LIMITS.calls, ...calls },
  };
}

/** A method that never answers. */
export const silent: UnaryMethod = () => {};

/** Resolves once the server holds no more connections than these. */
export async function connectionsDownTo(server: OwnGrpcServer, count: number): Promise<void> {
  await until(() => server.connectionCount <= count);
}
