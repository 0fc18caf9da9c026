import { isIP } from 'node:net';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../base/clock.ts';
import {
  checkedText,
  choice,
  derivedSetting,
  duration,
  file,
  flag,
  host,
  hostNames,
  integer,
  oneOf,
  orAuto,
  port,
  setting,
} from '../kinds/kinds.ts';

/** Longest path of a Unix socket on Linux, without the terminating zero. */
const MAX_SOCKET_PATH_BYTES = 107;

const socketPath = checkedText({
  label: 'path',
  accepts: `a path of at most ${MAX_SOCKET_PATH_BYTES} bytes, or empty for none`,
  holds: text => Buffer.byteLength(text) <= MAX_SOCKET_PATH_BYTES,
});

const adminToken = checkedText({
  label: 'text',
  accepts: 'at least 16 characters without spaces, or empty for none',
  holds: text => text === '' || /^[\x21-\x7e]{16,512}$/.test(text),
});

/** A timer runs for at most 2^31 - 1 ms, some 596 hours, and jitter adds a tenth to a connection's age. */
const connectionAge = duration({ min: 0, max: 480 * HOUR_MS });

/** Listeners, connections and shutdown (spec 2.7). */
export const servers = {
  title: 'Servers',
  introduction:
    'Addresses of the HTTP, gRPC and debug servers, limits on their connections, and how the process ' +
    'shuts down.',
  settings: {
    httpHost: setting({
      names: ['HOST'],
      kind: host,
      default: '0.0.0.0',
      help: 'Address that the HTTP server listens on.',
    }),
    httpPort: setting({
      names: ['PORT'],
      kind: port,
      default: 8080,
      help: 'Port of the HTTP server. `0` picks any free port.',
    }),
    grpcHost: setting({
      names: ['GRPC_HOST'],
      kind: host,
      default: '0.0.0.0',
      help: 'Address that the gRPC server listens on.',
    }),
    grpcPort: setting({
      names: ['GRPC_PORT'],
      kind: port,
      default: 8081,
      help: 'Port of the gRPC server. `0` picks any free port.',
    }),
    grpcSocketPath: setting({
      names: ['GRPC_UDS'],
      kind: socketPath,
      default: '',
      help:
        'Unix socket that the gRPC server listens on instead of `GRPC_HOST` and `GRPC_PORT`. The ' +
        'operating system allows at most 107 bytes.',
    }),
    sharePorts: flag(
      ['SHARE_PORTS'],
      'Allow several processes to listen on the same HTTP and gRPC ports; the kernel distributes the ' +
        'connections among them. Each process still needs its own debug port, and its own `GRPC_UDS` if ' +
        'that is set. Linux only. When disabled, a second process on the same ports fails to start. See ' +
        'docs/several-processes.md.',
    ),
    serveThreads: derivedSetting({
      names: ['SERVE_THREADS'],
      kind: orAuto(integer({ min: 1, max: 64 })),
      default: 'auto: 1 on one or two cores, otherwise half of the cores, rounded up, at most 8',
      help:
        'Number of threads that serve gRPC. With `1`, the primary thread serves. With more, each thread listens ' +
        'on the gRPC port, and the kernel distributes the connections among the threads. All threads have the ' +
        'same rules and counters, so limits are as exact as with one thread. Requires Linux, TCP and ' +
        '`GRPC_SERVER_ENGINE=sluice`; otherwise the primary thread serves, and a log line says why. The primary ' +
        'thread serves the HTTP port, unless its engine is `node`. See docs/operations.md.',
    }),
    grpcServerEngine: setting({
      names: ['GRPC_SERVER_ENGINE'],
      kind: choice({ texts: { sluice: 'sluice', 'grpc-js': 'grpcJs' }, letterCase: 'exact' }),
      default: 'sluice',
      help:
        'Implementation of the gRPC server. `sluice` is the built-in server and the fastest. Use ' +
        '`grpc-js` (the library `@grpc/grpc-js`) to find out whether a problem is caused by the built-in ' +
        'server.',
    }),
    grpcMaxMetadataBytes: setting({
      names: ['GRPC_MAX_METADATA_BYTES'],
      kind: integer({ min: 8_192, max: 1_048_576 }),
      default: 131_072,
      help:
        'Maximum size in bytes of the metadata of a gRPC call: all names and values, plus 32 bytes for ' +
        'each field. Larger calls are rejected with HTTP status 431. Each open call may use this much ' +
        'memory until its message has arrived. Does not apply to `GRPC_SERVER_ENGINE=grpc-js`.',
    }),
    httpServerEngine: setting({
      names: ['HTTP_SERVER_ENGINE'],
      kind: oneOf('auto', 'uws', 'node'),
      default: 'auto',
      help:
        'Implementation of the HTTP servers (HTTP, debug and metrics ports). `uws` is uWebSockets.js and ' +
        'the fastest. `node` is the HTTP server of Node.js, which also supports HTTP/1.0 and pipelining. ' +
        '`auto` uses `uws` if its binary can be loaded (Node.js 22 with glibc) and `TASKS_ENABLED` is off, otherwise ' +
        '`node`. Tasks cannot be served with `uws`. See docs/http.md.',
    }),
    httpMaxHeaderBytes: setting({
      names: ['HTTP_MAX_HEADER_BYTES'],
      kind: integer({ min: 4_096, max: 1_048_576 }),
      default: 16_384,
      help:
        'Maximum size in bytes of the request line and header fields of an HTTP request. Larger requests ' +
        'are rejected with status 431. Each connection may use this much memory until its header fields ' +
        'have arrived.',
    }),
    httpMaxConnections: setting({
      names: ['HTTP_MAX_CONNECTIONS'],
      kind: integer({ min: 1, max: 1_000_000 }),
      default: 10_000,
      help:
        'Maximum number of open connections on the HTTP port. Further connections receive status 503 with ' +
        '`Retry-After` and are closed. The debug port and the metrics port always allow 10000 connections ' +
        'each.',
    }),
    httpMaxHeldBytes: setting({
      names: ['HTTP_MAX_HELD_BYTES'],
      kind: integer({ min: 8 * 1_048_576, max: 2 ** 40 }),
      default: 64 * 1_048_576,
      help:
        'Maximum memory in bytes that the HTTP port uses for slow clients: request bodies that are ' +
        'incomplete, and large responses that have not been read. When it is exceeded, the request that ' +
        'has waited longest receives status 503 with `Retry-After`, or its response is cut off. Bodies ' +
        'that arrive in one read do not count.',
    }),
    debugHost: setting({
      names: ['DEBUG_HOST'],
      kind: host,
      default: '0.0.0.0',
      help: 'Address that the debug server listens on.',
    }),
    debugPort: setting({
      names: ['DEBUG_PORT'],
      kind: port,
      default: 6070,
      help: 'Port of the debug server. `0` picks any free port.',
    }),
    debugHostNames: setting({
      names: ['DEBUG_HOST_NAMES'],
      kind: hostNames,
      default: [],
      help:
        "Names under which browsers and clients may open the live page and the operator's API, such as " +
        '`sluice.example.com` or `*.example.net`. IP addresses, names without a dot and private names such as ' +
        '`gateway.internal` [always work](operator-api.md).',
    }),
    adminToken: setting({
      names: ['ADMIN_TOKEN'],
      kind: adminToken,
      default: '',
      help:
        "Bearer token for changes through the operator's API of the debug port. Without it and " +
        '`ADMIN_TOKEN_FILE`, the API only reads. If the process serves tasks, the token gives access to ' +
        '[the tasks of all tenants](operator-api.md#tenants). Never printed.',
      secret: true,
    }),
    adminTokenFile: file(
      ['ADMIN_TOKEN_FILE'],
      'File that contains the token, instead of `ADMIN_TOKEN`. It is read again for each change, so the ' +
        'token can be rotated without a restart.',
    ),
    grpcMaxConnectionAgeMs: setting({
      names: ['GRPC_MAX_CONNECTION_AGE'],
      kind: connectionAge,
      default: 24 * HOUR_MS,
      help:
        'Age at which the server asks the client of a gRPC connection to reconnect (GOAWAY), with up to ' +
        '10% of random jitter either way. Lower it so that long-lived clients reach new instances sooner. ' +
        '`0` disables it.',
    }),
    grpcMaxConnectionAgeGraceMs: setting({
      names: ['GRPC_MAX_CONNECTION_AGE_GRACE'],
      kind: connectionAge,
      default: HOUR_MS,
      help:
        'How long calls in progress may continue on a gRPC connection that has reached ' +
        '`GRPC_MAX_CONNECTION_AGE`, before the connection is closed. `0` is no limit.',
    }),
    shutdownDelayMs: setting({
      names: ['SHUTDOWN_DELAY'],
      kind: duration({ min: 0, max: 10 * MINUTE_MS }),
      default: 0,
      help:
        'How long Sluice continues to serve requests after it receives a shutdown signal. Its health ' +
        'check already fails during the delay, so proxies can send their traffic elsewhere before ' +
        'connections are closed. A second signal ends the delay. `SHUTDOWN_TIMEOUT` starts after the ' +
        'delay, so a supervisor must wait longer than both together.',
    }),
    shutdownTimeoutMs: setting({
      names: ['SHUTDOWN_TIMEOUT'],
      kind: duration({ min: 0, max: 10 * MINUTE_MS }),
      default: 4 * SECOND_MS,
      help:
        'Maximum time that calls in progress have to finish during shutdown. Calls that take longer are ' +
        'canceled.',
    }),
  },
} as const;

/** A subject alternative name. */
export const nameInCertificate = checkedText({
  label: 'DNS name or IP address, empty for any',
  accepts: 'one DNS name or IP address, without scheme and port, or empty for any',
  holds: text => text === '' || isIP(text) !== 0 || /^(\*\.)?[A-Za-z0-9._-]{1,253}$/.test(text),
});

/** Encryption of the gRPC port and authentication of clients (spec 2.7 and 5). */
export const tls = {
  title: 'TLS for the gRPC server',
  introduction: 'Encryption of the gRPC port and verification of client certificates; see docs/tls.md.',
  settings: {
    grpcServerUseTls: flag(
      ['GRPC_SERVER_USE_TLS'],
      'Serve gRPC over TLS (1.2 or 1.3) only. The certificate, key and CA files are reloaded when they ' +
        'change.',
    ),
    grpcServerTlsCert: file(
      ['GRPC_SERVER_TLS_CERT'],
      'PEM file with the certificate of the gRPC server, followed by intermediate certificates, if any.',
    ),
    grpcServerTlsKey: file(
      ['GRPC_SERVER_TLS_KEY'],
      'PEM file with the private key of the gRPC server certificate, without a passphrase.',
    ),
    grpcClientTlsCaCert: file(
      ['GRPC_CLIENT_TLS_CACERT'],
      'PEM file with the root certificates of the CAs that client certificates must be signed by. If it ' +
        'is set, every client must present a certificate, and other CAs are not trusted. Requires ' +
        '`GRPC_SERVER_USE_TLS`.',
    ),
    grpcClientTlsSan: setting({
      names: ['GRPC_CLIENT_TLS_SAN'],
      kind: nameInCertificate,
      default: '',
      help:
        'Subject alternative name that the certificate of a client must contain. Requires ' +
        '`GRPC_CLIENT_TLS_CACERT`.',
    }),
  },
} as const;
