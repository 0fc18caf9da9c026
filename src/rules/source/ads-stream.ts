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

/** How an xDS server proves who it is, and we to it. Paths of PEM files, each empty for none. */
export interface XdsTls {
  /** CAs that may have signed the server's certificate, beside the other trusted ones. */
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** The name that the server's certificate must be valid for; empty for the host of the address. */
  readonly serverName: string;
}

/**
 * Reads the files, anew for each connection, so that certificates may be replaced while the service runs.
 * @throws Error naming the setting and the file
 */
export async function channelCredentials(tls: XdsTls | null): Promise<ChannelCredentials> {
  if (tls === null) return credentials.createInsecure();
  const ca = await readPem('CONFIG_GRPC_XDS_SERVER_TLS_CACERT', tls.caFile);
  const cert = await readPem('CONFIG_GRPC_XDS_CLIENT_TLS_CERT', tls.certFile);
  const key = await readPem('CONFIG_GRPC_XDS_CLIENT_TLS_KEY', tls.keyFile);
  if (ca !== null) checkCertificate('CONFIG_GRPC_XDS_SERVER_TLS_CACERT', tls.caFile, ca);
  const roots = Buffer.from(trustedCas(ca?.toString()).join('\n'));
  try {
    return credentials.createSsl(roots, key, cert, identityCheck(tls.serverName));
  } catch (failure) {
    const text =
      `CONFIG_GRPC_XDS_CLIENT_TLS_CERT="${tls.certFile}" and CONFIG_GRPC_XDS_CLIENT_TLS_KEY="${tls.keyFile}" cannot be ` +
      `used (${asError(failure).message}): they must be PEM and a pair, the key without a passphrase`;
    throw new Error(text, { cause: failure });
  }
}

/** What to do about a handshake that failed. */
export const XDS_TLS_REMEDIES: TlsRemedies = {
  ca: 'CONFIG_GRPC_XDS_SERVER_TLS_CACERT',
  otherName: 'set CONFIG_GRPC_XDS_SERVER_TLS_SAN to the name in the certificate',
  clientCertificate: 'CONFIG_GRPC_XDS_CLIENT_TLS_CERT',
  plain: 'set CONFIG_GRPC_XDS_SERVER_USE_TLS=false, or write http:// before its address',
};

/** The channel options that go with the credentials. A name is also what the server is asked for (SNI). */
export function serverNameOptions(tls: XdsTls | null): Record<string, string> {
  const name = tls?.serverName ?? '';
  return name === '' || isIP(name) !== 0 ? {} : { 'grpc.ssl_target_name_override': name };
}

/** An address cannot be asked for (RFC 6066, 3), only be looked for in the certificate. */
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

/** TLS takes a file without a certificate for one that trusts nobody else. */
function checkCertificate(setting: string, file: string, pem: Buffer): void {
  try {
    new X509Certificate(pem);
  } catch (failure) {
    throw new Error(`${setting}="${file}" holds no certificate in PEM form`, { cause: failure });
  }
}
