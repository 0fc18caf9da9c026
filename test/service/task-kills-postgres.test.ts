import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { noPostgres, type PostgresServer, postgresFor } from '../support/postgres-server.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { campaign } from '../support/tasks/kills/campaign.ts';
import { killPlan } from '../support/tasks/kills/plan.ts';
import { postgresTaskStore } from '../support/tasks/postgres-backend.ts';
import { rowsOfTenant } from '../support/tasks/postgres-rows.ts';
import { taskSettings } from '../support/tasks/served-tasks.ts';

/** What is left of a tenant to show that it was deleted: its account, and the counts of its tasks, which are 0. */
const TOMBSTONE = new Set(['doc', 'tally']);

/** The server is killed so long after its last start, in milliseconds. */
const LEAST_MS = 1_500;
const MOST_MS = 4_000;

/** How often processes of the service are killed, and in the other test the server. */
const SERVICE_KILLS = 60;
const SERVER_KILLS = 10;

const plan = killPlan(30);
t.setTimeout(2 * (plan.killMs + plan.boundMs) + 300_000);

/** Kills the server at random, and starts it again. Its other processes may take a moment to notice. */
async function killServer(server: PostgresServer, endMs: number, random: SeededRandom): Promise<number> {
  for (let kills = 0; ; kills++) {
    await sleep(LEAST_MS + random.below(MOST_MS - LEAST_MS));
    if (performance.now() >= endMs && kills >= SERVER_KILLS) return kills;
    await server.kill();
    await server.start();
  }
}

async function killed(t: Test, server: PostgresServer, more: object): Promise<void> {
  await campaign(t, {
    env: taskSettings(t, { postgres: server }),
    openStore: () => postgresTaskStore(server),
    leftOf: async domain => (await rowsOfTenant(server, domain)).filter(name => !TOMBSTONE.has(name)),
    ...plan,
    ...more,
  });
  t.same(await server.query('SELECT * FROM sluice.task_group'), [], 'no group has a task that runs or waits');
  const sums = await server.query(
    `SELECT tenant, worker FROM sluice.tally GROUP BY tenant, worker
     HAVING sum(n0) <> 0 OR sum(n1) <> 0 OR sum(n2) <> 0 OR sum(n3) <> 0`,
  );
  t.same(sums, [], 'nothing is counted as open');
}

const options = { skip: noPostgres };

t.test('processes on one PostgreSQL are killed again and again: nothing is lost', options, async t => {
  await killed(t, await postgresFor(t), { leastKills: SERVICE_KILLS });
});

t.test('PostgreSQL is killed as well, and starts again: nothing is lost', options, async t => {
  const server = await postgresFor(t);
  let kills = 0;
  await killed(t, server, {
    meanwhile: async (endMs: number, random: SeededRandom) => {
      kills = await killServer(server, endMs, random);
    },
  });
  t.comment(`PostgreSQL was killed ${kills} times`);
});
