import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  status,
} from '@grpc/grpc-js';
import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import { withOwnedAttempts } from '../../base/owned-sockets.ts';
import type { TlsRemedies } from '../../base/tls/client-tls.ts';
import { trustedCas } from '../../base/tls/trusted-cas.ts';
import { STREAM_RESOURCES_PATH } from '../../messages/discovery-codec.ts';

/** How to connect to an xDS server. */
export interface AdsStreamOptions {
  /** A gRPC target: `host:port`, `dns:…` or `unix:…`. */
  readonly target: string;
  readonly credentials: ChannelCredentials;
  /** Channel options for the credentials; see {@link serverNameOptions}. */
  readonly channelOptions: Readonly<Record<string, string>>;
  /** Request metadata of the stream. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** A larger message ends the stream. */
  readonly maxMessageBytes: number;
  readonly clock: Clock;
}

/** Timeout for connecting. If the host is gone, the network may not respond at all. */
const CONNECT_WITHIN_MS = 20_000;

/**
 * Keepalive pings detect a server that is gone. Most xDS servers are written in Go, and grpc-go closes connections that
 * ping more often than every five minutes.
 */
const PING_EVERY_MS = 300_000;
const PONG_WITHIN_MS = 20_000;

type Call = ClientDuplexStream<Uint8Array, Buffer>;

/** One aggregated discovery stream, on a connection of its own. */
export class AdsStream {
  readonly #options: AdsStreamOptions;
  readonly #client: Client;
  #call: Call | null = null;
  /** Resolves with the reason when the stream ends. */
  readonly #ended = Promise.withResolvers<string>();

  constructor(options: AdsStreamOptions) {
    this.#options = options;
    this.#client = new Client(options.target, options.credentials, {
      ...options.channelOptions,
      'grpc.max_receive_message_length': options.maxMessageBytes,
      'grpc.keepalive_time_ms': PING_EVERY_MS,
      'grpc.keepalive_timeout_ms': PONG_WITHIN_MS,
      // `XdsRuleSource` decides when to retry.
      'grpc.enable_retries': 0,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.service_config_disable_resolution': 1,
      // `http_proxy` is meant for the web, not for a control plane.
      'grpc.enable_http_proxy': 0,
    });
  }

  /**
   * Connects and opens the stream. Call once.
   * @throws Error with the reason if this fails
   */
  open(): Promise<void> {
    // The library opens the connection for the call, so both must be created inside this callback.
    return withOwnedAttempts(() => {
      this.#call = this.#makeCall();
      return this.#connected();
    });
  }

  send(message: Uint8Array): void {
    this.#call?.write(message);
  }

  /**
   * The messages of the server, each read when the one before has been processed. Ends when the server ends the stream.
   * @throws Error with the reason if the stream ends with an error
   */
  async *messages(): AsyncGenerator<Buffer> {
    if (this.#call === null) return;
    try {
      yield* this.#call as AsyncIterable<Buffer>;
    } catch (failure) {
      throw new Error(await this.#ended.promise, { cause: asError(failure) });
    }
  }

  /** Ends the stream and the connection, also while connecting. */
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
    // Without a listener, the event would be thrown. `messages()` and `#connected()` report the failure.
    call.on('error', () => {});
    return call;
  }

  async #connected(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = this.#options.clock.after(CONNECT_WITHIN_MS, () => {
      reject(new Error(`no connection within ${CONNECT_WITHIN_MS / 1_000} s`));
    });
    void this.#ended.promise.then(reason => reject(new Error(reason)));
    this.#client.waitForReady(Number.POSITIVE_INFINITY, failure => {
      if (failure === undefined) resolve();
      else reject(failure);
    });
    try {
      await promise;
    } finally {
      timer.cancel();
    }
  }
}

function metadataOf(headers: AdsStreamOptions['headers']): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of headers) {
    // The values of `-bin` headers are bytes; the library encodes them in base64.
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

/** TLS of a connection to an xDS server. Files are paths of PEM files; an empty path means no file. */
export interface XdsTls {
  /** Additional trusted CAs for the certificate of the server. */
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** The name that the certificate of the server must contain. Empty: the host of the address. */
  readonly serverName: string;
  /** Receives the client certificate in PEM form whenever it was read. Default: it is not passed on. */
  readonly certificateRead?: (certificate: string) => void;
}

/**
 * Reads the files. Called for each connection, so that certificates can be replaced while the service runs.
 * @throws Error that names the setting and the file
 */
export async function channelCredentials(tls: XdsTls | null): Promise<ChannelCredentials> {
  if (tls === null) return credentials.createInsecure();
  const ca = await readPem('CONFIG_GRPC_XDS_SERVER_TLS_CACERT', tls.caFile);
  const cert = await readPem('CONFIG_GRPC_XDS_CLIENT_TLS_CERT', tls.certFile);
  const key = await readPem('CONFIG_GRPC_XDS_CLIENT_TLS_KEY', tls.keyFile);
  if (ca !== null) checkCertificate('CONFIG_GRPC_XDS_SERVER_TLS_CACERT', tls.caFile, ca);
  const roots = Buffer.from(trustedCas(ca?.toString()).join('\n'));
  try {
    const made = credentials.createSsl(roots, key, cert, identityCheck(tls.serverName));
    if (cert !== null) tls.certificateRead?.(cert.toString());
    return made;
  } catch (failure) {
    const text =
      `CONFIG_GRPC_XDS_CLIENT_TLS_CERT="${tls.certFile}" and CONFIG_GRPC_XDS_CLIENT_TLS_KEY="${tls.keyFile}" cannot be ` +
      `used (${asError(failure).message}): both must be PEM, the key must belong to the certificate and have no passphrase`;
    throw new Error(text, { cause: failure });
  }
}

/** The settings that fix a failed TLS handshake. */
export const XDS_TLS_REMEDIES: TlsRemedies = {
  ca: 'CONFIG_GRPC_XDS_SERVER_TLS_CACERT',
  otherName: 'set CONFIG_GRPC_XDS_SERVER_TLS_SAN to the name in the certificate',
  clientCertificate: 'CONFIG_GRPC_XDS_CLIENT_TLS_CERT',
  plain: 'set CONFIG_GRPC_XDS_SERVER_USE_TLS=false, or write http:// before its address',
};

/** The channel options for the credentials. The name is also sent to the server (SNI). */
export function serverNameOptions(tls: XdsTls | null): Record<string, string> {
  const name = tls?.serverName ?? '';
  return name === '' || isIP(name) !== 0 ? {} : { 'grpc.ssl_target_name_override': name };
}

/** An IP address cannot be sent as SNI (RFC 6066, section 3), but the certificate can be checked for the address. */
function identityCheck(serverName: string): { checkServerIdentity?: typeof checkServerIdentity } {
  if (isIP(serverName) === 0) return {};
  return { checkServerIdentity: (_host, certificate) => checkServerIdentity(serverName, certificate) };
}

async function readPem(setting: string, file: string): Promise<Buffer | null> {
  if (file === '') return null;
  try {
    return await readFile(file);
  } catch (failure) {
    throw new Error(`${setting}="${file}" cannot be read: ${asError(failure).message}`, { cause: failure });
  }
}

/** Without this check, TLS silently accepts a CA file that contains no certificate. */
function checkCertificate(setting: string, file: string, pem: Buffer): void {
  try {
    new X509Certificate(pem);
  } catch (failure) {
    throw new Error(`${setting}="${file}" contains no PEM certificate`, { cause: failure });
  }
}
