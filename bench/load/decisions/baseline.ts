import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceClientConstructor,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { Redis } from 'ioredis';
import { repositoryRoot } from '../../../test/support/repository.ts';
import { answerBench } from '../../support/control-channel.ts';
import {
  BaselineDecider,
  type BaselineRequest,
  type BaselineResponse,
  ruleLevel,
} from './baseline-decide.ts';
import { DOMAIN } from './patterns.ts';
import { benchRules } from './rules.ts';

/*
 * What the service is compared with: the same protocol, rules and counters with the libraries that one would take, each
 * as its documentation shows it. Arguments: the address of Redis, and the number of routes in the rules.
 */

export interface BaselineReady {
  readonly pid: number;
  readonly grpcPort: number;
  readonly httpPort: number;
}

const [redisUrl, routes] = process.argv.slice(2);
const decider = new BaselineDecider(
  new Redis(redisUrl),
  new Map([[DOMAIN, ruleLevel(benchRules(Number(routes)))]]),
);

async function listenGrpc(): Promise<number> {
  const root = join(repositoryRoot(), 'proto');
  const definition = loadSync('envoy/service/ratelimit/v3/rls.proto', {
    includeDirs: [root],
    longs: Number,
    enums: String,
    defaults: true,
    oneofs: true,
  });
  const path = 'envoy.service.ratelimit.v3.RateLimitService'.split('.');
  const found = path.reduce<unknown>(
    (within, name) => (within as Record<string, unknown>)[name],
    loadPackageDefinition(definition),
  );
  const server = new Server();
  server.addService((found as ServiceClientConstructor).service, {
    shouldRateLimit: (
      call: ServerUnaryCall<BaselineRequest, BaselineResponse>,
      callback: sendUnaryData<BaselineResponse>,
    ): void => {
      decider.decide(call.request).then(
        response => callback(null, response),
        failure => callback(failure),
      );
    },
  });
  return await promisify(server.bindAsync).call(server, '127.0.0.1:0', ServerCredentials.createInsecure());
}

async function listenHttp(): Promise<number> {
  const server = createServer((request, response) => {
    answerJson(request, response).catch(failure => {
      response.writeHead(500).end(String(failure));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function answerJson(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  const decision = await decider.decide(JSON.parse(Buffer.concat(parts).toString()));
  response
    .writeHead(decision.overallCode === 'OK' ? 200 : 429, { 'content-type': 'application/json' })
    .end(JSON.stringify(decision));
}

const ready: BaselineReady = {
  pid: process.pid,
  grpcPort: await listenGrpc(),
  httpPort: await listenHttp(),
};
answerBench(ready, {});
