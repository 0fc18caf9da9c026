import t from 'tap';
import { TenantDigest } from '../../../../src/tasks/move/digest.ts';
import type { AnswerCopy, Copy, TaskCopy, UsageCopy } from '../../../../src/tasks/store/copies.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { Factory, USER } from '../../../support/tasks/factories.ts';

const NOW = Date.UTC(2026, 2, 1, 10);
const make = new Factory(new ManualClock(NOW));

function digestOf(...copies: readonly Copy[]): TenantDigest {
  const digest = new TenantDigest();
  for (const copy of copies) digest.add(copy, NOW);
  return digest;
}

function taskCopy(task: Partial<TaskCopy['task']> = {}, rest: Partial<TaskCopy> = {}): TaskCopy {
  const { task: made } = make.newTask(make.worker(), {
    id: 'tsk_1',
    workerId: 'wrk_1',
    createdAt: 1,
    runAt: 1,
  });
  const content = {
    ...made,
    runAt: 1,
    expiresAt: null,
    status: 'scheduled',
    dueAt: 1,
    attempt: 0,
    deferrals: 0,
    lastError: null,
    cancelRequestedAt: null,
    updatedAt: 1,
    startedAt: null,
    finishedAt: null,
    version: 1,
  } as const;
  return {
    kind: 'task',
    task: { ...content, ...task },
    body: { payload: '1', headers: {}, result: null },
    history: [{ seq: 1, at: 1, event: 'created', from: null, to: 'scheduled', attempt: 0, actor: USER }],
    wake: false,
    lease: null,
    settled: null,
    holdsKey: null,
    ...rest,
  };
}

function answer(key: string, until: number): AnswerCopy {
  return { kind: 'answer', scope: 's', key, fingerprint: 'f', until, note: '', results: [] };
}

t.test('the order of copies does not matter, nor the order of fields', t => {
  const [one, two] = [taskCopy(), taskCopy({ id: 'tsk_2' })];
  t.equal(digestOf(one, two).hash, digestOf(two, one).hash);
  const turned = Object.fromEntries(Object.entries(one.task).reverse()) as unknown as TaskCopy['task'];
  t.strictSame(digestOf(one).differences(digestOf({ ...one, task: turned })), []);
  t.end();
});

t.test('a field that is missing is as one that is null', t => {
  const { group: _, ...older } = taskCopy().task;
  t.equal(digestOf({ ...taskCopy(), task: older as TaskCopy['task'] }).hash, digestOf(taskCopy()).hash);
  t.end();
});

t.test('half of a surrogate pair is as what stores make of it', t => {
  t.equal(digestOf(taskCopy({ type: 'a\ud83d' })).hash, digestOf(taskCopy({ type: 'a\ufffd' })).hash);
  t.end();
});

t.test('every difference is seen, and of which kind it is', t => {
  const copy = taskCopy();
  const others = {
    'a field': taskCopy({ attempt: 1 }),
    'an order of tags': taskCopy({ tags: ['b', 'a'] }),
    'a body': taskCopy({}, { body: { ...copy.body, payload: '2' } }),
    'an entry': taskCopy({}, { history: [...copy.history, { ...copy.history[0], seq: 2 }] }),
    'a lease': taskCopy({}, { lease: { id: 'l', beganAt: 1, until: 2, latest: 3 } }),
    'the holder of a key': taskCopy({}, { holdsKey: { freeAt: null } }),
    'a text like a number': taskCopy({ type: '1' }),
  };
  const hashes = [copy, ...Object.values(others)].map(each => digestOf(each).hash);
  t.equal(new Set(hashes).size, hashes.length);
  for (const [name, other] of Object.entries(others))
    t.strictSame(digestOf(copy).differences(digestOf(other)), ['task'], name);
  t.strictSame(digestOf(copy, copy).differences(digestOf(copy)), ['task'], 'one that is there twice');
  t.strictSame(digestOf(copy).differences(digestOf(copy, answer('a', NOW + 1))), ['answer']);
  t.end();
});

t.test('what the stores forget soon does not count', t => {
  t.ok(digestOf(answer('a', NOW)).isEmpty);
  t.notOk(digestOf(answer('a', NOW + 1)).isEmpty);
  const usage: UsageCopy = {
    kind: 'usage',
    span: 'minute',
    at: NOW - 7_260_000,
    workerId: null,
    figures: [0, 1],
  };
  t.ok(digestOf(usage).isEmpty);
  t.notOk(digestOf({ ...usage, at: usage.at + 60_000 }).isEmpty);
  const kept = (freeAt: number) => digestOf(taskCopy({}, { holdsKey: { freeAt } })).hash;
  t.equal(kept(NOW), digestOf(taskCopy()).hash);
  t.not(kept(NOW + 1), digestOf(taskCopy()).hash);
  t.end();
});

t.test('it counts copies and history entries', t => {
  const digest = digestOf(taskCopy(), answer('a', NOW + 1), answer('b', NOW + 1));
  t.strictSame([digest.count('task'), digest.count('answer'), digest.entries], [1, 2, 1]);
  t.match(digest.hash, /^[0-9a-f]{32}$/);
  t.end();
});
