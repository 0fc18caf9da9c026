import t from 'tap';
import { systemClock } from '../../../../../src/base/clock.ts';
import type { TaskStore } from '../../../../../src/tasks/store/task-store.ts';
import { noPostgres, type PostgresServer, postgresFor } from '../../../../support/postgres-server.ts';
import { Factory, settlement, taskChange, taskQuery } from '../../../../support/tasks/factories.ts';
import { postgresTaskStore } from '../../../../support/tasks/postgres-backend.ts';

// PostgreSQL chooses indexes by what it has counted. Whatever it has counted, an operation must read few rows.

const ACME = 'acme';
const NOW = Date.now();

/** Number of tasks of each kind, far above what an operation may read. */
const MANY = 8_000;
const AT_ONCE = 500;
/** Rows and entries of indexes that an operation may read. */
const FEW = 1_500;

/** Reads that all sessions have ended with: they report them when they end. */
async function reads(server: PostgresServer): Promise<number> {
  const [{ count }] = await server.query<{ readonly count: number }>(
    `SELECT ((SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = 'sluice')
      + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = 'sluice'))::float8 AS count`,
  );
  return count;
}

class Filled {
  readonly make = new Factory(systemClock);
  readonly plain = this.make.worker({ name: 'plain' });
  readonly grouped = this.make.worker({ name: 'grouped' });
  readonly ended = this.make.worker({ name: 'ended' });
  readonly idle = this.make.worker({ name: 'idle' });

  async fill(store: TaskStore): Promise<void> {
    await store.apply(ACME, [this.make.account(ACME), this.plain, this.grouped, this.ended, this.idle]);
    const due = (i: number) => ({ runAt: NOW - (i % 100), key: i % 10 === 0 ? `k${i}` : null });
    await this.#create(store, i => this.make.newTask(this.plain, due(i), { wake: true }));
    await this.#create(store, i => this.make.newTask(this.plain, { runAt: NOW + 3_600_000 + i }));
    await this.#create(store, i => this.make.newTask(this.grouped, { runAt: NOW, group: `g${i % 200}` }));
    await this.#create(store, () => this.make.newTask(this.ended, { runAt: NOW }));
    for (;;) {
      const { tasks } = await store.claim(ACME, this.claimOf(this.ended.id, AT_ONCE));
      if (tasks.length === 0) return;
      await store.settle(
        ACME,
        tasks.map(({ leaseId }, i) => settlement(leaseId, i % 50 === 0 ? 'no_retry' : 'succeeded')),
      );
    }
  }

  claimOf(workerId: string, max: number) {
    const rest = {
      tenantInFlight: 1_000_000,
      tenantPerSecond: 1_000_000,
      groups: { concurrency: 2, fifo: false },
    };
    return this.make.claimRequest(workerId, max, rest);
  }

  async #create(store: TaskStore, item: (i: number) => ReturnType<Factory['newTask']>): Promise<void> {
    for (let from = 0; from < MANY; from += AT_ONCE) {
      const items = Array.from({ length: AT_ONCE }, (_, i) => item(from + i));
      await store.create(ACME, this.make.createRequest(items));
    }
  }
}

t.test('operations read few rows, whatever has been counted', { skip: noPostgres }, async t => {
  // What is counted is decided by the test.
  const server = await postgresFor(t, { settings: ['autovacuum=off'] });
  const filled = new Filled();
  const filling = postgresTaskStore(server, { timeoutMs: 60_000 });
  await filling.start();
  await server.query('ANALYZE');
  await filled.fill(filling);
  const { claimOf, make, plain, grouped, ended, idle } = filled;
  const { tasks } = await filling.claim(ACME, claimOf.call(filled, plain.id, 20));
  const [first] = await filling.list(
    ACME,
    taskQuery({ workerId: plain.id, statuses: ['scheduled'], limit: 1 }),
  );
  // Whoever reads an index first removes what is dead.
  await filling.wakeups(Date.now(), 10);
  await filling.stop();
  const inGroup = { group: 'g1', rules: { concurrency: 2, fifo: true }, taskId: first.id };
  const blocked = {
    ...{ tenantInFlight: 1_000_000, tenantPerSecond: 1_000_000 },
    workers: [{ workerId: grouped.id, concurrency: null, rate: null, inGroup }],
  };
  const operations: Readonly<Record<string, (store: TaskStore) => Promise<unknown>>> = {
    'claim due tasks': store => store.claim(ACME, claimOf.call(filled, plain.id, 20)),
    'claim of groups': store => store.claim(ACME, claimOf.call(filled, grouped.id, 5)),
    'claim without tasks': store => store.claim(ACME, claimOf.call(filled, idle.id, 20)),
    settle: store => store.settle(ACME, [settlement(tasks[0].leaseId, 'succeeded')]),
    extend: store => store.extend(ACME, tasks[1].leaseId, 60_000, null),
    leased: store => store.leased(ACME, tasks[1].leaseId),
    create: store =>
      store.create(ACME, make.createRequest([make.newTask(plain, { key: 'new', heldBy: first.id })])),
    get: store => store.get(ACME, first.id),
    cancel: store => store.change(ACME, first.id, taskChange('cancel')),
    remove: store => store.remove(ACME, first.id, null),
    list: store => store.list(ACME, taskQuery({ limit: 50 })),
    'list of a worker': store =>
      store.list(ACME, taskQuery({ workerId: ended.id, statuses: ['failed'], limit: 50 })),
    'newest of a status': store =>
      store.list(ACME, taskQuery({ statuses: ['succeeded'], order: 'desc', limit: 50 })),
    history: store => store.history(ACME, first.id, { after: null, limit: 50, order: 'asc' }),
    wakeups: store => store.wakeups(Date.now(), 100),
    overdue: store => store.overdue(100),
    blocks: store => store.blocks(ACME, blocked),
    counts: store => store.counts(ACME, null),
    ping: store => store.ping(),
    purge: store => store.purge(ACME, { succeededMs: 0, otherMs: 0 }, 20),
  };
  for (const counted of ['when the tables were empty', 'now']) {
    for (const [name, operate] of Object.entries(operations)) {
      const before = await reads(server);
      // Its sessions have no plans yet.
      const store = postgresTaskStore(server, { connections: 2 });
      await store.start();
      await operate(store);
      await store.stop();
      const read = (await reads(server)) - before;
      t.ok(read <= FEW, `${name}, counted ${counted}: ${read} rows`);
    }
    await server.query('ANALYZE');
  }
});
