import t from 'tap';
import { systemClock } from '../../../../../src/base/clock.ts';
import type { Actor } from '../../../../../src/tasks/model/task.ts';
import { givenText, storedText } from '../../../../../src/tasks/store/postgres/rows/plain-text.ts';
import { noPostgres, postgresFor } from '../../../../support/postgres-server.ts';
import { Factory, taskQuery } from '../../../../support/tasks/factories.ts';
import { postgresTaskStore } from '../../../../support/tasks/postgres-backend.ts';

// Texts that callers may give and that PostgreSQL cannot hold.

const STRANGE = [
  'a\u0000b',
  'a\ud800b',
  'a\udc00',
  'a\\0000b',
  'a\\u0000b',
  'a\\',
  '😀',
  'a\ufffdb',
  '\\\\ud800',
];

t.test('each text has a form of its own without U+0000 and lone surrogates', async t => {
  for (const text of STRANGE) {
    const stored = storedText(text);
    t.notMatch(stored, /[\0\p{Cs}]/u);
    t.equal(givenText(stored), text);
  }
  t.equal(new Set(STRANGE.map(storedText)).size, STRANGE.length);
});

t.test('groups and actors come back as they were given', { skip: noPostgres }, async t => {
  const store = postgresTaskStore(await postgresFor(t));
  await store.start();
  t.teardown(() => store.stop());
  const make = new Factory(systemClock);
  const worker = make.worker();
  await store.apply('acme', [worker]);

  for (const text of STRANGE) {
    const actor: Actor = { type: 'worker', id: text };
    const item = make.newTask(worker, { group: text, createdBy: actor });
    await store.create('acme', make.createRequest([item]));
    const rules = { groups: { concurrency: 1, fifo: false } };
    const { tasks } = await store.claim('acme', { ...make.claimRequest(worker.id, 9, rules), actor });
    t.match(
      tasks,
      [{ task: { id: item.task.id, group: text, createdBy: actor } }],
      'no group of another text is full',
    );
    const history = await store.history('acme', item.task.id, { after: 0, limit: 9, order: 'asc' });
    t.strictSame(
      history?.map(entry => entry.actor),
      [actor, actor],
    );
  }
  t.strictSame(
    await store.list('acme', taskQuery({ scheduleId: 'a\u0000' })),
    [],
    'nobody has such a schedule',
  );
});
