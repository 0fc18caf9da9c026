import { join } from 'node:path';
import {
  type GrpcObject,
  type handleUnaryCall,
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServiceClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { repositoryRoot } from '../../support/repository.ts';

const definition = loadPackageDefinition(
  loadSync('envoy/service/ratelimit/v3/rls.proto', {
    includeDirs: [join(repositoryRoot(), 'proto')],
    enums: String,
    longs: Number,
    defaults: true,
  }),
);

function rateLimitService(): ServiceClientConstructor['service'] {
  const path = ['envoy', 'service', 'ratelimit', 'v3', 'RateLimitService'];
  const found = path.reduce<unknown>((level, name) => (level as GrpcObject)[name], definition);
  return (found as ServiceClientConstructor).service;
}

/** The answer to one request: a response in the form that protobufjs takes, an error, or none at all. */
export type Answer = (request: unknown) => object | Partial<ServiceError> | null;

export interface RateLimitServer {
  /** The address that was asked for, with the port that was given. */
  readonly address: string;
  /** Every request so far, as protobufjs reads it. */
  readonly requests: readonly unknown[];
}

export interface RateLimitServerOptions {
  /** Default `localhost:0`. */
  readonly address?: string;
  /** Default: without TLS. */
  readonly credentials?: ServerCredentials;
  readonly answer: Answer;
}

/**
 * Starts a rate limit service of a library and a codec that are not ours; it ends with the test `t`.
 * Answers with `details` are sent as errors; null leaves the call without an answer.
 */
export async function startRateLimitServer(
  t: { teardown(run: () => void): void },
  options: RateLimitServerOptions,
): Promise<RateLimitServer> {
  const { address = 'localhost:0', credentials = ServerCredentials.createInsecure(), answer } = options;
  const requests: unknown[] = [];
  const server = new Server();
  const shouldRateLimit: handleUnaryCall<unknown, object> = (call, reply) => {
    requests.push(call.request);
    const given = answer(call.request);
    if (given === null) return;
    if ('details' in given) reply(given);
    else reply(null, given);
  };
  server.addService(rateLimitService(), { shouldRateLimit });
  t.teardown(() => server.forceShutdown());
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, credentials, (failure, bound) => (failure ? reject(failure) : resolve(bound)));
  });
  return { address: address.replace(/:0$/, `:${port}`), requests };
}
