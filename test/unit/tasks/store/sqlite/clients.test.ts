import { once } from 'node:events';
import { MessageChannel, type Worker } from 'node:worker_threads';
import type { Test } from 'tap';
import t from 'tap';
import { systemClock } from '../../../../../src/base/clock.ts';
import { storeOf } from '../../../../../src/tasks/store/operations.ts';
import { PortOperator } from '../../../../../src/tasks/store/sqlite/engine/port-operator.ts';
import {
  spawnStoreThread,
  ThreadOperator,
} from '../../../../../src/tasks/store/sqlite/engine/thread-operator.ts';
import type { TaskStore } from '../../../../../src/tasks/store/task-store.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { Factory } from '../../../../support/tasks/factories.ts';
import { storePath } from '../../../../support/tasks/sqlite-files.ts';
import { startedThreads } from '../../../../support/threads/started-threads.ts';

// Threads other than the owner of the store thread ask it over ports of their own. The ports are used here as if they
// were in another thread.

const make = new Factory(systemClock);
const worker = make.worker();
const STORE_FAILED = { name: 'Fault', code: 'store_failed' };

class Setting {
  readonly threads: readonly Worker[];
  path: string;
  nowMs = 0;
  readonly owner: ThreadOperator;
  readonly clients: TaskStore[] = [];

  constructor(t: Test, clients: number) {
    this.path = storePath(t);
    this.threads = startedThreads(t);
    const logger = new KeepingLogger();
    this.owner = new ThreadOperator(
      owner => spawnStoreThread({ path: this.path }, logger, owner),
      () => this.nowMs,
      logger,
    );
    for (let i = 0; i < clients; i++) {
      const operator: PortOperator = new PortOperator(() => this.owner.wanted(operator));
      this.owner.addClient(operator);
      this.clients.push(storeOf('sqlite', operator));
    }
    t.teardown(async () => {
      for (const client of this.clients) await client.stop();
      await this.owner.stop();
    });
  }

  static async open(t: Test, clients = 2): Promise<Setting> {
    const setting = new Setting(t, clients);
    await setting.owner.start();
    for (const client of setting.clients) await client.start();
    await storeOf('sqlite', setting.owner).apply('acme', [make.account('acme'), worker]);
    return setting;
  }

  async lose(): Promise<void> {
    const thread = this.threads.at(-1)!;
    const exit = once(thread, 'exit');
    await thread.terminate();
    await exit;
  }
}

function create(store: TaskStore): Promise<unknown> {
  return store.create('acme', make.createRequest([make.newTask(worker)]));
}

t.test('every client is answered what it asked', async t => {
  const { clients, owner } = await Setting.open(t, 3);
  const items = clients.map(() => make.newTask(worker));
  const made = await Promise.all(
    clients.map((client, i) => client.create('acme', make.createRequest([items[i]]))),
  );
  made.forEach((answer, i) => {
    t.match(answer, { kind: 'done', results: [{ kind: 'created', task: { id: items[i].task.id } }] });
  });
  t.equal((await storeOf('sqlite', owner).counts('acme', null)).scheduled, 3);
});

t.test('a client that has gone leaves the others alone', async t => {
  const { clients } = await Setting.open(t);
  const asked = create(clients[0]);
  asked.catch(() => {});
  await clients[0].stop();
  await t.rejects(asked, { ...STORE_FAILED, message: /is stopped/ });
  await create(clients[1]);
});

t.test('if the thread is lost, its clients are notified and continue with the replacement', async t => {
  const setting = await Setting.open(t, 1);
  const [client] = setting.clients;
  const asked = Promise.allSettled([create(client)]);
  await new Promise(setImmediate);
  await setting.lose();
  const [end] = await asked;
  if (end.status === 'rejected') {
    t.match(end.reason, {
      ...STORE_FAILED,
      message: /was lost; the operation may or may not have been done/,
    });
  }
  await create(client);
  t.equal(setting.threads.length, 2);
});

t.test('a client has the thread started where nobody else asks', async t => {
  const setting = await Setting.open(t, 1);
  const [client] = setting.clients;
  const { path } = setting;
  setting.path = `${path}/no/such/file`;
  await setting.lose();
  await t.rejects(create(client), { ...STORE_FAILED, message: /cannot be opened/ });
  await t.rejects(create(client), { ...STORE_FAILED, message: /cannot be opened/ });
  t.equal(setting.threads.length, 2, 'it is not tried again at once');
  setting.path = path;
  setting.nowMs += 1_000;
  await create(client);
  t.equal(setting.threads.length, 3);
});

t.test('a client that learns late that a thread was lost keeps what the next one was asked', async t => {
  const operator = new PortOperator(() => t.fail('there is a thread'));
  t.teardown(() => operator.stop());
  const [old, next] = [new MessageChannel(), new MessageChannel()];
  t.teardown(() => next.port2.close());
  operator.connect(old.port1);
  const lost = operator.ask('tenants', [null, 1]);
  const failed = t.rejects(
    lost,
    { ...STORE_FAILED, message: /may or may not have been done/ },
    'this one was for the lost thread',
  );
  await once(old.port2, 'message');
  operator.connect(next.port1);
  await failed;
  const asked = operator.ask('tenants', [null, 2]);
  const [{ numbers }] = await once(next.port2, 'message');
  const closed = once(old.port1, 'close');
  old.port2.close();
  await closed;
  const outcomes = [{ ok: true, answer: ['acme'] }];
  next.port2.postMessage({ kind: 'settled', numbers, outcomes, clockBacksteps: 0 });
  t.same(await asked, ['acme']);
});
