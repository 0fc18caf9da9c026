import { AuthFile } from '../../base/files/auth-file.ts';
import { withoutTls } from '../../base/tls/client-tls.ts';
import type { RedisAddress } from '../../clients/redis/address.ts';
import { explainCredentials } from '../../clients/redis/errors.ts';
import { asksForTls, clusterEndpoints, redisEndpoint } from '../../settings/kinds/redis-address.ts';
import {
  REDIS_TASK_STORE_DEFAULTS,
  type RedisTaskStoreOptions,
} from '../../tasks/store/redis/connection/options.ts';
import { RedisTaskStore } from '../../tasks/store/redis/redis-store.ts';
import { clientTls } from '../stores/client-tls.ts';
import type { Surroundings } from '../surroundings.ts';

/**
 * Creates the task store in Redis.
 *
 * @throws Error that names the setting, if a TLS file cannot be used
 */
export function redisTaskStore(
  { settings, clock, random, logger }: Omit<Surroundings, 'stats'>,
  options: Partial<Pick<RedisTaskStoreOptions, 'startMs' | 'sweepMs'>> = {},
): RedisTaskStore {
  const { tasksRedisUrl: url, tasksRedisType: type } = settings;
  const endpoints =
    type === 'cluster'
      ? clusterEndpoints({ url, auth: '' })
      : [redisEndpoint({ socketType: url.startsWith('/') ? 'unix' : 'tcp', url, auth: '' })];
  const [{ username, password, database }] = endpoints;
  const tls = settings.tasksRedisTls
    ? clientTls(
        {
          certificate: '',
          key: '',
          ca: settings.tasksRedisTlsCaCert,
          skipHostnameVerification: false,
          settings: 'TASKS_REDIS_TLS',
        },
        {
          ca: 'TASKS_REDIS_TLS_CACERT',
          plain: asksForTls(url) ? 'write redis:// instead of rediss://' : 'set TASKS_REDIS_TLS=false',
        },
      )
    : withoutTls('set TASKS_REDIS_TLS=true');
  const credentialsAdvice =
    settings.tasksRedisAuthFile === ''
      ? 'check the user and the password in TASKS_REDIS_URL: redis://user:password@host:port'
      : 'check the user and the password in the file of TASKS_REDIS_AUTH_FILE';
  return new RedisTaskStore({
    ...REDIS_TASK_STORE_DEFAULTS,
    ...options,
    type,
    addresses: endpoints.map(({ target }): RedisAddress => target),
    access: {
      ...(username !== '' && { username }),
      ...(password !== '' && { password }),
      ...(tls.options !== null && { tls: tls.options }),
      ...(type === 'single' && { db: database }),
    },
    authFile:
      settings.tasksRedisAuthFile === ''
        ? null
        : new AuthFile(settings.tasksRedisAuthFile, 'TASKS_REDIS_AUTH_FILE'),
    explain: reason => explainCredentials(tls.explain(reason), credentialsAdvice),
    keyPrefix: settings.tasksRedisKeyPrefix,
    durability: settings.tasksRedisDurability,
    timeoutMs: settings.tasksRedisTimeoutMs,
    clock,
    random,
    logger,
  });
}
