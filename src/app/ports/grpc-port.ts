import type { Health } from '../../base/health.ts';
import type { Decider } from '../../decision/decider.ts';
import type { QuotaDesk } from '../../quota/quota-desk.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import type { Settings } from '../../settings/table.ts';
import { healthService } from '../../transports/grpc/health-service.ts';
import { measuredService, tracedService } from '../../transports/grpc/interceptors.ts';
import type { ListenAddress } from '../../transports/grpc/listener.ts';
import { OwnGrpcServer, type OwnServerParts } from '../../transports/grpc/own-server.ts';
import { quotaService } from '../../transports/grpc/quota-service.ts';
import { rateLimitService } from '../../transports/grpc/rate-limit-service.ts';
import {
  DEFAULT_MAX_MESSAGE_BYTES,
  type GrpcServer,
  type GrpcServerOptions,
  joinServices,
} from '../../transports/grpc/server.ts';
import { MAX_PENDING_HANDSHAKES, TlsHandshakes } from '../../transports/grpc/tls/tls-handshakes.ts';
import type { TlsMaterial } from '../../transports/grpc/tls/tls-material.ts';
import { TlsSource } from '../../transports/grpc/tls/tls-source.ts';
import { type CallTracing, tracedDecider } from '../../transports/tracing.ts';
import { logsDecisions } from '../decision/engine-settings.ts';
import { CertificateExpiry } from '../statistics/certificate-expiry.ts';
import type { Surroundings } from '../surroundings.ts';

/** The decision service as the ports of a thread use it. */
export interface DecisionsOnPort extends Omit<Surroundings, 'random'> {
  readonly decider: Decider;
  /** The current rules; null before any were loaded. */
  readonly rules: () => CompiledRules | null;
  /** Null if the counter store cannot grant quotas. */
  readonly quotas: QuotaDesk | null;
  /** Null if tracing is disabled. */
  readonly tracing: CallTracing | null;
  /** The health of the process. */
  readonly health: Health;
}

/** The address of the gRPC server by the settings. */
export function grpcAddress({ grpcSocketPath, grpcHost, grpcPort, sharePorts }: Settings): ListenAddress {
  return grpcSocketPath === ''
    ? { host: grpcHost, port: grpcPort, shared: sharePorts }
    : { path: grpcSocketPath };
}

/** The options of the gRPC server, whatever its implementation. */
function serverOptions(
  decisions: DecisionsOnPort,
  listen: ListenAddress,
  tls: TlsHandshakes | null,
): GrpcServerOptions {
  const { settings, decider, quotas, tracing, health, stats, clock, logger } = decisions;
  const service = joinServices([
    rateLimitService(tracedDecider(decider, tracing), logsDecisions(settings)),
    quotaService(quotas),
    healthService(health),
  ]);
  return {
    listen,
    tls: tls ?? undefined,
    service: measuredService(tracing === null ? service : tracedService(service, tracing), {
      stats,
      nowMs: () => performance.now(),
    }),
    maxMessageBytes: DEFAULT_MAX_MESSAGE_BYTES,
    maxMetadataBytes: settings.grpcMaxMetadataBytes,
    maxConnectionAgeMs: settings.grpcMaxConnectionAgeMs,
    maxConnectionAgeGraceMs: settings.grpcMaxConnectionAgeGraceMs,
    drainTimeoutMs: settings.shutdownTimeoutMs,
    logger,
    clock,
  };
}

/** Creates the server of the settings, for the primary thread. */
export async function createGrpcServer(
  decisions: DecisionsOnPort,
  listen: ListenAddress,
  tls: TlsHandshakes | null,
): Promise<GrpcServer> {
  if (decisions.settings.grpcServerEngine === 'sluice') return createOwnServer(decisions, listen, tls);
  // Loaded only when needed, because loading it takes memory and startup time.
  const { GrpcJsServer } = await import('../../transports/grpc/grpc-js-server.ts');
  return new GrpcJsServer(serverOptions(decisions, listen, tls));
}

/** Creates Sluice's own server, for any thread. */
export function createOwnServer(
  decisions: DecisionsOnPort,
  listen: ListenAddress,
  tls: TlsHandshakes | null,
  shared: OwnServerParts = {},
): OwnGrpcServer {
  return new OwnGrpcServer(serverOptions(decisions, listen, tls), shared);
}

/**
 * Creates the handshakes of a thread; null if gRPC does not use TLS.
 *
 * @param threads number of threads that share the limit on pending handshakes
 */
export function createHandshakes(
  { settings, clock, logger }: Pick<Surroundings, 'settings' | 'clock' | 'logger'>,
  threads = 1,
): TlsHandshakes | null {
  if (!settings.grpcServerUseTls) return null;
  const clients = settings.grpcClientTlsCaCert === '' ? null : { name: settings.grpcClientTlsSan };
  const maxPending = Math.ceil(MAX_PENDING_HANDSHAKES / threads);
  return new TlsHandshakes({ clients, maxPending, logger, clock });
}

/** Creates the source of the TLS files, which the primary thread watches for all threads. Null without TLS. */
export function createTlsSource(
  { settings, stats, clock, logger }: Omit<Surroundings, 'random'>,
  loaded: (material: TlsMaterial) => void,
): TlsSource | null {
  if (!settings.grpcServerUseTls) return null;
  const { grpcServerTlsCert, grpcServerTlsKey, grpcClientTlsCaCert } = settings;
  const expiry = new CertificateExpiry(stats, 'grpc_server');
  return new TlsSource({
    paths: {
      certificate: grpcServerTlsCert,
      key: grpcServerTlsKey,
      clientCa: grpcClientTlsCaCert === '' ? null : grpcClientTlsCaCert,
    },
    loaded: material => {
      expiry.loaded(String(material.context.cert));
      loaded(material);
    },
    loadAttempts: stats.counter('certs.load_attempts'),
    loadFailures: stats.counter('certs.load_failures'),
    logger,
    clock,
  });
}
