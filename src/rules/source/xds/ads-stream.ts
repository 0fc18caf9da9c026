import { type ChannelCredentials, Client, type ClientDuplexStream, Metadata, status } from '@grpc/grpc-js';
import type { Clock } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import { withOwnedAttempts } from '../../../base/owned-sockets.ts';
import { STREAM_RESOURCES_PATH } from '../../../messages/discovery-codec.ts';

/** Where an xDS server is, and what is said to it beside the protocol. */
export interface AdsStreamOptions {
  /** As gRPC names targets: `host:port`, `dns:…`, `unix:…`. */
  readonly target: string;
  readonly credentials: ChannelCredentials;
  /** Options of the channel that go with the credentials. */
  readonly channelOptions: Readonly<Record<string, string>>;
  /** Sent with the stream. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** A larger message ends the stream. */
  readonly maxMessageBytes: number;
  readonly clock: Clock;
}

/** A connection takes no longer; the network of a host that is gone may answer nothing at all. */
const CONNECT_WITHIN_MS = 20_000;

/**
 * A server that is gone without a word is noticed by pings. Servers in Go, of which most xDS servers are made, end
 * connections that ping more often than every five minutes.
 */
const PING_EVERY_MS = 300_000;
const PONG_WITHIN_MS = 20_000;

type Call = ClientDuplexStream<Uint8Array, Buffer>;

/** One stream of resources, on a connection of its own that ends with it. */
export class AdsStream {
  readonly #options: AdsStreamOptions;
  readonly #client: Client;
  #call: Call | null = null;
  /** Resolves with the reason when the stream has ended. */
  readonly #ended = Promise.withResolvers<string>();

  constructor(options: AdsStreamOptions) {
    this.#options = options;
    this.#client = new Client(options.target, options.credentials, {
      ...options.channelOptions,
      'grpc.max_receive_message_length': options.maxMessageBytes,
      'grpc.keepalive_time_ms': PING_EVERY_MS,
      'grpc.keepalive_timeout_ms': PONG_WITHIN_MS,
      // When to try again is for the source of the rules to say.
      'grpc.enable_retries': 0,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.service_config_disable_resolution': 1,
      // A proxy that is set for the web is not on the way to a control plane.
      'grpc.enable_http_proxy': 0,
    });
  }

  /**
   * Connects and opens the stream, once.
   * @throws Error saying why it cannot be done
   */
  open(): Promise<void> {
    // The library opens the connection on behalf of the call, so both have to be made in here.
    return withOwnedAttempts(() => {
      this.#call = this.#makeCall();
      return this.#connected();
    });
  }

  send(message: Uint8Array): void {
    this.#call?.write(message);
  }

  /**
   * Messages as they arrive; the next is taken when the last has been dealt with. Ends when the server ends the stream.
   * @throws Error saying why it ended, when it did not end well
   */
  async *messages(): AsyncGenerator<Buffer> {
    if (this.#call === null) return;
    try {
      yield* this.#call as AsyncIterable<Buffer>;
    } catch (failure) {
      throw new Error(await this.#ended.promise, { cause: asError(failure) });
    }
  }

  /** Ends the stream and its connection, also while it is being made. */
  close(): void {
    this.#call?.cancel();
    this.#client.close();
  }

  #makeCall(): Call {
    const call: Call = this.#client.makeBidiStreamRequest(
      STREAM_RESOURCES_PATH,
      Buffer.from,
      (bytes: Buffer) => bytes,
      metadataOf(this.#options.headers),
    );
    call.once('status', ended => this.#ended.resolve(describe(ended)));
    // Whoever reads is told; before that `#ended` tells.
    call.on('error', () => {});
    return call;
  }

  async #connected(): Promise<void> {
    const standing = Promise.withResolvers<void>();
    const { resolve, reject } = standing;
    const timer = this.#options.clock.after(CONNECT_WITHIN_MS, () => {
      reject(new Error(`no connection within ${CONNECT_WITHIN_MS / 1_000} s`));
    });
    void this.#ended.promise.then(reason => reject(new Error(reason)));
    this.#client.waitForReady(Number.POSITIVE_INFINITY, failure => {
      if (failure === undefined) resolve();
      else reject(failure);
    });
    try {
      await standing.promise;
    } finally {
      timer.cancel();
    }
  }
}

function metadataOf(headers: AdsStreamOptions['headers']): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of headers) {
    // The values of such headers are bytes, which travel in base64.
    metadata.set(name, name.endsWith('-bin') ? Buffer.from(value) : value);
  }
  return metadata;
}

function describe(ended: { readonly code: status; readonly details: string }): string {
  const { code, details } = ended;
  const tooLarge = code === status.RESOURCE_EXHAUSTED && details.includes('larger than max');
  const hint = tooLarge ? '; raise XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES' : '';
  return `${status[code]}: ${details}${hint}`;
}
