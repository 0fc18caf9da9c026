import t from 'tap';
import { ACCOUNT_ID } from '../../../../../src/tasks/store/documents.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { Factory, taskQuery } from '../../../../support/tasks/factories.ts';
import { sameThreadSqliteStore } from '../../../../support/tasks/same-thread-store.ts';
import { storePath } from '../../../../support/tasks/sqlite-files.ts';

t.test('a process that knows a tenant notices that another has deleted it', async t => {
  const clock = new ManualClock(Date.UTC(2026, 2, 1));
  const path = storePath(t);
  const open = async () => {
    const store = sameThreadSqliteStore({ path, synchronous: 'normal' }, clock);
    await store.start();
    t.teardown(() => store.stop());
    return store;
  };
  const [ours, theirs] = [await open(), await open()];
  const make = new Factory(clock);
  const [acme, worker] = [make.account('acme'), make.worker()];
  await ours.apply('acme', [acme, worker]);
  const { task } = make.newTask(worker);
  await theirs.create('acme', make.createRequest([make.newTask(worker, task)]));
  t.equal((await theirs.counts('acme', worker.id)).scheduled, 1);

  await ours.remove('acme', task.id, null);
  await ours.apply('acme', [{ op: 'delete', kind: 'worker', id: worker.id, expect: 'any' }]);
  t.ok(await ours.forgetTenant('acme', null));
  t.equal(await ours.forgetTenant('acme', null), null);
  await ours.apply('acme', [{ op: 'delete', kind: 'account', id: ACCOUNT_ID, expect: 'any' }]);

  // The next tenant and the next worker get the numbers.
  const other = make.worker({ name: 'other' });
  await ours.apply('globex', [make.account('globex'), other]);
  await ours.create('globex', make.createRequest([make.newTask(other)]));
  t.same(await theirs.list('acme', taskQuery()), []);
  t.equal(await theirs.getDocument('acme', 'account', ACCOUNT_ID), null);
  t.equal((await theirs.counts('acme', null)).scheduled, 0);
  t.equal((await theirs.counts('acme', worker.id)).scheduled, 0);
  t.same(await theirs.claim('acme', make.claimRequest(worker.id, 1)), {
    tasks: [],
    now: clock.nowMs(),
    nextAt: null,
    blocked: null,
  });
  t.equal((await theirs.claim('globex', make.claimRequest(other.id, 1))).tasks.length, 1);
  await theirs.apply('acme', [acme, worker]);
  t.same(await ours.tenants(null, 10), ['acme', 'globex']);
  t.equal((await ours.getDocument('acme', 'worker', worker.id))?.id, worker.id);
});
