import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import type { Worker } from '../../../../src/tasks/model/documents.ts';
import type { CopyCounts } from '../../../../src/tasks/move/copy-tenants.ts';
import { refuseUsed } from '../../../../src/tasks/move/last-use.ts';
import { type MoveObserver, type MoveResult, moveTasks } from '../../../../src/tasks/move/move.ts';
import { deleteMoveRecord, moveRecordOf, refuseMoved } from '../../../../src/tasks/move/move-record.ts';
import { SERVICE } from '../../../../src/tasks/store/documents.ts';
import { putNew } from '../../../../src/tasks/store/put-document.ts';
import type { TaskStore } from '../../../../src/tasks/store/task-store.ts';
import { copiesOf } from '../../../exam/task-store/copying.ts';
import { call, randomSteps } from '../../../exam/task-store/random-steps.ts';
import { START } from '../../../exam/task-store/scene.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { Factory, idempotency, taskQuery, USER } from '../../../support/tasks/factories.ts';
import { MemoryStore } from '../../../support/tasks/memory-store.ts';
import { ModelStore } from '../../../support/tasks/model-store.ts';

// Which copies stores read and write is shown by test/unit/tasks/store/copies.test.ts.

/** What an observer was told. */
class Told implements MoveObserver {
  total: CopyCounts | null = null;
  since: number | null = null;
  readonly done: Record<'copy' | 'check', CopyCounts | null> = { copy: null, check: null };
  readonly hashes = new Map<string, string>();

  began(total: CopyCounts, since: number | null): void {
    this.total = total;
    this.since = since;
  }

  advanced(stage: 'copy' | 'check', done: CopyCounts): void {
    this.done[stage] = done;
  }

  checked(tenant: string, digest: { readonly hash: string }): void {
    this.hashes.set(tenant, digest.hash);
  }
}

/** A store after a random history of three tenants, and an empty one. */
async function stores(seed = 901) {
  const clock = new ManualClock(START);
  const from = new MemoryStore(clock);
  for (const step of await randomSteps(seed, 150)) {
    if ('advanceMs' in step) clock.advance(step.advanceMs);
    else await call(from, step);
  }
  await from.apply(SERVICE, [putNew('master_keys', 'master_keys', { ids: ['k1'] })]);
  return { clock, from, to: new ModelStore(clock), make: new Factory(clock, seed) };
}

function move(from: TaskStore, to: TaskStore, told: MoveObserver = new Told()): Promise<MoveResult> {
  return moveTasks({ store: from, shown: 'old' }, { store: to, shown: 'new' }, told);
}

/** A store with other answers in place of some of its own. */
function instead(store: TaskStore, others: Partial<TaskStore>): TaskStore {
  return new Proxy(store, {
    get(target, name) {
      const found = others[name as keyof TaskStore] ?? target[name as keyof TaskStore];
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}

/** A store that fails with each call of this operation after so many. */
function failing(store: TaskStore, operation: keyof TaskStore, good: number): TaskStore {
  let calls = 0;
  const run = store[operation] as (...args: unknown[]) => Promise<unknown>;
  const limited = async (...args: unknown[]) => {
    if (++calls > good) throw new Error('killed');
    return run.apply(store, args);
  };
  return instead(store, { [operation]: limited });
}

/** A store that loses what it is given. */
function losing(store: TaskStore): TaskStore {
  return instead(store, { copyIn: async () => {} });
}

t.test('everything is in the other store afterwards', async t => {
  const { from, to } = await stores();
  const before = await copiesOf(from);
  const told = new Told();
  t.strictSame(await move(from, to, told), { kind: 'moved' });
  t.strictSame(await copiesOf(to), before);
  t.strictSame(await copiesOf(from), before, 'the source is as it was');
  const tasks = before.filter(text => text.includes('"kind":"task"')).length;
  t.strictSame([told.total, told.since], [{ tenants: 3, tasks }, null]);
  t.strictSame(told.done, { copy: { tenants: 3, tasks }, check: { tenants: 2, tasks } });
  t.strictSame([...told.hashes.keys()].sort(), [SERVICE, 'acme', 'globex', 'initech']);
});

t.test('the service starts on the target only, and on the source when it is reopened', async t => {
  const { from, to, clock } = await stores();
  await t.rejects(move(from, failing(to, 'copyIn', 2)), /killed/);
  await refuseMoved(from);
  await t.rejects(refuseMoved(to), /tasks of old are being moved into this task store .* finish the move/);
  await move(from, to);
  await refuseMoved(to);
  await t.rejects(refuseMoved(from), /were moved to new at 2026-03-.*TASKS_STORE.*sluice tasks reopen/);
  t.strictSame(await moveRecordOf(from), {
    direction: 'out',
    other: 'new',
    at: clock.nowMs(),
    progress: null,
  });
  t.strictSame(await move(from, to), { kind: 'moved_before', at: clock.nowMs() });
  await deleteMoveRecord(from);
  await refuseMoved(from);
});

t.test('a move that was interrupted at any step goes on, with nothing lost or twice', async t => {
  const { from, to, clock } = await stores(902);
  const expected = await copiesOf(from);
  for (const [side, operation] of [
    ['to', 'copyIn'],
    ['to', 'setWakeup'],
    ['to', 'apply'],
    ['from', 'apply'],
    ['from', 'copyOut'],
    ['from', 'recallAll'],
    ['to', 'recallAll'],
  ] as const) {
    const target = new ModelStore(clock);
    let runs = 0;
    for (let result: MoveResult | null = null; result?.kind !== 'moved'; runs++) {
      const [first, second] =
        side === 'to' ? [from, failing(target, operation, runs)] : [failing(from, operation, runs), target];
      result = await move(first, second).catch(() => null);
      if (runs > 100) throw new Error(`${side} ${operation} never ends`);
    }
    t.ok(runs > 1, `${side} ${operation}: ${runs} runs`);
    t.ok(isDeepStrictEqual(await copiesOf(target), expected), `${side} ${operation}`);
    await deleteMoveRecord(from);
  }
  t.strictSame(await copiesOf(to), []);
});

t.test('a run goes on where the one before it was interrupted', async t => {
  const { clock, from, make } = await stores();
  const worker = make.worker({ name: 'busy' });
  await from.apply('zeta', [make.account('zeta'), worker]);
  for (let i = 0; i < 16; i++) {
    const tasks = Array.from({ length: 500 }, () => make.newTask(worker));
    await from.create('zeta', make.createRequest(tasks));
  }
  const to = new MemoryStore(clock);
  await t.rejects(move(from, failing(to, 'copyIn', 40)), /killed/);
  const began = await moveRecordOf(to);
  clock.advance(60_000);
  const told = new Told();
  let copied = 0;
  const counting = instead(to, {
    copyIn: (tenant, copies) => {
      copied += copies.filter(({ kind }) => kind === 'task').length;
      return to.copyIn(tenant, copies);
    },
  });
  t.strictSame(await move(from, counting, told), { kind: 'moved' });
  t.equal(told.since, began?.at);
  t.ok(copied < 5_000, `${copied} of 8,000 tasks and more`);
  t.strictSame(told.done.copy, told.total, 'the count goes on as well');
});

t.test('a target with other data is refused, and stays as it is', async t => {
  const { clock, from, to, make } = await stores();
  const refused = (target: TaskStore, reason: RegExp) => t.rejects(move(from, target), reason);
  await to.apply('umbrella', [make.account('umbrella')]);
  await refused(to, /new is not empty: it has data of the tenant umbrella. Use an empty store/);
  t.equal(await moveRecordOf(to), null);
  const used = new ModelStore(clock);
  await used.apply(SERVICE, [putNew('master_keys', 'master_keys', { ids: ['other'] })]);
  await refused(used, /it has records of a service that used it/);

  const begun = new ModelStore(clock);
  const other = { store: new ModelStore(clock), shown: 'other' };
  await t.rejects(moveTasks(other, { store: failing(begun, 'recallAll', 0), shown: 'new' }, new Told()));
  await refused(begun, /tasks of other are being moved into new. Finish that move first/);
  t.equal((await moveRecordOf(begun))?.other, 'other');
  await t.rejects(move(begun, new ModelStore(clock)), /being moved into old. Finish that move first/);
});

t.test('a source that was moved is moved no further', async t => {
  const { clock, from, to } = await stores();
  await move(from, to);
  const third = { store: new ModelStore(clock), shown: 'third' };
  await t.rejects(moveTasks({ store: from, shown: 'old' }, third, new Told()), /were moved to new at/);
  await t.rejects(move(third.store, from), /new has tasks that were moved to new at .* Use an empty store/);
});

t.test('tasks that were moved can be moved on', async t => {
  const { clock, from, to } = await stores();
  const expected = await copiesOf(from);
  await move(from, to);
  const third = { store: new MemoryStore(clock), shown: 'third' };
  t.strictSame(await moveTasks({ store: to, shown: 'new' }, third, new Told()), { kind: 'moved' });
  t.strictSame(await copiesOf(third.store), expected);
});

t.test('a change of the source while it is copied is found, and nothing is marked', async t => {
  const { from, to, make } = await stores();
  const [{ id }] = await from.list('acme', taskQuery({ statuses: ['succeeded', 'failed', 'canceled'] }));
  const changes = {
    'acme: the contents of the \\d+ tasks differ': () =>
      from.change('acme', id, { action: 'replay', patch: {}, expectVersion: null, actor: USER }),
    'globex: \\d+ documents in the source, \\d+ in the target': () => from.apply('globex', [make.audit()]),
    '4 tenants in the source, 3 in the target': () => from.apply('zeta', [make.account('zeta')]),
    'initech: \\d+ idempotency records in the source': () =>
      from.remember('initech', idempotency('late', { keepMs: 90_000_000 })),
  };
  const target = failing(to, 'recallAll', 0);
  await t.rejects(move(from, target), /killed/, 'everything was copied');
  for (const [text, change] of Object.entries(changes)) {
    await change();
    const result = await move(from, losing(to));
    t.equal(result.kind, 'differs', text);
    if (result.kind !== 'differs') return;
    const texts = result.differences.map(each => `${each.tenant}: ${each.text}`).join('\n');
    t.match(texts, new RegExp(text));
    t.equal(await moveRecordOf(from), null);
  }
});

t.test('a source that a process of the service has used meanwhile is not marked as moved', async t => {
  const { clock, from, to } = await stores();
  const lastUse = async () => {
    clock.advance(1);
    return clock.nowMs();
  };
  t.strictSame(await move(instead(from, { lastUse }), to), { kind: 'used' });
  t.equal(await moveRecordOf(from), null);
  const before = clock.nowMs() - 1;
  t.strictSame(await move(instead(from, { lastUse: async () => before }), to), { kind: 'moved' });
});

t.test('a process that starts at the end of a move is noticed, and keeps its store', async t => {
  const { clock, from, to } = await stores();
  // It has looked for the record of the move before that was written.
  const lastUse = async () => ((await moveRecordOf(from)) === null ? null : clock.nowMs() + 1);
  t.strictSame(await move(instead(from, { lastUse }), to), { kind: 'used' });
  t.equal(await moveRecordOf(from), null);
  await t.rejects(refuseMoved(to), /being moved into this task store/);
});

t.test('a target that was emptied after the move is not taken for the moved tasks', async t => {
  const { clock, from, to } = await stores();
  await move(from, to);
  await t.rejects(
    move(from, new ModelStore(clock)),
    /moved to new at .*, but that is empty now.*sluice tasks reopen/,
  );
});

t.test('a store is in use if a process uses it, and then uses it again', async t => {
  const { clock, from } = await stores();
  let used: number | null = clock.nowMs() - 9_000;
  let waits = 0;
  const again = (more: number) =>
    refuseUsed({ store: instead(from, { lastUse: async () => used }), shown: 'old' }, clock, () => {
      waits++;
      if (more > 0) used = clock.nowMs() + more;
      queueMicrotask(() => clock.advance(10_000));
    });
  await again(0);
  used = clock.nowMs() - 9_000;
  await t.rejects(again(5_000), /a process of the service uses old. Stop all of them first/);
  t.equal(waits, 2);
  used = null;
  await again(0);
  t.equal(waits, 2, 'a store that is not in use is not waited for');
});

t.test('what a target has lost is found', async t => {
  const { from, to } = await stores();
  const result = await move(from, losing(to));
  t.match(result, { kind: 'differs' });
});

t.test('push workers are looked at once, also without a task that wakes them', async (t: Test) => {
  const { clock, from, to, make } = await stores();
  const [push, pull] = [make.worker({ name: 'p' }), make.worker({ name: 'q', mode: 'pull', url: null })];
  await from.apply('zeta', [make.account('zeta'), push, pull]);
  await from.create('zeta', make.createRequest([make.newTask(push, { runAt: clock.nowMs() + 1_000 })]));
  await move(from, to);
  const woken = (await to.wakeups(clock.nowMs(), 100)).filter(({ tenant }) => tenant === 'zeta');
  t.strictSame(woken, [{ tenant: 'zeta', workerId: push.id, at: clock.nowMs() }]);
  t.equal((push.body satisfies Worker).mode, 'push');
});
