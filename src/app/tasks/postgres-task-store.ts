import { asError } from '../../base/fault.ts';
import { readSecret } from '../../base/files/auth-file.ts';
import { withoutTls } from '../../base/tls/client-tls.ts';
import { readPostgresAddress } from '../../settings/kinds/postgres-address.ts';
import {
  POSTGRES_TASK_STORE_DEFAULTS,
  type PostgresTaskStoreOptions,
} from '../../tasks/store/postgres/connection/options.ts';
import { Unfit } from '../../tasks/store/postgres/layout/unfit.ts';
import { PostgresTaskStore } from '../../tasks/store/postgres/postgres-store.ts';
import { clientTls } from '../stores/client-tls.ts';
import type { Surroundings } from '../surroundings.ts';

/**
 * Creates the task store in PostgreSQL.
 *
 * @throws Error that names the setting, if a TLS file cannot be used
 */
export function postgresTaskStore(thread: Omit<Surroundings, 'stats'>): PostgresTaskStore {
  return new PostgresTaskStore(postgresOptions(thread));
}

/**
 * What the settings say about the task store in PostgreSQL.
 *
 * @throws Error that names the setting, if a TLS file cannot be used
 */
export function postgresOptions({
  settings,
  clock,
  random,
  logger,
}: Omit<Surroundings, 'stats'>): PostgresTaskStoreOptions {
  const { hosts, user, password, database } = readPostgresAddress(settings.tasksPostgresUrl);
  const passwordFile = settings.tasksPostgresPasswordFile;
  const commit = settings.tasksPostgresSynchronousCommit;
  const tls = settings.tasksPostgresTls
    ? clientTls(
        {
          certificate: '',
          key: '',
          ca: settings.tasksPostgresTlsCaCert,
          skipHostnameVerification: false,
          settings: 'TASKS_POSTGRES_TLS',
        },
        {
          ca: 'TASKS_POSTGRES_TLS_CACERT',
          plain: 'set TASKS_POSTGRES_TLS=false, and no sslmode in TASKS_POSTGRES_URL',
        },
      )
    : withoutTls('set TASKS_POSTGRES_TLS=true');
  return {
    ...POSTGRES_TASK_STORE_DEFAULTS,
    hosts,
    user,
    password: passwordFile === '' ? password : () => readPassword(passwordFile),
    database,
    tls: tls.options,
    explain: reason => tls.explain(reason),
    connections: settings.tasksPostgresConnections,
    synchronousCommit: commit === 'server' ? null : commit,
    timeoutMs: settings.tasksPostgresTimeoutMs,
    clock,
    random,
    logger,
  };
}

/** A file that cannot be read at startup is a mistake, which does not pass. */
async function readPassword(path: string): Promise<string> {
  try {
    return await readSecret(path, 'TASKS_POSTGRES_PASSWORD_FILE', 'the password');
  } catch (failure) {
    throw new Unfit(asError(failure).message, { cause: failure });
  }
}
