import { X509Certificate } from 'node:crypto';
import type { StatsRegistry } from '../../stats/registry.ts';

/** What a certificate is for: the gRPC port, or a connection that Sluice opens. */
type CertificateUse = 'grpc_server' | 'redis_client' | 'memcached_client' | 'xds_client';

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/**
 * Shows when a certificate of this process expires, in seconds since the epoch: `ratelimit.certificates.USE.expiry_time`.
 * Only for the primary thread, because gauges of threads are added up. Without a certificate, there is no such gauge.
 */
export class CertificateExpiry {
  readonly #stats: StatsRegistry;
  readonly #use: CertificateUse;
  #expiresS: number | null = null;

  constructor(stats: StatsRegistry, use: CertificateUse) {
    this.#stats = stats;
    this.#use = use;
  }

  /**
   * Call when the certificate was read, at the start and whenever it has changed.
   *
   * @param chain the certificate and those of its CAs in PEM form, of which the first one that expires counts; may be
   *   empty
   */
  loaded(chain: string): void {
    const ends = chain.match(CERTIFICATES)?.map(text => Date.parse(new X509Certificate(text).validTo)) ?? [];
    if (ends.length === 0) return;
    if (this.#expiresS === null) {
      this.#stats.gauge(`ratelimit.certificates.${this.#use}.expiry_time`, () => this.#expiresS ?? 0);
    }
    this.#expiresS = Math.min(...ends) / 1_000;
  }
}
