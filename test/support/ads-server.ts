import {
  type handleBidiStreamingCall,
  type Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServiceDefinition,
  type status,
} from '@grpc/grpc-js';
import type { Teardown } from './stores.ts';
import { CONFIG_TYPE_URL, type ConfigMessage, encodeConfig, XDS_DEFINITIONS } from './xds-messages.ts';

/** A request as the server sees it. */
export interface SeenRequest {
  readonly version_info: string;
  readonly node: {
    readonly id: string;
    readonly metadata: { readonly fields: Readonly<Record<string, unknown>> };
  };
  readonly resource_names: readonly string[];
  readonly type_url: string;
  readonly response_nonce: string;
  readonly error_detail: { readonly code: number; readonly message: string } | null;
}

/** A response in full, for those that a sound server would not send. */
export interface RawResponse {
  readonly version_info: string;
  readonly nonce: string;
  readonly type_url: string;
  readonly resources: readonly { readonly type_url: string; readonly value: Uint8Array }[];
}

type Stream = ServerDuplexStream<SeenRequest, RawResponse>;

export interface AdsServerOptions {
  /** 0, the default, takes any free port. */
  readonly port?: number;
  readonly credentials?: ServerCredentials;
}

/** An xDS server of `@grpc/grpc-js` and the published protocol: it sends what a test says and keeps what it hears. */
export class AdsServer {
  readonly #server = new Server();
  readonly #requests = new Queue<SeenRequest>();
  readonly #streams = new Queue<AdsServerStream>();
  port = 0;

  /** Starts a server that ends with its test. */
  static async start(t: Teardown, options: AdsServerOptions = {}): Promise<AdsServer> {
    const ads = new AdsServer();
    t.teardown(() => ads.stop());
    await ads.#start(options);
    return ads;
  }

  get address(): string {
    return `localhost:${this.port}`;
  }

  /** The next request that arrives, on whatever stream. */
  request(): Promise<SeenRequest> {
    return this.#requests.take();
  }

  /** The next stream that is opened. */
  stream(): Promise<AdsServerStream> {
    return this.#streams.take();
  }

  /** Ends every connection at once, as a server that is killed does. */
  stop(): void {
    this.#server.forceShutdown();
  }

  async #start({
    port = 0,
    credentials = ServerCredentials.createInsecure(),
  }: AdsServerOptions): Promise<void> {
    const service = XDS_DEFINITIONS['envoy.service.discovery.v3.AggregatedDiscoveryService'];
    const opened: handleBidiStreamingCall<SeenRequest, RawResponse> = call => {
      call.on('error', () => {});
      call.on('data', (request: SeenRequest) => this.#requests.put(request));
      this.#streams.put(new AdsServerStream(call));
    };
    this.#server.addService(service as ServiceDefinition, { StreamAggregatedResources: opened });
    this.port = await new Promise((resolve, reject) => {
      this.#server.bindAsync(`localhost:${port}`, credentials, (failure, bound) => {
        if (failure === null) resolve(bound);
        else reject(failure);
      });
    });
  }
}

/** One stream of a client. */
export class AdsServerStream {
  readonly #call: Stream;

  constructor(call: Stream) {
    this.#call = call;
  }

  /** What the client sent with the stream. */
  get metadata(): Metadata {
    return this.#call.metadata;
  }

  /** Sends the state of the world; version and nonce are made of `version`. */
  send(version: string, ...configs: readonly ConfigMessage[]): void {
    this.sendRaw({
      version_info: version,
      nonce: `nonce-${version}`,
      type_url: CONFIG_TYPE_URL,
      resources: configs.map(config => ({ type_url: CONFIG_TYPE_URL, value: encodeConfig(config) })),
    });
  }

  sendRaw(response: RawResponse): void {
    this.#call.write(response);
  }

  /** Ends the stream well. */
  end(): void {
    this.#call.end();
  }

  /** Ends the stream with an error. */
  fail(code: status, details: string): void {
    this.#call.emit('error', { code, details });
  }
}

/** What came, in order, for one who waits for it. */
class Queue<T> {
  readonly #come: T[] = [];
  readonly #waiting: ((value: T) => void)[] = [];

  put(value: T): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#come.push(value);
    else waiting(value);
  }

  take(): Promise<T> {
    const come = this.#come.shift();
    return come === undefined ? new Promise(resolve => this.#waiting.push(resolve)) : Promise.resolve(come);
  }
}
