import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { LimitClient, type LimitClientOptions } from '../../../../clients/limit/src/client.ts';
import type { LimitRequest } from '../../../../clients/limit/src/request.ts';

interface Ends {
  teardown(run: () => unknown): void;
}

/** A request that means nothing to a scripted service. */
export const REQUEST: LimitRequest = { domain: 'd', descriptors: [{ entries: { user: 'ann' } }] };
/** A gRPC message with a response that says OK. */
const OK = Buffer.from('00000000020801', 'hex');

/** An HTTP/2 server that does with each call what the test says: for what a real service never does. */
export class ScriptedService {
  readonly address: string;
  readonly sessions: ServerHttp2Session[];
  /** Those that the client has taken for established, because it received the settings. */
  readonly established: ServerHttp2Session[];

  private constructor(address: string, sessions: ServerHttp2Session[], established: ServerHttp2Session[]) {
    this.address = address;
    this.sessions = sessions;
    this.established = established;
  }

  /** Starts a server, which ends with the test. */
  static async start(
    t: Ends,
    answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
    settings: Settings = {},
    port = 0,
  ): Promise<ScriptedService> {
    const sessions: ServerHttp2Session[] = [];
    const established: ServerHttp2Session[] = [];
    const server = createServer({ settings });
    server.on('session', session => {
      sessions.push(session);
      session.on('localSettings', () => established.push(session));
      session.on('error', () => {});
    });
    server.on('stream', (stream, headers) => {
      stream.on('error', () => {});
      stream.resume();
      answer(stream, headers);
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => {
      for (const session of sessions) session.destroy();
      server.close();
    });
    return new ScriptedService(`127.0.0.1:${(server.address() as AddressInfo).port}`, sessions, established);
  }
}

/** Answers a call with the bytes of messages, and with trailers. */
export function reply(
  stream: ServerHttp2Stream,
  message: Buffer = OK,
  trailers: Record<string, string> = { 'grpc-status': '0' },
): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end(message);
}

/** A client with a deadline that no test reaches, and the codes and messages of its errors. */
export function clientOf(t: Ends, address: string, options: Partial<LimitClientOptions> = {}) {
  const errors: string[] = [];
  const client = new LimitClient({
    address,
    timeoutMs: 60_000,
    onError: ({ code, message }) => errors.push(`${code}: ${message}`),
    ...options,
  });
  t.teardown(() => client.close());
  return { client, errors, ask: () => client.decide(REQUEST) };
}
