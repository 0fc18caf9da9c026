import type { DocumentChange, DocumentQuery } from '../../../src/tasks/store/documents.ts';
import { READ_BYTES } from '../../../src/tasks/store/task-store.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

function refused(index: number, reason: string) {
  return { kind: 'refused', index, reason };
}

function put(scene: Scene, ...changes: DocumentChange[]) {
  return scene.store.apply(ACME, changes);
}

export const findingDocuments: Topic = test => {
  test('a document is found by each of its names, until it has others', async (scene, t) => {
    const { store, make } = scene;
    const user = make.user({ externalId: 'x|1' });
    await put(scene, user);
    const document = await store.getDocument(ACME, 'user', user.id);
    t.strictSame(await store.findDocument(ACME, 'email:ann@example.com'), document);
    t.strictSame(await store.findDocument(ACME, 'external:x|1'), document);
    await put(scene, { ...user, expect: 1, unique: ['email:bea@example.com', 'external:x|1'] });
    t.equal(await store.findDocument(ACME, 'email:ann@example.com'), null);
    t.equal((await store.findDocument(ACME, 'email:bea@example.com'))?.version, 2);
    t.equal((await store.findDocument(ACME, 'external:x|1'))?.version, 2);
  });

  test('a name is that of one document, whatever its kind', async (scene, t) => {
    const user = scene.make.user();
    const secret = scene.make.secret(scene.mailer.id, {}, { unique: ['email:ann@example.com'] });
    await put(scene, user);
    t.strictSame(await put(scene, secret), refused(0, 'name_taken'));
    t.strictSame(
      await put(scene, { ...user, expect: 1 }),
      { kind: 'done', versions: [2] },
      'it may keep its own',
    );
    await put(scene, { op: 'delete', kind: 'user', id: user.id, expect: 'any' });
    t.strictSame(await put(scene, secret), { kind: 'done', versions: [1] }, 'and leaves it when it goes');
  });

  test('names are those after the changes before', async (scene, t) => {
    const ann = scene.make.user();
    const bea = scene.make.user({ email: 'bea@example.com' });
    await put(scene, ann);
    const renamed = { ...ann, expect: 1, unique: ['email:cleo@example.com'] };
    const takes = { ...bea, unique: ['email:ann@example.com'] };
    t.strictSame(await put(scene, takes, renamed), refused(0, 'name_taken'));
    t.strictSame(await put(scene, renamed, takes), { kind: 'done', versions: [2, 1] });
    t.equal((await scene.store.findDocument(ACME, 'email:ann@example.com'))?.id, bea.id);
    const twice = scene.make.user({ email: 'bea@example.com' }, { unique: ['email:ann@example.com'] });
    t.strictSame(await put(scene, twice), refused(0, 'name_taken'));
  });

  test('a wrong version is reported before a taken name', async (scene, t) => {
    const ann = scene.make.user();
    const bea = scene.make.user({ email: 'bea@example.com' });
    await put(scene, ann, bea);
    const unique = ['email:ann@example.com'];
    t.strictSame(await put(scene, { ...bea, expect: 7, unique }), refused(0, 'version'));
    t.strictSame(await put(scene, { ...bea, expect: 'absent', unique }), refused(0, 'exists'));
    t.strictSame(await put(scene, { ...bea, expect: 1, unique }), refused(0, 'name_taken'));
  });

  test('no more new documents are made than there may be under one parent', async (scene, t) => {
    const secret = (parent: string) => ({ ...scene.make.secret(parent), atMost: 2 });
    const first = secret('wrk_1');
    t.strictSame(await put(scene, first, secret('wrk_1')), { kind: 'done', versions: [1, 1] });
    t.strictSame(await put(scene, secret('wrk_2'), secret('wrk_1')), refused(1, 'too_many'));
    t.strictSame(await put(scene, secret('wrk_2')), { kind: 'done', versions: [1] });
    t.strictSame(await put(scene, scene.make.token('wrk_1', 'h')), { kind: 'done', versions: [1] });
    t.strictSame(
      await put(scene, { ...first, expect: 1 }),
      { kind: 'done', versions: [2] },
      'those there may change',
    );
    const gone = { op: 'delete', kind: 'secret', id: first.id, expect: 'any' } as const;
    t.strictSame(await put(scene, gone, secret('wrk_1')), { kind: 'done', versions: [0, 1] });
  });

  test('a taken name is reported before the maximum number', async (scene, t) => {
    await put(scene, scene.make.user());
    t.strictSame(await put(scene, { ...scene.make.user(), atMost: 1 }), refused(0, 'name_taken'));
  });

  test('documents are listed by kind and parent, in the order of their ids', async (scene, t) => {
    const { store, make } = scene;
    const secrets = Array.from({ length: 7 }, (_, i) => make.secret(i % 2 === 0 ? 'wrk_a' : 'wrk_b'));
    await put(scene, ...[...secrets].reverse(), make.user());
    const list = async (query: Partial<DocumentQuery>) => {
      const found = await store.listDocuments(ACME, {
        kind: 'secret',
        after: null,
        limit: 100,
        order: 'asc',
        ...query,
      });
      return found.map(({ id }) => secrets.findIndex(secret => secret.id === id));
    };
    t.strictSame(await list({}), [0, 1, 2, 3, 4, 5, 6]);
    t.strictSame(await list({ order: 'desc', limit: 3 }), [6, 5, 4]);
    t.strictSame(await list({ after: secrets[2].id, limit: 2 }), [3, 4]);
    t.strictSame(await list({ parent: 'wrk_a' }), [0, 2, 4, 6]);
    t.strictSame(await list({ parent: 'wrk_b', order: 'desc', after: secrets[5].id }), [3, 1]);
    t.strictSame(await list({ parent: 'wrk_b', after: secrets[0].id, limit: 1 }), [1]);
    t.strictSame(await list({ parent: 'wrk_c' }), []);
    t.strictSame(await list({ parent: '' }), []);
    t.strictSame(await list({ kind: 'schedule' }), []);
    t.strictSame(
      await Promise.all([
        store.countDocuments(ACME, 'secret'),
        store.countDocuments(ACME, 'schedule'),
        store.countDocuments('globex', 'secret'),
      ]),
      [7, 0, 0],
    );
    const [first] = await store.listDocuments(ACME, { kind: 'secret', after: null, limit: 1, order: 'asc' });
    t.strictSame(first, await store.getDocument(ACME, 'secret', secrets[0].id));
  });

  test('a document that moves to another parent is listed there', async (scene, t) => {
    const secret = scene.make.secret('wrk_a');
    await put(scene, secret, { ...secret, expect: 1, parent: 'wrk_b' });
    const under = async (parent: string) => {
      const query = { kind: 'secret', parent, after: null, limit: 10, order: 'asc' } as const;
      return (await scene.store.listDocuments(ACME, query)).length;
    };
    t.strictSame([await under('wrk_a'), await under('wrk_b')], [0, 1]);
  });

  test('documents that are due are read up to a bound of their bytes', async (scene, t) => {
    const { store, make } = scene;
    const { body } = make.schedule(scene.mailer);
    const task = { ...body.task, payload: JSON.stringify('x'.repeat(READ_BYTES / 16)) };
    const schedules = Array.from({ length: 20 }, (_, i) => {
      return make.schedule(scene.mailer, { name: `s${i}`, task }, { dueAt: scene.now - 20 + i });
    });
    await put(scene, ...schedules);
    const found = (await store.dueDocuments(100)).map(({ document }) => document.id);
    t.ok(found.length >= 15 && found.length <= 16, `${found.length} were read`);
    t.strictSame(
      found,
      schedules.slice(0, found.length).map(({ id }) => id),
      'the earliest',
    );
  });

  test('a tenant with many due documents leaves room for those of others', async (scene, t) => {
    const { store, make } = scene;
    const many = Array.from({ length: 150 }, (_, i) => {
      return make.schedule(scene.mailer, { name: `s${i}` }, { dueAt: scene.now - 1_000 + i });
    });
    await put(scene, ...many);
    const one = make.worker({ name: 'other' }, { dueAt: scene.now });
    await store.apply('globex', [make.account('globex'), one]);
    const found = await store.dueDocuments(20);
    t.equal(found.length, 11, 'half of the answer, and what the other tenant has');
    t.same(
      found.filter(({ tenant }) => tenant === 'globex').map(({ document }) => document.id),
      [one.id],
    );
  });

  test('a tenant with large due documents leaves room for those of others', async (scene, t) => {
    const { store, make } = scene;
    const { body } = make.schedule(scene.mailer);
    const task = { ...body.task, payload: JSON.stringify('x'.repeat(READ_BYTES / 8)) };
    const large = Array.from({ length: 12 }, (_, i) => {
      return make.schedule(scene.mailer, { name: `s${i}`, task }, { dueAt: scene.now - 1_000 + i });
    });
    await put(scene, ...large);
    const one = make.worker({ name: 'other' }, { dueAt: scene.now });
    await store.apply('globex', [make.account('globex'), one]);
    const found = await store.dueDocuments(100);
    t.ok(
      found.some(({ tenant }) => tenant === 'globex'),
      'the worker of the other tenant is among them',
    );
    t.ok(found.length <= 9, `${found.length} were read`);
  });

  test('documents of all tenants are due at their time, the earliest first', async (scene, t) => {
    const { store, make, clock } = scene;
    const schedule = make.schedule(scene.mailer, {}, { dueAt: scene.now + 3_000 });
    const worker = make.worker({ name: 'other' }, { dueAt: scene.now + 2_000 });
    const later = make.worker({ name: 'later' }, { dueAt: scene.now + 9_000 });
    await put(scene, schedule, make.user());
    await store.apply('globex', [make.account('globex'), worker, later]);
    const due = async (max = 100, after: string | null = null) =>
      (await store.dueDocuments(max, after)).map(({ document }) => document.id);
    clock.advance(1_999);
    t.strictSame(await due(), []);
    clock.advance(1);
    t.strictSame(await store.dueDocuments(100), [
      { tenant: 'globex', document: await store.getDocument('globex', 'worker', worker.id) },
    ]);
    clock.advance(1_000);
    t.strictSame(await due(), [worker.id, schedule.id]);
    t.strictSame(await due(1), [schedule.id], 'tenants take turns when not all fit');
    t.strictSame(await due(1, 'acme'), [worker.id]);
    t.strictSame(await due(1, 'globex'), [schedule.id]);
    await put(scene, { ...schedule, expect: 1, dueAt: scene.now + 1 });
    t.strictSame(await due(), [worker.id], 'another time takes the place of the first');
    await store.apply('globex', [{ ...worker, expect: 1, dueAt: null }]);
    await put(scene, { op: 'delete', kind: 'schedule', id: schedule.id, expect: 'any' });
    clock.advance(1_000);
    t.strictSame(await due(), [], 'none, or none any more');
  });
};
