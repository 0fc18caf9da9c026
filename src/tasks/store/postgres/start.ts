import { backoffMs } from '../../../base/backoff.ts';
import { knownFailure, messageOf, sqlState } from './connection/failure.ts';
import type { PostgresTaskStoreOptions } from './connection/options.ts';
import type { PostgresClient } from './connection/postgres-client.ts';
import type { Connection } from './connection/primary-pool.ts';
import { migrate } from './layout/migrate.ts';

/** The oldest version that has all that the functions use. */
const OLDEST_MAJOR = 14;

/** The SQLSTATE of a lock that could not be had in time. */
const LOCKED = '55P03';

const DELAYS = { initialMs: 50, maxMs: 1_000 };

const ABOUT_SERVER = `SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,
  current_setting('default_transaction_isolation') AS isolation, current_setting('fsync') AS fsync`;

/**
 * Connects, checks that the server keeps the data that is written to it, and migrates the layout.
 *
 * @throws (rejects with) Error that names the server, what is wrong with it and how to correct it
 */
export async function startPostgres(
  client: PostgresClient,
  options: PostgresTaskStoreOptions,
): Promise<void> {
  const connection = await connected(client, options);
  try {
    await check(connection, client.address, options);
    await migrated(connection, options);
    connection.release();
  } catch (failure) {
    connection.release(true);
    throw refusal(client, failure);
  }
  options.logger.info('Connected to PostgreSQL for tasks', { address: client.address });
}

/** Waits for the server, which may be starting, unless it refuses the user. */
async function connected(
  client: PostgresClient,
  { startMs, clock, random, explain }: PostgresTaskStoreOptions,
): Promise<Connection> {
  const endMs = clock.nowMs() + startMs;
  for (let attempt = 0; ; attempt++) {
    try {
      return await client.pool.connect();
    } catch (failure) {
      if (knownFailure(failure)?.trouble === 'postgres_access') throw refusal(client, failure);
      const delayMs = backoffMs(DELAYS, attempt, random);
      if (clock.nowMs() + delayMs >= endMs) {
        const reason = explain(messageOf(failure));
        throw new Error(`PostgreSQL at ${client.address} was not ready within ${startMs} ms: ${reason}`);
      }
      await new Promise<void>(resolve => void clock.after(delayMs, resolve));
    }
  }
}

/** Migrates the layout. Another session, such as one that makes a backup, may lock a table for a while. */
async function migrated(
  connection: Connection,
  { startMs, clock, random }: PostgresTaskStoreOptions,
): Promise<void> {
  const endMs = clock.nowMs() + startMs;
  for (let attempt = 0; ; attempt++) {
    try {
      return await migrate(connection);
    } catch (failure) {
      if (sqlState(failure) !== LOCKED || clock.nowMs() >= endMs) throw failure;
    }
    await new Promise<void>(resolve => void clock.after(backoffMs(DELAYS, attempt, random), resolve));
  }
}

async function check(
  connection: Connection,
  address: string,
  { logger }: PostgresTaskStoreOptions,
): Promise<void> {
  const { version, encoding, isolation, fsync } = (await connection.query(ABOUT_SERVER)).rows[0];
  if (Number.parseInt(version, 10) < OLDEST_MAJOR) {
    throw new Error(`it is version ${version}: use ${OLDEST_MAJOR} or later`);
  }
  if (encoding !== 'UTF8') {
    throw new Error(`the database has the encoding ${encoding}: create one with ENCODING 'UTF8'`);
  }
  if (isolation !== 'read committed') {
    throw new Error(
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
