import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../kinds/durations.ts';
import { bool, checkedText, choice, duration, host, integer, port } from '../kinds/kinds.ts';
import { setting } from '../kinds/setting.ts';

/** What Linux holds for the path of a unix socket, its end mark not counted. */
const MAX_SOCKET_PATH_BYTES = 107;

const socketPath = checkedText({
  label: 'path',
  accepts: `a path of at most ${MAX_SOCKET_PATH_BYTES} bytes, or empty for none`,
  holds: text => Buffer.byteLength(text) <= MAX_SOCKET_PATH_BYTES,
});

/** A timer runs for at most 2^31 - 1 ms, some 596 hours, and jitter adds a tenth to a connection's age. */
const connectionAge = duration({ min: 0, max: 480 * HOUR_MS });

/** Listeners, connections and the stop of the process (spec 2.7). */
export const servers = {
  title: 'Servers',
  settings: {
    httpHost: setting({
      names: ['HOST'],
      kind: host,
      default: '0.0.0.0',
      help: 'Where the HTTP server listens.',
    }),
    httpPort: setting({
      names: ['PORT'],
      kind: port,
      default: 8080,
      help: 'Port of the HTTP server. `0` takes any free port.',
    }),
    grpcHost: setting({
      names: ['GRPC_HOST'],
      kind: host,
      default: '0.0.0.0',
      help: 'Where the gRPC server listens.',
    }),
    grpcPort: setting({
      names: ['GRPC_PORT'],
      kind: port,
      default: 8081,
      help: 'Port of the gRPC server. `0` takes any free port.',
    }),
    grpcSocketPath: setting({
      names: ['GRPC_UDS'],
      kind: socketPath,
      default: '',
      help:
        'Unix socket that the gRPC server listens on instead of `GRPC_HOST` and `GRPC_PORT`. At most 107 ' +
        'bytes, which is what the system holds.',
    }),
    sharePorts: setting({
      names: ['SHARE_PORTS'],
      kind: bool,
      default: false,
      help:
        'Let several processes listen on one HTTP port and one gRPC port; the system spreads connections over ' +
        'them. Each has a debug port and a unix socket of its own. Linux only. Without it a second process on ' +
        'these ports does not start.',
    }),
    grpcServerEngine: setting({
      names: ['GRPC_SERVER_ENGINE'],
      kind: choice({ texts: { sluice: 'sluice', 'grpc-js': 'grpcJs' }, letterCase: 'exact' }),
      default: 'sluice',
      help:
        'Implementation of the gRPC server: `sluice` is the fast one of this program, `grpc-js` the library ' +
        '`@grpc/grpc-js`, for a second opinion.',
    }),
    grpcMaxMetadataBytes: setting({
      names: ['GRPC_MAX_METADATA_BYTES'],
      kind: integer({ min: 8_192, max: 1_048_576 }),
      default: 131_072,
      help:
        'Maximum size of the metadata of a gRPC call: the bytes of all names and values, and 32 for each field. A call ' +
        'with more is answered with HTTP status 431. Each open call may hold this much memory until its message has ' +
        'arrived. Does not apply to `GRPC_SERVER_ENGINE=grpc-js`.',
    }),
    httpServerEngine: setting({
      names: ['HTTP_SERVER_ENGINE'],
      kind: choice({ texts: { auto: 'auto', uws: 'uws', node: 'node' }, letterCase: 'exact' }),
      default: 'auto',
      help:
        'Implementation of the HTTP servers (HTTP, debug and metrics ports): `uws` is uWebSockets.js, the fast one; ' +
        '`node` is the HTTP server of Node.js, which also serves HTTP/1.0, pipelining and other things that ' +
        '[uws cannot](docs/http.md). `auto` uses `uws` where its binary loads (Node.js 22 with glibc), else `node`.',
    }),
    httpMaxHeaderBytes: setting({
      names: ['HTTP_MAX_HEADER_BYTES'],
      kind: integer({ min: 4_096, max: 1_048_576 }),
      default: 16_384,
      help:
        'Maximum size of the head of an HTTP request: request line and header fields. A request with more is answered ' +
        'with 431. Each connection may hold this much memory until a head has arrived.',
    }),
    httpMaxConnections: setting({
      names: ['HTTP_MAX_CONNECTIONS'],
      kind: integer({ min: 1, max: 1_000_000 }),
      default: 10_000,
      help:
        'Maximum number of open connections on the HTTP port. A further connection is answered 503 with `Retry-After` ' +
        'and closed. The debug port and the metrics port each allow 10000.',
    }),
    httpMaxHeldBytes: setting({
      names: ['HTTP_MAX_HELD_BYTES'],
      kind: integer({ min: 8 * 1_048_576, max: 2 ** 40 }),
      default: 64 * 1_048_576,
      help:
        'Memory in bytes that the HTTP port keeps for callers it waits for: request bodies that are not complete, and ' +
        'large answers that are not read. Beyond it, the request that has waited longest is answered 503 with ' +
        '`Retry-After`, or its answer is cut off. Bodies that arrive in one read do not count.',
    }),
    debugHost: setting({
      names: ['DEBUG_HOST'],
      kind: host,
      default: '0.0.0.0',
      help: 'Where the debug server listens.',
    }),
    debugPort: setting({
      names: ['DEBUG_PORT'],
      kind: port,
      default: 6070,
      help: 'Port of the debug server. `0` takes any free port.',
    }),
    grpcMaxConnectionAgeMs: setting({
      names: ['GRPC_MAX_CONNECTION_AGE'],
      kind: connectionAge,
      default: 24 * HOUR_MS,
      help:
        'Age at which a gRPC connection is told to go away (GOAWAY), with up to 10 % of jitter either ' +
        'way. `0` is no limit.',
    }),
    grpcMaxConnectionAgeGraceMs: setting({
      names: ['GRPC_MAX_CONNECTION_AGE_GRACE'],
      kind: connectionAge,
      default: HOUR_MS,
      help: 'Time that calls have to finish after that, before the connection is cut. `0` is no limit.',
    }),
    shutdownDelayMs: setting({
      names: ['SHUTDOWN_DELAY'],
      kind: duration({ min: 0, max: 10 * MINUTE_MS }),
      default: 0,
      help:
        'How long requests are still served after the process is told to stop, while its health is already bad, so ' +
        'that proxies send their calls elsewhere before connections close. A second signal ends the delay. ' +
        '`SHUTDOWN_TIMEOUT` begins after it: a supervisor must wait longer than both together.',
    }),
    shutdownTimeoutMs: setting({
      names: ['SHUTDOWN_TIMEOUT'],
      kind: duration({ min: 0, max: 10 * MINUTE_MS }),
      default: 4 * SECOND_MS,
      help:
        'Longest time that running calls get to finish when the process is told to stop. Bounded, so that ' +
        'a stop is never waited for in vain.',
    }),
  },
} as const;
