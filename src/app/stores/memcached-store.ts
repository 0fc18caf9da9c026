import { Resolver } from 'node:dns/promises';
import type { Outage } from '../../base/outage-log.ts';
import { withoutTls } from '../../base/tls/client-tls.ts';
import { memcachedCounters } from '../../counters/memcached/count-exchanges.ts';
import { MemcachedCounterStore } from '../../counters/memcached/memcached-store.ts';
import { type LookUpService, MemcachedNodes, type NodeSource } from '../../counters/memcached/nodes.ts';
import { StoreCalls } from '../../counters/store-calls.ts';
import { memcachedAddresses } from '../../settings/groups/memcached.ts';
import type { Settings } from '../../settings/table.ts';
import { CertificateExpiry } from '../statistics/certificate-expiry.ts';
import { clientTls } from './client-tls.ts';
import { type StoreParts, storeOutage } from './opened-store.ts';
import { describeStore } from './store-text.ts';

/** Timeout of a call, as in envoyproxy/ratelimit. */
const TIMEOUT_MS = 500;

/** Timeout of one query to one DNS server. All DNS servers of the system are tried. */
const DNS_TIMEOUT_MS = 2_000;
const DNS_TRIES = 2;

/**
 * Creates the memcached store.
 *
 * @param guard the outage of the guarded store, if `STORE_FAILURE_MODE` guards it; null if requests fail with the store
 * @throws Error that names the setting and the file, if a TLS file cannot be used
 */
export function createMemcachedStore(
  parts: StoreParts,
  guard: Outage | null,
  lookUp: LookUpService = lookUpService,
): MemcachedCounterStore {
  const { settings, logger, clock, random, stats } = parts;
  const outage = guard ?? storeOutage(parts, describeStore(settings));
  const tlsName =
    settings.givenBy.memcachedTls ??
    (settings.givenBy.memcachedServers?.startsWith('MEMCACHE_') ? 'MEMCACHE_TLS' : 'ALTCACHE_TLS');
  const tls = settings.memcachedTls
    ? clientTls({
        certificate: settings.memcachedTlsClientCert,
        key: settings.memcachedTlsClientKey,
        ca: settings.memcachedTlsCaCert,
        skipHostnameVerification: settings.memcachedTlsSkipHostnameVerification,
        settings: tlsName,
      })
    : withoutTls(`set ${tlsName}=true`);
  if (parts.shared === undefined) new CertificateExpiry(stats, 'memcached_client').loaded(tls.certificate);
  const nodes = new MemcachedNodes(nodeSource(settings, lookUp), {
    connections: settings.memcachedConnections,
    tls,
    timeoutMs: TIMEOUT_MS,
    outage,
    clock,
    logger,
    random,
  });
  const counters = memcachedCounters(stats);
  return new MemcachedCounterStore({
    nodes,
    counters,
    calls: new StoreCalls(stats, 'memcached'),
    outage,
    countsFailedCalls: guard === null,
    clock,
    logger,
  });
}

function nodeSource(settings: Settings, lookUp: LookUpService): NodeSource {
  if (settings.memcachedSrv === '') return { addresses: memcachedAddresses(settings.memcachedServers) };
  return { record: settings.memcachedSrv, refreshMs: settings.memcachedSrvRefreshMs, lookUp };
}

function lookUpService(name: string): ReturnType<LookUpService> {
  return new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES }).resolveSrv(name);
}
