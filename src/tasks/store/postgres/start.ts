import { backoffMs } from '../../../base/backoff.ts';
import { HOUR_MS } from '../../../base/clock.ts';
import { hasNotHappened, knownFailure, messageOf, sqlState } from './connection/failure.ts';
import { bounded } from './connection/late.ts';
import type { PostgresTaskStoreOptions } from './connection/options.ts';
import type { PostgresClient } from './connection/postgres-client.ts';
import type { Connection } from './connection/primary-pool.ts';
import { isMigrated, migrate, type Statements } from './layout/migrate.ts';
import { Unfit } from './layout/unfit.ts';

/** The oldest version that has all that the functions use. */
const OLDEST_MAJOR = 14;

/** The SQLSTATE of a lock that could not be had in time. */
const LOCKED = '55P03';

/** Longer than a statement of a migration takes, or waits for another process that migrates. */
const MIGRATION_MS = HOUR_MS;

const DELAYS = { initialMs: 50, maxMs: 1_000 };

const ABOUT_SERVER = `SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,
  current_setting('default_transaction_isolation') AS isolation, current_setting('fsync') AS fsync`;

/**
 * Connects, checks that the server keeps the data that is written to it, and migrates the layout. The server may be starting,
 * or a session, such as one that makes a backup, may lock a table for a while: then this is tried again.
 *
 * @throws (rejects with) Error that names the server, what is wrong with it and how to correct it
 */
export async function startPostgres(
  client: PostgresClient,
  options: PostgresTaskStoreOptions,
): Promise<void> {
  const { startMs, clock, random, explain, logger } = options;
  const endMs = clock.nowMs() + startMs;
  for (let attempt = 0; ; attempt++) {
    const problem = await tried(client, options);
    if (problem === null) break;
    if (!problem.mayPass) throw refusal(client, problem.failure);
    const delayMs = backoffMs(DELAYS, attempt, random);
    if (clock.nowMs() + delayMs >= endMs) {
      const reason = explain(messageOf(problem.failure));
      throw new Error(`PostgreSQL at ${client.address} was not ready within ${startMs} ms: ${reason}`);
    }
    await new Promise<void>(resolve => void clock.after(delayMs, resolve));
  }
  logger.info('Connected to PostgreSQL for tasks', { address: client.address });
}

/** Why an attempt to start has failed, and whether another one may succeed. */
interface Problem {
  readonly failure: unknown;
  readonly mayPass: boolean;
}

async function tried(client: PostgresClient, options: PostgresTaskStoreOptions): Promise<Problem | null> {
  const { clock, timeoutMs } = options;
  let connection: Connection;
  try {
    connection = await client.pool.connect();
  } catch (failure) {
    const mayPass = !(failure instanceof Unfit) && knownFailure(failure)?.trouble !== 'postgres_access';
    return { failure, mayPass };
  }
  // A statement that fails says so as well; without a listener, a connection that is lost between two would end the process.
  const lost = (): void => {};
  connection.on('error', lost);
  try {
    const quick = bounded(connection, clock, timeoutMs);
    await check(quick, client.address, options);
    if (!(await isMigrated(quick))) await migrate(bounded(connection, clock, MIGRATION_MS));
    connection.release();
    return null;
  } catch (failure) {
    connection.release(true);
    const isLost = !(failure instanceof Unfit) && !hasNotHappened(failure);
    return { failure, mayPass: isLost || sqlState(failure) === LOCKED };
  } finally {
    connection.off('error', lost);
  }
}

async function check(
  connection: Statements,
  address: string,
  { logger }: PostgresTaskStoreOptions,
): Promise<void> {
  const { version, encoding, isolation, fsync } = (await connection.query(ABOUT_SERVER)).rows[0];
  if (Number.parseInt(version, 10) < OLDEST_MAJOR) {
    throw new Unfit(`it is version ${version}: use ${OLDEST_MAJOR} or later`);
  }
  if (encoding !== 'UTF8') {
    throw new Unfit(`the database has the encoding ${encoding}: create one with ENCODING 'UTF8'`);
  }
  if (isolation !== 'read committed') {
    throw new Unfit(
      `default_transaction_isolation is '${isolation}': run ALTER ROLE … SET default_transaction_isolation = 'read committed' for its user`,
    );
  }
  if (fsync === 'off') {
    logger.warning('PostgreSQL runs with fsync = off; a power failure can destroy all tasks', { address });
  }
}

function refusal({ address }: PostgresClient, failure: unknown): Error {
  const advice = knownFailure(failure)?.advice ?? null;
  const text = `PostgreSQL at ${address} cannot keep tasks: ${messageOf(failure)}`;
  return new Error(advice === null ? text : `${text} (${advice})`, { cause: failure });
}
