import type { Test } from 'tap';
import { MINUTE_MS } from '../../../src/base/clock.ts';
import { placeOfCount, USAGE_SPANS, type UsageSpan, usageStart } from '../../../src/tasks/model/usage.ts';
import { FIRST_PLACE, PAGE_SIZES } from '../../../src/tasks/store/copies.ts';
import { SERVICE } from '../../../src/tasks/store/documents.ts';
import { putNew } from '../../../src/tasks/store/put-document.ts';
import { READ_BYTES } from '../../../src/tasks/store/task-store.ts';
import { historyQuery, idempotency, idsOf, PULLER, taskQuery } from '../../support/tasks/factories.ts';
import { copiesOf, copyAll, pagesOf } from './copying.ts';
import { ACME, type Backend, Scene } from './scene.ts';
import { snapshotOf } from './snapshot.ts';

type Show = (scene: Scene, copy: Scene, t: Test) => Promise<unknown>;

/** What a copy of a store in another one must be. See also `randomCopyExam`. */
export function copyExam(t: Test, from: Backend, to: Backend): void {
  t.test(`${from.name} to ${to.name}`, async t => {
    for (const [title, show] of Object.entries(THINGS)) {
      t.test(title, async t => {
        const scene = await Scene.open(t, from);
        const open = await to.open(scene.clock);
        t.teardown(() => open.close());
        await show(scene, scene.over(open), t);
      });
    }
  });
}

/** Copies the store of the first scene to the empty one of the second. */
async function copied(scene: Scene, copy: Scene, t: Test): Promise<void> {
  await copyAll({ from: scene.store, to: copy.store });
  t.strictSame(await snapshotOf(copy.store), await snapshotOf(scene.store));
  t.strictSame(await copiesOf(copy.store), await copiesOf(scene.store));
}

const PULL = { lease: { mode: 'pull', ms: 10_000 } } as const;

const THINGS: Readonly<Record<string, Show>> = {
  async 'attempts in progress go on'(scene, copy, t) {
    const { id } = await scene.add({ timeoutMs: 60_000 });
    const { leaseId } = await scene.startOne(PULL);
    scene.clock.advance(5_000);
    await copied(scene, copy, t);
    t.equal((await copy.store.leased(ACME, leaseId))?.id, id);
    t.strictSame(await copy.store.extend(ACME, leaseId, 30_000, null), {
      kind: 'extended',
      until: scene.now + 30_000,
      cancelRequested: false,
    });
    scene.clock.advance(1_000);
    t.match(await copy.store.extend(ACME, leaseId, 100_000, null), { until: scene.now + 54_000 });
    t.match(await copy.settle(leaseId, 'succeeded'), { kind: 'settled', beganAt: scene.now - 6_000 });
    t.match(await copy.settle(leaseId, 'succeeded'), { kind: 'already', task: { id } });
    t.match(await copy.settle(leaseId, 'no_retry'), { kind: 'lost' });
  },

  async 'a tenant can be half deleted'(scene, copy, t) {
    const { ms } = USAGE_SPANS.hour;
    const first = usageStart('hour', scene.now);
    const increments = Array.from({ length: 600 }, (_, i) => ({
      at: first - i * ms,
      workerId: scene.mailer.id,
      figures: [placeOfCount('created'), 1],
    }));
    for (let from = 0; from < increments.length; from += 100) {
      await scene.store.addUsage(ACME, increments.slice(from, from + 100));
    }
    const { id } = scene.mailer;
    await scene.store.apply(ACME, [{ op: 'delete', kind: 'worker', id, expect: 'any' }]);
    await scene.store.forgetTenant(ACME, null);
    await copyAll({ from: scene.store, to: copy.store });
    t.equal(
      (await copy.store.listDocuments(ACME, { kind: 'account', after: null, limit: 1, order: 'asc' })).length,
      1,
    );
  },

  async 'it is known how the last attempt ended'(scene, copy, t) {
    await scene.add();
    const { leaseId } = await scene.startOne();
    await scene.end(leaseId, 'deferred', { delayMs: 60_000 });
    await copied(scene, copy, t);
    t.match(await copy.settle(leaseId, 'deferred'), { kind: 'already' });
    t.match(await copy.settle(leaseId, 'succeeded'), { kind: 'lost' });
  },

  async 'leases that have ended are overdue, and so are tasks that expire'(scene, copy, t) {
    await scene.add();
    const { leaseId } = await scene.startOne(PULL);
    const { id } = await scene.add({ runAt: scene.now + 60_000, expiresAt: scene.now + 10_000 });
    await copied(scene, copy, t);
    scene.clock.advance(10_000);
    t.match(await copy.store.overdue(10), [{ tenant: ACME, leases: [{ leaseId }], expired: [{ id }] }]);
  },

  async 'keys stay taken, and return to the tasks that had them'(scene, copy, t) {
    const first = await scene.add({ key: 'k' });
    const { leaseId } = await scene.startOne();
    const second = await scene.add({ key: 'k' }, { onConflict: 'replace' });
    t.equal(second.heldBy, first.id);
    await scene.taskIn('succeeded', { key: 'ended', keyTtlMs: 60_000, worker: 'mailer' });
    await copied(scene, copy, t);

    t.match(await copy.result(copy.newTask({ key: 'k' })), { kind: 'existing', task: { id: second.id } });
    t.match(await copy.result(copy.newTask({ key: 'ended' })), {
      kind: 'existing',
      keyFreeAt: scene.now + 60_000,
    });
    await copy.store.remove(ACME, second.id, null);
    t.match(await copy.result(copy.newTask({ key: 'k' })), { kind: 'existing', task: { id: first.id } });
    await copy.end(leaseId, 'succeeded');
    t.match(await copy.result(copy.newTask({ key: 'k' })), { kind: 'created' });
    scene.clock.advance(60_000);
    t.match(await copy.result(copy.newTask({ key: 'ended' })), { kind: 'created' });
  },

  async 'held tasks are released by the end of their holder, whichever is copied first'(scene, copy, t) {
    const early = scene.make.id('task');
    const holder = await scene.add();
    const held = [await scene.add({ id: early, heldBy: holder.id }), await scene.add({ heldBy: holder.id })];
    t.ok(held[0].id < holder.id && holder.id < held[1].id);
    await copied(scene, copy, t);
    await copy.changed(holder.id, 'cancel');
    for (const { id } of held) t.match(await copy.get(id), { heldBy: null, dueAt: scene.now });
    t.strictSame(idsOf((await copy.claim(5)).tasks.map(({ task }) => task)).sort(), idsOf(held).sort());
  },

  async 'the end of a task is told once'(scene, copy, t) {
    const onFinish = { workerId: scene.reporter.id, events: ['succeeded'] } as const;
    const told = await scene.add({ onFinish });
    await scene.end((await scene.startOne()).leaseId, 'succeeded', { result: '{"a":"ü"}' });
    const later = await scene.add({ onFinish });
    const { leaseId } = await scene.startOne();
    await copied(scene, copy, t);
    await copy.end(leaseId, 'succeeded');
    const due = (await copy.store.dueDocuments(10)).map(({ document }) => document.id);
    t.strictSame(due.sort(), [`${told.id}.3`, `${later.id}.3`].sort());
  },

  async 'requests with an idempotency key are replayed as before'(scene, copy, t) {
    const { store, make } = scene;
    await scene.add({ key: 'k' });
    const known = { idempotency: idempotency('i', { scope: 'a:b :', note: 'kept' }) };
    const tasks = [
      scene.newTask({ tags: ['ü'], metadata: { b: '1', a: '2' } }),
      scene.newTask({ key: 'k' }),
      scene.newTask({ key: 'k' }, { onConflict: 'reject' }),
      scene.newTask({ key: 'k' }, { onConflict: 'replace' }),
      scene.make.newTask({ id: 'wrk_none', body: scene.mailer.body }),
    ];
    const request = make.createRequest(tasks, known);
    const first = await store.create(ACME, request);
    await store.apply(ACME, [make.user()], idempotency('j', { note: 'user' }));
    await store.remember(ACME, idempotency('short', { keepMs: 1_000 }));
    await copied(scene, copy, t);
    t.strictSame(await copy.store.create(ACME, request), { ...first, kind: 'replayed' });
    t.match(await copy.store.apply(ACME, [], idempotency('j')), { kind: 'replayed', note: 'user' });
    const other = idempotency('j', { fingerprint: 'f2' });
    t.strictSame(await copy.store.recall(ACME, other), { kind: 'reused' });
    scene.clock.advance(1_000);
    t.strictSame(await copy.store.recall(ACME, idempotency('short')), { kind: 'new' });
  },

  async 'buckets and throttles are as full as they were'(scene, copy, t) {
    const bound = { rate: { limit: 1, perMs: 60_000, burst: 3 }, tenantPerSecond: 7 };
    for (let i = 0; i < 8; i++) await scene.add();
    await scene.startOne(bound);
    await copied(scene, copy, t);
    for (const one of [scene, copy]) {
      t.match(await one.claim(5, bound), { tasks: { length: 2 }, blocked: 'rate' });
      t.match(await one.claim(8, { tenantPerSecond: 7 }), { tasks: { length: 4 }, blocked: 'tenant_rate' });
    }
  },

  async 'a worker that was throttled stays so'(scene, copy, t) {
    await scene.add();
    await scene.end((await scene.startOne()).leaseId, 'deferred', { throttleMs: 30_000 });
    await copied(scene, copy, t);
    t.match(await copy.claim(1), { tasks: [], blocked: 'throttled', nextAt: scene.now + 30_000 });
    scene.clock.advance(30_000);
    t.match(await copy.claim(1), { tasks: { length: 1 } });
  },

  async 'groups keep their order and the number of their running tasks'(scene, copy, t) {
    const fifo = { groups: { concurrency: 2, fifo: true } };
    for (const group of ['a', 'a', 'a', 'b']) await scene.add({ group });
    await scene.startOne(fifo);
    await copied(scene, copy, t);
    for (const one of [scene, copy]) {
      const { tasks, blocked } = await one.claim(5, fifo);
      t.strictSame(tasks.map(({ task }) => task.group).sort(), ['a', 'b']);
      t.equal(blocked, 'group', 'the third one of the first group');
      t.match(await one.claim(5, fifo), { tasks: [], blocked: 'group' });
      await one.end(tasks.find(({ task }) => task.group === 'a')!.leaseId, 'succeeded');
      t.match(await one.claim(5, fifo), { tasks: [{ task: { group: 'a' } }] });
    }
  },

  async 'a long history goes on with its number'(scene, copy, t) {
    const { id } = await scene.add();
    const { leaseId } = await scene.startOne({ lease: { mode: 'pull', ms: 60_000 } });
    const progress = (percent: number) => ({ percent, note: 'ä', actor: PULLER });
    for (let i = 0; i < 1_035; i++) await scene.store.extend(ACME, leaseId, null, progress(i % 100));
    await copied(scene, copy, t);
    for (const one of [scene, copy]) await one.end(leaseId, 'timed_out');
    const entries = await copy.store.history(ACME, id, historyQuery());
    t.strictSame(entries, await scene.store.history(ACME, id, historyQuery()));
    t.match(entries?.[50], { event: 'gap', dropped: 38 });
    t.equal(entries?.at(-1)?.seq, 1_038);
  },

  async 'usage goes on'(scene, copy, t) {
    const created = placeOfCount('created');
    const add = ({ store, now }: Scene, workerId: string | null) =>
      store.addUsage(ACME, [{ at: now, workerId, figures: [created, 2] }]);
    await scene.add();
    for (let i = 0; i < 100; i++) {
      await add(scene, null);
      await add(scene, scene.mailer.id);
      scene.clock.advance(MINUTE_MS);
    }
    await copied(scene, copy, t);
    for (const one of [scene, copy]) await add(one, scene.mailer.id);
    for (const span of Object.keys(USAGE_SPANS) as UsageSpan[]) {
      for (const workerId of [null, scene.mailer.id]) {
        const { ms } = USAGE_SPANS[span];
        const query = { span, workerId, from: usageStart(span, scene.now) - 120 * ms, intervals: 121 };
        const found = await copy.store.usage(ACME, query);
        t.strictSame(found, await scene.store.usage(ACME, query));
        t.ok(found.length > 1, `${found.length}`);
      }
    }
  },

  async 'documents keep versions, names, parents and due times'(scene, copy, t) {
    const { store, make } = scene;
    const user = make.user({ externalId: 'x1' });
    const schedule = make.schedule(scene.mailer, { nextAt: scene.now + 5_000 });
    await store.apply(ACME, [user, make.token(user.id, 'h1'), schedule]);
    await store.apply(ACME, [{ ...user, expect: 1 }]);
    await store.apply(SERVICE, [putNew('master_keys', 'master_keys', { ids: ['k1'] })]);
    await copied(scene, copy, t);
    t.match(await copy.store.findDocument(ACME, 'external:x1'), { id: user.id, version: 2 });
    t.match(await copy.store.apply(ACME, [{ ...user, expect: 2 }]), { versions: [3] });
    const taken = make.user({ email: 'other@example.com', externalId: 'x1' });
    t.match(await copy.store.apply(ACME, [taken]), { kind: 'refused', reason: 'name_taken' });
    t.match(await copy.store.getDocument(SERVICE, 'master_keys', 'master_keys'), { body: { ids: ['k1'] } });
    t.strictSame(await copy.store.tenants(null, 10), [ACME], 'the service itself is no tenant');
    t.strictSame(await copy.store.dueDocuments(10), []);
    scene.clock.advance(5_000);
    t.match(await copy.store.dueDocuments(10), [{ tenant: ACME, document: { id: schedule.id } }]);
    const deleted = { op: 'delete', kind: 'user', id: user.id, expect: 'any', children: 'token' } as const;
    t.match(await copy.store.apply(ACME, [deleted]), { kind: 'done' });
    t.equal(await copy.store.findDocument(ACME, 'hash:h1'), null);
  },

  async 'a deletion of an account begins anew to remove what is left'(scene, copy, t) {
    const account = scene.make.account(ACME);
    const deletion = { requestedAt: scene.now, requestId: 'req_1', finishedAt: null };
    const body = { ...account.body, deletion: { ...deletion, place: 'of this store' } };
    await scene.store.apply(ACME, [{ ...account, expect: 'any', body }]);
    await copyAll({ from: scene.store, to: copy.store });
    t.strictSame((await copy.store.getDocument(ACME, 'account', account.id))?.body.deletion, deletion);
    t.strictSame(await copiesOf(copy.store), await copiesOf(scene.store));
  },

  async 'workers are woken for tasks that wait'(scene, copy, t) {
    await scene.add({ runAt: scene.now + 10_000 }, { wake: true });
    await scene.create([scene.make.newTask(scene.reporter)]);
    await copied(scene, copy, t);
    t.strictSame(await copy.store.wakeups(scene.now + 10_000, 10), [
      { tenant: ACME, workerId: scene.mailer.id, at: scene.now + 10_000 },
    ]);
  },

  async 'everything is read, in pages of a bounded size'(scene, copy, t) {
    const { store, make } = scene;
    const count = 2 * PAGE_SIZES.task + 1;
    await scene.create(Array.from({ length: count }, () => scene.newTask()));
    for (let i = 0; i <= PAGE_SIZES.document; i += 100) {
      await store.apply(
        ACME,
        Array.from({ length: 100 }, () => make.audit()),
      );
    }
    const payload = JSON.stringify('x'.repeat(READ_BYTES / 2));
    for (let i = 0; i < 3; i++) await scene.add({}, { body: { payload, headers: { a: 'ü' } } });
    const sizes: number[] = [];
    for await (const page of pagesOf(store, ACME)) sizes.push(page.length);
    const all = sizes.reduce((sum, size) => sum + size, 0);
    t.equal(all, count + 3 + (PAGE_SIZES.document + 100) + 3);
    await copied(scene, copy, t);
  },

  async 'a copy that is repeated changes nothing, even after work in it'(scene, copy, t) {
    const { id } = await scene.add({ key: 'k', group: 'a' }, { wake: true });
    await scene.add({ heldBy: id });
    await scene.store.remember(ACME, idempotency('i'));
    await scene.store.addUsage(ACME, [{ at: scene.now, workerId: null, figures: [0, 1] }]);
    await copied(scene, copy, t);
    await copied(scene, copy, t);
    await copy.end((await copy.startOne()).leaseId, 'succeeded');
    const before = await copiesOf(copy.store);
    await copyAll({ from: scene.store, to: copy.store });
    t.strictSame(await copiesOf(copy.store), before);
    t.equal((await copy.store.list(ACME, taskQuery())).length, 2);
  },

  async 'of nobody there is nothing'(scene, copy, t) {
    t.strictSame((await scene.store.copyOut('nobody', FIRST_PLACE)).copies, []);
    await copy.store.copyIn('nobody', []);
    t.strictSame(await copy.store.tenants(null, 10), []);
  },
};
