import type { DocumentChange } from '../../../src/tasks/store/documents.ts';
import { each } from '../../support/each.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

function refused(index: number, reason: string) {
  return { kind: 'refused', index, reason };
}

function put(scene: Scene, ...changes: DocumentChange[]) {
  return scene.store.apply(ACME, changes);
}

export const documents: Topic = test => {
  test('a document is kept as it was given, and found by its id', async (scene, t) => {
    const { store, make } = scene;
    const worker = make.worker({
      name: 'näme "x"',
      headers: { 'x-a': '1' },
      noRetryOn: [400, 422],
      rate: { limit: 1, perMs: 2, burst: 3 },
    });
    t.strictSame(await put(scene, { ...worker, parent: 'p', dueAt: 17 }), { kind: 'done', versions: [1] });
    const { kind, id, body } = worker;
    t.strictSame(await store.getDocument(ACME, 'worker', id), {
      kind,
      id,
      version: 1,
      parent: 'p',
      dueAt: 17,
      body,
    });
  });

  test('of a kind that keeps only its newest the oldest go, a few at a time', async (scene, t) => {
    const { store, make } = scene;
    const entry = (keepNewest?: number) =>
      make.audit({}, { parent: 'p', ...(keepNewest === undefined ? {} : { keepNewest }) });
    const before = Array.from({ length: 15 }, () => entry());
    await put(scene, ...before, make.audit({}, { parent: 'q' }));
    const ids = async () => {
      const query = { kind: 'audit', parent: 'p', after: null, limit: 50, order: 'asc' } as const;
      return (await store.listDocuments(ACME, query)).map(({ id }) => id);
    };
    const [first, second] = [entry(3), entry(3)];
    await put(scene, first);
    t.strictSame(await ids(), [...before.slice(10).map(({ id }) => id), first.id]);
    await put(scene, second);
    t.strictSame(await ids(), [before[14].id, first.id, second.id]);
    await put(scene, { ...second, expect: 'any', keepNewest: 1 });
    t.equal((await ids()).length, 3, 'it is looked at where the document is new');
    t.equal(await store.countDocuments(ACME, 'audit'), 4, 'other parents have their own');
  });

  test('one kind is not another, and what is not there is null', async (scene, t) => {
    const { store, make } = scene;
    const user = make.user();
    await put(scene, user);
    t.equal(await store.getDocument(ACME, 'schedule', user.id), null);
    t.equal(await store.getDocument(ACME, 'user', 'usr_nobody'), null);
    t.equal(await store.findDocument(ACME, 'email:nobody@example.com'), null);
    const namesake = { ...make.schedule(scene.mailer), id: user.id };
    t.strictSame(await put(scene, namesake), { kind: 'done', versions: [1] }, 'an id is that of a kind');
    t.equal((await store.getDocument(ACME, 'user', user.id))?.kind, 'user');
  });

  test('it is written whole, one version higher', async (scene, t) => {
    const { store, make } = scene;
    const user = make.user({ name: 'Ann' }, { parent: 'p', dueAt: 5 });
    await put(scene, user);
    const body = { ...user.body, name: 'Bea' };
    const next = { ...user, expect: 1, body, parent: '', dueAt: null };
    t.strictSame(await put(scene, next), { kind: 'done', versions: [2] });
    t.strictSame(await store.getDocument(ACME, 'user', user.id), {
      kind: 'user',
      id: user.id,
      version: 2,
      parent: '',
      dueAt: null,
      body,
    });
  });

  test('a document is replaced only as the one that was expected', async (scene, t) => {
    const user = scene.make.user();
    t.strictSame(await put(scene, { ...user, expect: 1 }), refused(0, 'missing'));
    t.strictSame(await put(scene, { ...user, expect: 'absent' }), { kind: 'done', versions: [1] });
    t.strictSame(await put(scene, { ...user, expect: 'absent' }), refused(0, 'exists'));
    t.strictSame(await put(scene, { ...user, expect: 2 }), refused(0, 'version'));
    t.strictSame(await put(scene, { ...user, expect: 1 }), { kind: 'done', versions: [2] });
    t.strictSame(await put(scene, { ...user, expect: 1 }), refused(0, 'version'));
    t.strictSame(await put(scene, { ...user, expect: 'any' }), { kind: 'done', versions: [3] });
    const other = scene.make.user({ email: 'other@example.com' });
    t.strictSame(await put(scene, { ...other, expect: 'any' }), { kind: 'done', versions: [1] });
  });

  test('a document that is made again begins with the first version', async (scene, t) => {
    const user = scene.make.user();
    await put(scene, user, { ...user, expect: 1 });
    await put(scene, { op: 'delete', kind: 'user', id: user.id, expect: 2 });
    t.strictSame(await put(scene, user), { kind: 'done', versions: [1] });
  });

  test('of two changes at the same time one is made', async (scene, t) => {
    const user = scene.make.user();
    await put(scene, user);
    const answers = await Promise.all([1, 2, 3].map(() => put(scene, { ...user, expect: 1 })));
    t.strictSame(answers.map(({ kind }) => kind).sort(), ['done', 'refused', 'refused']);
  });

  test('a deleted document is gone with its names', async (scene, t) => {
    const user = scene.make.user();
    await put(scene, user);
    const gone = { op: 'delete', kind: 'user', id: user.id } as const;
    t.strictSame(await put(scene, { ...gone, expect: 2 }), refused(0, 'version'));
    t.strictSame(await put(scene, { ...gone, expect: 1 }), { kind: 'done', versions: [0] });
    t.equal(await scene.store.getDocument(ACME, 'user', user.id), null);
    t.equal(await scene.store.findDocument(ACME, 'email:ann@example.com'), null);
    t.strictSame(await put(scene, { ...gone, expect: 1 }), refused(0, 'missing'));
    t.strictSame(await put(scene, { ...gone, expect: 'any' }), refused(0, 'missing'));
  });

  test('its children of the kind that is named go with it', async (scene, t) => {
    const { store, make } = scene;
    const ann = make.user();
    const bea = make.user({ email: 'bea@example.com' });
    const tokens = [make.token(ann.id, 'h1'), make.token(ann.id, 'h2'), make.token(bea.id, 'h3')];
    const secret = make.secret(ann.id);
    await put(scene, ann, bea, ...tokens, secret);
    await put(scene, { op: 'delete', kind: 'user', id: ann.id, expect: 'any', children: 'token' });
    const left = await store.listDocuments(ACME, { kind: 'token', after: null, limit: 10, order: 'asc' });
    t.strictSame(each(left, 'id'), [tokens[2].id]);
    t.equal(await store.findDocument(ACME, 'hash:h1'), null);
    t.ok(await store.getDocument(ACME, 'secret', secret.id), 'those of other kinds stay');
  });

  test('a worker with open tasks is not deleted', async (scene, t) => {
    const { id } = scene.mailer;
    const gone = { op: 'delete', kind: 'worker', id, expect: 'any', noOpenTasksOf: id } as const;
    for (const status of ['scheduled', 'retry', 'paused'] as const) {
      await scene.clear();
      await scene.taskIn(status);
      t.strictSame(await put(scene, gone), refused(0, 'has_tasks'), status);
    }
    await scene.clear();
    await scene.add();
    const { leaseId } = await scene.startOne();
    t.strictSame(await put(scene, gone), refused(0, 'has_tasks'), 'running');
    await scene.end(leaseId, 'succeeded');
    await scene.create([scene.make.newTask(scene.reporter)]);
    t.strictSame(await put(scene, { ...gone, expect: 9 }), refused(0, 'version'));
    t.strictSame(
      await put(scene, gone),
      { kind: 'done', versions: [0] },
      'those that have ended do not count',
    );
  });

  test('one change that is refused refuses all, and is named', async (scene, t) => {
    const { store, make } = scene;
    const ann = make.user();
    const bea = make.user({ email: 'bea@example.com' });
    await put(scene, ann);
    const changes: DocumentChange[] = [
      { ...ann, expect: 1, unique: ['email:new@example.com'] },
      bea,
      { op: 'delete', kind: 'worker', id: scene.reporter.id, expect: 'any' },
      { ...make.secret(scene.mailer.id), expect: 3 },
      { ...make.secret(scene.mailer.id), expect: 4 },
    ];
    t.strictSame(await put(scene, ...changes), refused(3, 'missing'));
    t.equal((await store.findDocument(ACME, 'email:ann@example.com'))?.version, 1);
    t.equal(await store.getDocument(ACME, 'user', bea.id), null);
    t.equal((await store.getDocument(ACME, 'worker', scene.reporter.id))?.version, 1);
    t.strictSame(await put(scene, ...changes.slice(0, 3)), { kind: 'done', versions: [2, 1, 0] });
  });

  test('no change at all is done', async (scene, t) => {
    t.strictSame(await put(scene), { kind: 'done', versions: [] });
  });

  test('a document can be changed twice', async (scene, t) => {
    const user = scene.make.user();
    const answer = await put(scene, user, { ...user, expect: 1 }, { ...user, expect: 2 });
    t.strictSame(answer, { kind: 'done', versions: [1, 2, 3] });
  });
};
