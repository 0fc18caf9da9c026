import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TaskService } from './task-service.ts';

/** Time after which the statistics of a server contain what it has done. */
const LATE_MS = 2_000;

/** Bytes that the store uses: of files, or of the memory of Redis. */
export async function storeBytes({ redis, postgres, dataDirectory }: TaskService): Promise<number> {
  if (redis !== null) return fieldOf(String(await redis.command('INFO', 'memory')), 'used_memory');
  if (postgres !== null) {
    const [{ bytes }] = await postgres.query<{ bytes: number }>(
      'SELECT pg_database_size(current_database())::float8 AS bytes',
    );
    return bytes;
  }
  return readdirSync(dataDirectory).reduce((sum, name) => sum + statSync(join(dataDirectory, name)).size, 0);
}

/** Number of commands or transactions that the server of the store has carried out; null without a server. */
export async function statements({ redis, postgres }: TaskService): Promise<number | null> {
  if (redis !== null)
    return fieldOf(String(await redis.command('INFO', 'stats')), 'total_commands_processed');
  if (postgres === null) return null;
  await new Promise(resolve => setTimeout(resolve, LATE_MS));
  const [{ count }] = await postgres.query<{ count: number }>(
    'SELECT (xact_commit + xact_rollback)::float8 AS count FROM pg_stat_database WHERE datname = current_database()',
  );
  return count;
}

/** Stops autovacuum, whose transactions are counted as well. */
export async function stopAutovacuum({ postgres }: TaskService): Promise<void> {
  await postgres?.query('ALTER SYSTEM SET autovacuum = off');
  await postgres?.query('SELECT pg_reload_conf()');
}

function fieldOf(text: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1]);
}
