import type { PostgresServer } from '../postgres-server.ts';

/** Tables whose rows belong to a row of another table. */
const OWNED = [
  ['body', 'seq', 'seq FROM sluice.task'],
  ['event', 'seq', 'seq FROM sluice.task'],
  ['task_key', 'worker', 'no FROM sluice.worker'],
  ['task_group', 'worker', 'no FROM sluice.worker'],
  ['doc_name', 'doc', 'no FROM sluice.doc'],
] as const;

/** The tables in which a tenant has rows, one entry for each row, and those with rows of nobody. */
export async function rowsOfTenant(server: PostgresServer, domain: string): Promise<string[]> {
  const tables = await server.query<{ readonly name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE c.relnamespace = 'sluice'::regnamespace AND c.relkind = 'r' AND a.attname = 'tenant'`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const text = `SELECT 1 FROM sluice.${name} WHERE tenant = (SELECT no FROM sluice.tenant WHERE name = $1)`;
    found.push(...(await server.query(text, { values: [domain] })).map(() => name));
  }
  for (const [name, column, owner] of OWNED) {
    const text = `SELECT 1 FROM sluice.${name} WHERE ${column} NOT IN (SELECT ${owner}) LIMIT 1`;
    if ((await server.query(text)).length > 0) found.push(`${name} of nobody`);
  }
  return found;
}
