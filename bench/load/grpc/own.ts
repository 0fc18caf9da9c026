import { systemClock } from '../../../src/base/clock.ts';
import { OwnGrpcServer } from '../../../src/transports/grpc/own-server.ts';
import {
  DEFAULT_MAX_MESSAGE_BYTES,
  DEFAULT_MAX_METADATA_BYTES,
} from '../../../src/transports/grpc/server.ts';
import { standardErrorLogger } from '../../support/standard-error-logger.ts';
import { ANSWER, METHOD_PATH } from './call.ts';
import { contest, countCall } from './contestant.ts';

/** The server of this repository, with the bounds that it has by default. */
await contest(async () => {
  const server = new OwnGrpcServer({
    listen: { host: '127.0.0.1', port: 0 },
    service: {
      unary: new Map([
        [
          METHOD_PATH,
          (_request, reply) => {
            countCall();
            reply.send(ANSWER);
          },
        ],
      ]),
      serverStreaming: new Map(),
      bidiStreaming: new Map(),
    },
    maxMessageBytes: DEFAULT_MAX_MESSAGE_BYTES,
    maxMetadataBytes: DEFAULT_MAX_METADATA_BYTES,
    maxConnectionAgeMs: 0,
    maxConnectionAgeGraceMs: 0,
    drainTimeoutMs: 1_000,
    logger: standardErrorLogger,
    clock: systemClock,
  });
  await server.start();
  if (!('port' in server.address)) throw new Error('the server does not listen on a port');
  return server.address.port;
});
