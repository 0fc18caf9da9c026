import { promisify } from 'node:util';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { ANSWER, METHOD_PATH } from './call.ts';
import { contest, countCall } from './contestant.ts';

/** `@grpc/grpc-js` as its users start it, but that messages stay bytes: what a codec costs is not asked here. */
await contest(async () => {
  const server = new Server();
  const answer = Buffer.from(ANSWER);
  const asBytes = (bytes: Buffer): Buffer => bytes;
  const handler = (_call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>): void => {
    countCall();
    callback(null, answer);
  };
  server.register(METHOD_PATH, handler, asBytes, asBytes, 'unary');
  return await promisify(server.bindAsync).call(server, '127.0.0.1:0', ServerCredentials.createInsecure());
});
