import { within } from '../../../../base/clock.ts';
import { asError } from '../../../../base/fault.ts';
import { answersTo, type Call, statementOf } from './calls.ts';
import { cancelStatement } from './cancel.ts';
import { breaksConnection } from './failure.ts';
import { Late } from './late.ts';
import type { PostgresTaskStoreOptions } from './options.ts';
import type { Connection, PrimaryPool } from './primary-pool.ts';

/** There is no connection, so nothing was sent. */
export class ConnectFailed extends Error {
  constructor(cause: unknown) {
    super(asError(cause).message, { cause });
  }
}

/**
 * How long a statement may take to end after it was canceled. Until then, its connection is kept: a pooler forgets whom to
 * cancel when the connection closes, and the statement would wait on the server and take effect later.
 */
const CANCEL_MS = 1_000;

/**
 * Sends calls as one statement and returns their answers.
 *
 * @throws (rejects with) {@link ConnectFailed}, or Error of the server or of the connection
 */
export async function sendCalls(
  pool: PrimaryPool,
  calls: readonly Call[],
  { synchronousCommit, timeoutMs, tls, clock }: PostgresTaskStoreOptions,
): Promise<readonly unknown[]> {
  const statement = statementOf(calls, synchronousCommit);
  let connection: Connection;
  try {
    connection = await pool.connect();
  } catch (failure) {
    throw new ConnectFailed(failure);
  }
  const late = Promise.withResolvers<never>();
  const timer = clock.after(timeoutMs, () => late.reject(new Late(timeoutMs)));
  const lost = (failure: Error): void => late.reject(failure);
  connection.on('error', lost);
  const answer = connection.query({ ...statement, values: [...statement.values], rowMode: 'array' });
  try {
    const { rows } = await Promise.race([answer, late.promise]);
    connection.release();
    return answersTo(calls, rows[0].at(-1));
  } catch (failure) {
    if (failure instanceof Late) {
      cancelStatement(connection, tls);
      await within(clock, CANCEL_MS, Promise.allSettled([answer]));
    }
    connection.release(breaksConnection(failure));
    throw failure;
  } finally {
    timer.cancel();
    connection.off('error', lost);
  }
}
