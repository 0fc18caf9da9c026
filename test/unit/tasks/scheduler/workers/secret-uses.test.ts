import t from 'tap';
import type { Secret } from '../../../../../src/tasks/model/documents.ts';
import { putAgain } from '../../../../../src/tasks/store/put-document.ts';
import { EngineScene, NOON, OK } from '../../../../support/tasks/engine-scene.ts';

const TENANT = 'sealed';
const MINUTE = 60_000;

/** A worker with these secrets, to which `push` sends a task; `used` says, in minutes from noon, when each was last. */
async function open(t: Parameters<EngineScene['process']>[0], secrets: readonly Partial<Secret>[]) {
  const scene = await EngineScene.open();
  const dataKey = { masterKeyId: 'm', wrapped: 'w' };
  await scene.store.apply(TENANT, [scene.make.account(TENANT, { dataKey })]);
  const process = await scene.process(t);
  process.deliveries.reply = () => OK;
  const worker = await scene.worker({}, TENANT);
  const documents = secrets.map(secret => scene.make.secret(worker.id, { sealed: 'terces', ...secret }));
  await scene.store.apply(TENANT, documents);
  const push = async () => {
    await scene.add(worker, 1, {}, { tenant: TENANT, heardBy: process });
    await scene.pass(10);
  };
  const used = () =>
    Promise.all(
      documents.map(async ({ id }) => {
        const document = await scene.store.getDocument(TENANT, 'secret', id);
        const at = document?.body.lastUsedAt ?? null;
        return at === null ? null : Math.floor((at - NOON) / MINUTE);
      }),
    );
  return { scene, process, documents, push, used };
}

t.test('secrets that pushes use say when, exact to ten minutes', async t => {
  const { scene, push, used } = await open(t, [
    { type: 'signing', name: 'old' },
    { type: 'signing', name: 'new' },
    { type: 'signing', name: 'gone', expiresAt: NOON },
    { type: 'header', name: 'X-Api-Key' },
    { type: 'header', name: 'x-api-key' },
  ]);
  t.same(await used(), [null, null, null, null, null]);
  await push();
  t.same(await used(), [0, 0, null, null, 0], 'of one header the newest');
  await scene.pass(9 * MINUTE, 1_000);
  await push();
  t.same(await used(), [0, 0, null, null, 0]);
  await scene.pass(2 * MINUTE, 1_000);
  await push();
  t.same(await used(), [11, 11, null, null, 11]);
});

t.test('a hundred pushes cost one write', async t => {
  const { scene, push } = await open(t, [{ type: 'signing' }]);
  let writes = 0;
  const { apply } = scene.store;
  scene.store.apply = (...request) => {
    writes++;
    return apply.apply(scene.store, request);
  };
  for (let count = 0; count < 100; count++) await push();
  t.equal(writes, 1);
});

t.test('what was noted by another process, or before a restart, is not written again', async t => {
  const { push, used } = await open(t, [{ type: 'signing', lastUsedAt: NOON - MINUTE }]);
  await push();
  t.same(await used(), [-1]);
});

t.test('a secret that is deleted meanwhile stays so, and a store that fails keeps no push back', async t => {
  const { scene, process, documents, push, used } = await open(t, [{ type: 'signing' }]);
  const { getDocument } = scene.store;
  scene.store.getDocument = async (tenant, kind, id) => {
    const document = await getDocument.call(scene.store, tenant, kind, id);
    if (kind === 'secret') {
      await scene.store.apply(TENANT, [{ op: 'delete', kind: 'secret', id: documents[0].id, expect: 'any' }]);
    }
    return document as never;
  };
  await push();
  scene.store.getDocument = getDocument;
  t.same(await used(), [null]);
  t.equal(
    (await scene.store.listDocuments(TENANT, { kind: 'secret', after: null, limit: 9, order: 'asc' })).length,
    0,
  );
  t.equal(process.deliveries.requests.length, 1);
});

t.test(
  'the first secret of an account is used, although its data key was just created by another process',
  async t => {
    const scene = await EngineScene.open();
    await scene.store.apply(TENANT, [scene.make.account(TENANT)]);
    const process = await scene.process(t);
    process.deliveries.reply = () => OK;
    const worker = await scene.worker({}, TENANT);
    const push = async () => {
      await scene.add(worker, 1, {}, { tenant: TENANT, heardBy: process });
      await scene.pass(10);
    };
    // The secrets are read again before the account is.
    for (const ms of [1_600, 350]) {
      await push();
      await scene.pass(ms);
    }
    const account = (await scene.store.getDocument(TENANT, 'account', 'account'))!;
    const dataKey = { masterKeyId: 'm', wrapped: 'w' };
    await scene.store.apply(TENANT, [
      putAgain(account, { ...account.body, dataKey }),
      scene.make.secret(worker.id, { sealed: 'terces', type: 'signing' }),
    ]);
    await scene.pass(100);
    await push();
    t.equal(process.deliveries.requests.at(-1)?.signing.length, 1);
    t.equal(process.deliveries.requests.length, 3);
    t.same(process.logger.at('error'), []);
  },
);
