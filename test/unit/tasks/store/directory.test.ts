import { Fault } from '../../../../src/base/fault.ts';
import { Directory } from '../../../../src/tasks/store/directory.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { Factory } from '../../../support/tasks/factories.ts';
import { MemoryStore } from '../../../support/tasks/memory-store.ts';
import { testsOf } from '../../../support/tests-of.ts';

const test = testsOf(open);

const ACME = 'acme';

/** A directory over a store that counts what it is asked. */
async function open() {
  const clock = new ManualClock(Date.UTC(2026, 2, 1));
  const make = new Factory(clock);
  const store = new MemoryStore(clock);
  const worker = make.worker();
  for (const tenant of [ACME, 'globex']) await store.apply(tenant, [make.account(tenant), worker]);
  let asked = 0;
  const { getDocument } = store;
  store.getDocument = (tenant, kind, id) => {
    asked++;
    return getDocument.call(store, tenant, kind, id) as never;
  };
  const directory = new Directory(store, clock);
  const pause = () =>
    store.apply(ACME, [{ ...worker, expect: 'any', body: { ...worker.body, paused: true } }]);
  const paused = async (tenant = ACME) => (await directory.worker(tenant, worker.id))?.body.paused;
  return { clock, store, directory, worker, pause, paused, asked: () => asked };
}

test('a document is asked for once a second, even none', async ({ clock, directory, paused, asked }, t) => {
  for (let i = 0; i < 3; i++) {
    t.equal(await paused(), false);
    t.equal(await directory.worker(ACME, 'wrk_none'), null);
  }
  t.equal(asked(), 2);
  clock.advance(1_000);
  await paused();
  t.equal(asked(), 3);
});

test('a change of this process is seen at once', async ({ directory, pause, paused, asked }, t) => {
  await paused('globex');
  t.equal(await paused(), false);
  await pause();
  t.equal(await paused(), false, 'another process may be late');
  directory.changed(ACME);
  t.equal(await paused(), true);
  await paused('globex');
  t.equal(asked(), 3);
});

test('what changed while looked up is not kept', async ({ store, directory, worker, pause, paused }, t) => {
  const { getDocument } = store;
  const held = Promise.withResolvers<void>();
  store.getDocument = (async (...args: Parameters<typeof getDocument>) => {
    const found = await getDocument.apply(store, args);
    await held.promise;
    return found;
  }) as never;
  const late = directory.worker(ACME, worker.id);
  await pause();
  store.getDocument = getDocument;
  directory.changed(ACME);
  t.equal(await paused(), true);
  held.resolve();
  t.equal((await late)?.body.paused, false);
  t.equal(await paused(), true);
});

test('no failure is kept, nor anything after a step back', async ({ clock, store, pause, paused }, t) => {
  const { getDocument } = store;
  store.getDocument = (() => Promise.reject(new Fault('store_failed', 'away'))) as never;
  await t.rejects(paused(), { code: 'store_failed' });
  store.getDocument = getDocument;
  t.equal(await paused(), false);
  await pause();
  clock.advance(-3_600_000);
  t.equal(await paused(), true);
});
