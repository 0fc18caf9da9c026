import { Resolver } from 'node:dns/promises';
import type { LookUpService, NodeSource } from '../counters/memcached/addresses.ts';
import { memcachedCounters } from '../counters/memcached/memcached-counters.ts';
import { MemcachedCounterStore } from '../counters/memcached/memcached-store.ts';
import { MemcachedNodes } from '../counters/memcached/nodes.ts';
import { memcachedAddresses } from '../settings/memcached-address.ts';
import type { Settings } from '../settings/table.ts';
import { clientTls } from './client-tls.ts';
import type { StoreParts } from './stores.ts';

/** As in the reference implementation: a slower memcached helps nobody who waits for a decision. */
const TIMEOUT_MS = 500;

/** Of one question to one DNS server; there are as many of them as the system names. */
const DNS_TIMEOUT_MS = 2_000;
const DNS_TRIES = 2;

/**
 * The store in the memcached servers of the settings.
 * @throws Error naming setting and file, when a file for TLS cannot be used
 */
export function createMemcachedStore(
  parts: StoreParts,
  lookUp: LookUpService = lookUpService,
): MemcachedCounterStore {
  const { settings, logger, clock, random, stats } = parts;
  const nodes = new MemcachedNodes(nodeSource(settings, lookUp), {
    connections: settings.memcachedConnections,
    tls: settings.memcachedTls
      ? clientTls({
          certificate: settings.memcachedTlsClientCert,
          key: settings.memcachedTlsClientKey,
          ca: settings.memcachedTlsCaCert,
          skipHostnameVerification: settings.memcachedTlsSkipHostnameVerification,
          settings: settings.givenBy.memcachedTls ?? 'ALTCACHE_TLS',
        })
      : null,
    timeoutMs: TIMEOUT_MS,
    clock,
    logger,
    random,
  });
  return new MemcachedCounterStore({ nodes, counters: memcachedCounters(stats), clock, logger });
}

function nodeSource(settings: Settings, lookUp: LookUpService): NodeSource {
  if (settings.memcachedSrv === '') return { addresses: memcachedAddresses(settings.memcachedServers) };
  return { record: settings.memcachedSrv, refreshMs: settings.memcachedSrvRefreshMs, lookUp };
}

function lookUpService(name: string): ReturnType<LookUpService> {
  return new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES }).resolveSrv(name);
}
