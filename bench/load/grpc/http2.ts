import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { framed } from '../../support/grpc-framing.ts';
import { ANSWER } from './call.ts';
import { contest, countCall } from './contestant.ts';

const ANSWER_HEADERS = { ':status': 200, 'content-type': 'application/grpc' } as const;

/** The least that a gRPC server on `node:http2` can do: no routing, no checks, the answer once the request has ended. */
await contest(async () => {
  const answer = framed(ANSWER);
  const server = createServer();
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.resume();
    stream.on('end', () => {
      countCall();
      stream.respond(ANSWER_HEADERS, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(answer);
    });
    // h2load closes its connections in the middle of calls when its time is over.
    stream.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
});
