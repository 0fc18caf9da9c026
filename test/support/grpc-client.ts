import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import {
  type CallOptions,
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
  type StatusObject,
} from '@grpc/grpc-js';
import type { ListenAddress } from '../../src/transports/grpc/listener.ts';

/** How a call ended, and with what; `response` is empty unless the status is 0. */
export interface Answer {
  readonly status: number;
  readonly message: string;
  readonly response: Buffer;
}

const asIs = (bytes: Buffer): Buffer => bytes;

/** A client of `@grpc/grpc-js` that sends and receives plain bytes, on a connection of its own. */
export class GrpcClient {
  readonly #client: Client;

  constructor(
    address: ListenAddress,
    channelCredentials: ChannelCredentials = credentials.createInsecure(),
    options: ChannelOptions = {},
  ) {
    const target = 'path' in address ? `unix:${address.path}` : `${address.host}:${address.port}`;
    this.#client = new Client(target, channelCredentials, {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_http_proxy': 0,
      ...options,
    });
  }

  unary(
    path: string,
    request: Uint8Array | string = '',
    options: CallOptions = {},
    metadata = new Metadata(),
  ): Promise<Answer> {
    return new Promise(resolve => {
      const body = Buffer.from(request);
      this.#client.makeUnaryRequest(path, asIs, asIs, body, metadata, options, (error, response) => {
        if (error === null) resolve({ status: 0, message: '', response: response ?? Buffer.alloc(0) });
        else resolve({ status: error.code, message: error.details, response: Buffer.alloc(0) });
      });
    });
  }

  stream(path: string, request: Uint8Array | string = ''): StreamReader {
    return new StreamReader(this.#client.makeServerStreamRequest(path, asIs, asIs, Buffer.from(request)));
  }

  /** Opens a call whose requests are a stream. */
  talk(path: string, options: CallOptions = {}): Talk {
    return new Talk(this.#client.makeBidiStreamRequest(path, asIs, asIs, options));
  }

  close(): void {
    this.#client.close();
  }
}

/** Reads the answer of a streaming call message by message. */
export class StreamReader {
  /** How the stream ended. */
  readonly status: Promise<StatusObject>;
  readonly #call: ClientReadableStream<Buffer>;
  readonly #messages: AsyncIterator<Buffer>;

  constructor(call: ClientReadableStream<Buffer>) {
    this.#call = call;
    this.status = new Promise(resolve => call.once('status', resolve));
    call.on('error', () => {});
    this.#messages = call[Symbol.asyncIterator]();
  }

  /** The next message; fails when the stream has ended. */
  async next(): Promise<Buffer> {
    const { value, done } = await this.#messages.next();
    if (done === true) throw new Error('the stream has ended');
    return value;
  }

  cancel(): void {
    this.#call.cancel();
  }
}

/** A call whose requests are a stream as well. */
export class Talk extends StreamReader {
  readonly #call: ClientDuplexStream<Buffer, Buffer>;

  constructor(call: ClientDuplexStream<Buffer, Buffer>) {
    super(call);
    this.#call = call;
  }

  send(...messages: readonly (Uint8Array | string)[]): void {
    for (const message of messages) this.#call.write(Buffer.from(message));
  }

  /** Sends one message, and returns the next one that comes back, as text. */
  async ask(message: string): Promise<string> {
    this.send(message);
    return (await this.next()).toString();
  }

  /** Says that no more messages follow. */
  end(): void {
    this.#call.end();
  }
}

/** A bare connection to a server. */
export function openSocket(address: ListenAddress): Socket {
  return connectSocket({ ...address, allowHalfOpen: true });
}

/** A bare HTTP/2 connection to a server, for what a gRPC client does not do or does not show. */
export function openHttp2(address: ListenAddress, initialWindowSize = 65_535): ClientHttp2Session {
  const session = connectHttp2('http://localhost', {
    createConnection: () => connectSocket({ ...address }),
    settings: { initialWindowSize },
  });
  session.on('error', () => {});
  return session;
}

/** Sends a gRPC request with an empty message and returns all headers and trailers of the answer. */
export function callOverHttp2(
  session: ClientHttp2Session,
  path: string,
  headers: Record<string, string> = {},
): Promise<IncomingHttpHeaders> {
  const call = openCallOverHttp2(session, path, headers);
  call.sendRequest();
  return call.answer;
}

/** Opens a call whose message is sent later. */
export function openCallOverHttp2(
  session: ClientHttp2Session,
  path: string,
  headers: Record<string, string> = {},
): { readonly answer: Promise<IncomingHttpHeaders>; sendRequest(): void } {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  const received: IncomingHttpHeaders = {};
  const answer = new Promise<IncomingHttpHeaders>((resolve, reject) => {
    stream.on('response', head => Object.assign(received, head));
    stream.on('trailers', trailers => Object.assign(received, trailers));
    stream.on('error', reject);
    stream.on('close', () => resolve(received));
  });
  stream.resume();
  // Five bytes: not compressed, length 0 (the framing of "gRPC over HTTP2").
  return { answer, sendRequest: () => stream.end(Buffer.alloc(5)) };
}
