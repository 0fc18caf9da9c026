import type { StoreSpans } from '../../decision/batch-observer.ts';
import { memcachedAddresses } from '../../settings/groups/memcached.ts';
import { redisEndpoint } from '../../settings/kinds/redis-address.ts';
import type { Settings } from '../../settings/table.ts';
import { StoreCallSpans, type StoreDescription } from '../../transports/store-call-spans.ts';
import type { SpanAttributes } from '../../transports/tracing.ts';

/** Creates what traces the calls of the store that the settings select. */
export function createStoreSpans(settings: Settings): StoreSpans {
  return new StoreCallSpans(descriptionOf(settings));
}

/** Names and attributes with spaces are those of the reference implementation, the others those of OpenTelemetry. */
function descriptionOf(settings: Settings): StoreDescription {
  if (settings.backendType === 'redis') {
    return {
      name: 'Redis Pipeline Execution',
      kind: 'client',
      attributes: {
        'db.system.name': 'redis',
        'db.operation.name': 'PIPELINE',
        ...redisAttributes(settings),
      },
      ofKeys: ({ keys, keysPerSecond }) => ({
        'pipeline length': keys - keysPerSecond,
        'perSecondPipeline length': keysPerSecond,
      }),
    };
  }
  if (settings.backendType === 'memcached') {
    return {
      name: 'Memcached Fetch Execution',
      kind: 'client',
      attributes: {
        'db.system.name': 'memcached',
        'db.operation.name': 'get',
        ...memcachedAttributes(settings),
      },
      ofKeys: ({ keys }) => ({ 'keysToGet length': keys }),
    };
  }
  return { name: 'Embedded Store Execution', kind: 'internal', attributes: {}, ofKeys: () => ({}) };
}

/** The address of a single server. With several servers, a batch may need any of them. */
function redisAttributes(settings: Settings): SpanAttributes {
  const { redisType, redisSocketType: socketType, redisUrl: url, redisPerSecond } = settings;
  if (redisType !== 'single' || redisPerSecond) return {};
  const { target, database } = redisEndpoint({ socketType, url, auth: '' });
  return { ...addressOf(target), 'db.namespace': String(database) };
}

function memcachedAttributes({ memcachedSrv, memcachedServers }: Settings): SpanAttributes {
  if (memcachedSrv !== '') return {};
  const servers = memcachedAddresses(memcachedServers);
  return servers.length === 1 ? addressOf(servers[0].target) : {};
}

function addressOf(
  target: { readonly path: string } | { readonly host: string; readonly port: number },
): SpanAttributes {
  return 'path' in target
    ? { 'server.address': target.path }
    : { 'server.address': target.host, 'server.port': target.port };
}
