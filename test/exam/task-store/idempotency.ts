import { each } from '../../support/each.ts';
import { idempotency as remembered } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME } from './scene.ts';

export const idempotency: Topic = test => {
  test('the same request again is given the answer of the first time', async (scene, t) => {
    const user = scene.make.user();
    const request = scene.make.createRequest(
      [scene.newTask({ key: 'k' }), scene.newTask({ workerId: 'wrk_nobody' }), scene.newTask({ key: 'k' })],
      { idempotency: remembered('i', { note: '{"status":201}' }), documents: [user] },
    );
    const first = await scene.store.create(ACME, request);
    t.match(first, { kind: 'done', note: '{"status":201}' });
    const results = first.kind === 'done' ? first.results : [];
    scene.clock.advance(1_000);
    const { leaseId, task } = await scene.startOne();
    await scene.end(leaseId, 'succeeded');
    const again = { ...request, idempotency: remembered('i', { note: 'another note' }) };
    t.strictSame(
      await scene.store.create(ACME, again),
      { kind: 'replayed', results, note: '{"status":201}' },
      'with the tasks as they were',
    );
    await scene.store.remove(ACME, task.id, null);
    t.strictSame(await scene.store.create(ACME, again), {
      kind: 'replayed',
      results,
      note: '{"status":201}',
    });
    t.equal((await scene.store.getDocument(ACME, 'user', user.id))?.version, 1, 'and does nothing');
  });

  test('another request with the same key is rejected as a conflict', async (scene, t) => {
    await scene.add({}, {}, { idempotency: remembered('i') });
    const request = scene.make.createRequest([scene.newTask()], {
      idempotency: remembered('i', { fingerprint: 'f2' }),
    });
    t.strictSame(await scene.store.create(ACME, request), { kind: 'reused' });
    t.equal((await scene.store.counts(ACME, null)).scheduled, 1);
  });

  test('a request without tasks finds what is remembered, and leaves nothing behind', async (scene, t) => {
    const nothing = () => scene.make.createRequest([], { maxOpen: 0, idempotency: remembered('i') });
    t.match(await scene.store.create(ACME, nothing()), { kind: 'done', results: [] });
    t.same(await scene.store.recall(ACME, remembered('i')), { kind: 'new' });
    const request = scene.make.createRequest([scene.newTask()], {
      idempotency: remembered('i', { note: 'n' }),
    });
    const first = await scene.store.create(ACME, request);
    t.strictSame(await scene.store.create(ACME, nothing()), { ...first, kind: 'replayed' });
    const other = scene.make.createRequest([], { idempotency: remembered('i', { fingerprint: 'f2' }) });
    t.strictSame(await scene.store.create(ACME, other), { kind: 'reused' });
  });

  test('a request without a key has an empty note', async (scene, t) => {
    const answer = await scene.store.create(ACME, scene.make.createRequest([scene.newTask()]));
    t.equal(answer.kind === 'done' && answer.note, '');
  });

  test('it is remembered as long as was asked for', async (scene, t) => {
    const request = () =>
      scene.make.createRequest([scene.newTask()], { idempotency: remembered('i', { keepMs: 1_000 }) });
    await scene.store.create(ACME, request());
    scene.clock.advance(999);
    t.equal((await scene.store.create(ACME, request())).kind, 'replayed');
    t.strictSame(await scene.store.recall(ACME, remembered('i')), { kind: 'replayed', note: '' });
    scene.clock.advance(1);
    t.strictSame(await scene.store.recall(ACME, remembered('i')), { kind: 'new' });
    t.equal((await scene.store.create(ACME, request())).kind, 'done');
    t.equal((await scene.store.create(ACME, request())).kind, 'replayed', 'and then anew');
  });

  test('the same key in another scope is another one', async (scene, t) => {
    await scene.add({}, {}, { idempotency: remembered('i') });
    for (const other of [remembered('i', { scope: 'tok_2 /v1/tasks' }), remembered('j')]) {
      const request = scene.make.createRequest([scene.newTask()], { idempotency: other });
      t.equal((await scene.store.create(ACME, request)).kind, 'done');
    }
  });

  test('a request that did nothing is not remembered', async (scene, t) => {
    const { id } = await scene.add({ key: 'k' });
    const rejected = () => scene.newTask({ key: 'k' }, { onConflict: 'reject' });
    await scene.create([rejected(), rejected()], { idempotency: remembered('i') });
    await scene.create([scene.newTask(), rejected()], { idempotency: remembered('i'), atomic: true });
    t.strictSame(await scene.store.recall(ACME, remembered('i')), { kind: 'new' });
    await scene.store.remove(ACME, id, null);
    t.strictSame(each(await scene.create([rejected()], { idempotency: remembered('i') }), 'kind'), [
      'created',
    ]);
  });

  test('one that found or replaced a task is', async (scene, t) => {
    await scene.add({ key: 'k' });
    await scene.create([scene.newTask({ key: 'k' })], { idempotency: remembered('found') });
    const replacing = scene.newTask({ key: 'k' }, { onConflict: 'replace' });
    await scene.create([replacing], { idempotency: remembered('replaced') });
    t.equal((await scene.store.recall(ACME, remembered('found'))).kind, 'replayed');
    t.equal((await scene.store.recall(ACME, remembered('replaced'))).kind, 'replayed');
  });

  test('changes of documents are remembered likewise', async (scene, t) => {
    const key = remembered('i', { note: 'usr' });
    const user = { ...scene.make.user(), expect: 'any' as const };
    t.strictSame(await scene.store.apply(ACME, [user], key), { kind: 'done', versions: [1] });
    t.strictSame(await scene.store.apply(ACME, [user], key), { kind: 'replayed', note: 'usr' });
    const other = { ...key, fingerprint: 'f2' };
    t.strictSame(await scene.store.apply(ACME, [user], other), { kind: 'reused' });
    t.equal((await scene.store.getDocument(ACME, 'user', user.id))?.version, 1);
    scene.clock.advance(key.keepMs);
    t.strictSame(await scene.store.apply(ACME, [user], other), { kind: 'done', versions: [2] });
  });

  test('changes that are refused are not', async (scene, t) => {
    const missing = { ...scene.make.user(), expect: 3 };
    t.match(await scene.store.apply(ACME, [missing], remembered('i')), { kind: 'refused' });
    t.strictSame(await scene.store.recall(ACME, remembered('i')), { kind: 'new' });
  });

  test('what was remembered by hand is recalled', async (scene, t) => {
    const key = remembered('i', { note: 'ä "note"', keepMs: 1_000 });
    t.strictSame(await scene.store.recall(ACME, key), { kind: 'new' });
    await scene.store.remember(ACME, key);
    t.strictSame(await scene.store.recall(ACME, { ...key, note: '' }), {
      kind: 'replayed',
      note: 'ä "note"',
    });
    t.strictSame(await scene.store.recall(ACME, { ...key, fingerprint: 'f2' }), { kind: 'reused' });
    t.strictSame(await scene.store.recall(ACME, { ...key, scope: 'tok_2' }), { kind: 'new' });
    scene.clock.advance(1_000);
    t.strictSame(await scene.store.recall(ACME, { ...key, fingerprint: 'f2' }), { kind: 'new' });
  });
};
