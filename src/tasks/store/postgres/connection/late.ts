import type { Clock } from '../../../../base/clock.ts';
import type { Statements } from '../layout/migrate.ts';

/** A statement takes too long. The server may still run it, so its connection must not be used again. */
export class Late extends Error {
  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms: the server is overloaded, frozen or unreachable`);
  }
}

/** Runs statements over a connection; each one fails with {@link Late} if it has no answer within a timeout. */
export function bounded(connection: Statements, clock: Clock, timeoutMs: number): Statements {
  const query = async (text: string, values?: unknown[]): Promise<unknown> => {
    const late = Promise.withResolvers<never>();
    const timer = clock.after(timeoutMs, () => late.reject(new Late(timeoutMs)));
    try {
      return await Promise.race([connection.query(text, values), late.promise]);
    } finally {
      timer.cancel();
    }
  };
  return { query: query as Statements['query'] };
}
