import { Webhook } from 'standardwebhooks';
import type { Test } from 'tap';
import t from 'tap';
import { StatsRegistry } from '../../../../../src/stats/registry.ts';
import { DEFAULT_TENANT_LIMITS, type Secret, type Worker } from '../../../../../src/tasks/model/documents.ts';
import { TaskStatistics } from '../../../../../src/tasks/model/task-statistics.ts';
import { WorkerBook } from '../../../../../src/tasks/scheduler/workers/worker-book.ts';
import {
  type WorkerTestAnswer,
  WorkerTests,
} from '../../../../../src/tasks/scheduler/workers/worker-tests.ts';
import type { Sealer } from '../../../../../src/tasks/sealing/sealer.ts';
import { Directory } from '../../../../../src/tasks/store/directory.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import {
  headerOf,
  localDeliveries,
  type PushAnswer,
  reply,
  startPushWorker,
} from '../../../../support/push-workers.ts';
import { DocumentFactory } from '../../../../support/tasks/document-factory.ts';
import { TEST_SEALER } from '../../../../support/tasks/engine-scene.ts';
import { MemoryStore } from '../../../../support/tasks/memory-store.ts';

const ID = 'tsk_01JQ0000000000000000000000';
const NOW = Date.parse('2026-03-01T10:00:00Z');
const SIGNING = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
/** As the sealer of tests seals. */
const sealed = (value: string): string => [...value].reverse().join('');

interface Setup {
  readonly answer?: PushAnswer;
  readonly worker?: Partial<Worker>;
  readonly secrets?: readonly Partial<Secret>[];
  readonly capacity?: number;
}

/** A worker that listens, and what tests it. */
async function setup(t: Test, { answer = reply(200), worker = {}, secrets = [], capacity = 16 }: Setup = {}) {
  const clock = new ManualClock(NOW);
  const store = new MemoryStore(clock);
  const make = new DocumentFactory(clock);
  const receiver = await startPushWorker(t, answer);
  const document = make.worker({ url: receiver.url(), ...worker });
  const dataKey = { masterKeyId: 'm', wrapped: 'w' };
  for (const tenant of ['acme', ...Array.from({ length: 9 }, (_, at) => `other-${at}`)]) {
    const documents = secrets.map(secret => make.secret(document.id, secret));
    await store.apply(tenant, [make.account(tenant, { dataKey }), document, ...documents]);
  }
  const stats = new StatsRegistry();
  const parts = { store, directory: new Directory(store, clock), clock, logger: new KeepingLogger() };
  const book = new WorkerBook({ ...parts, sealer: TEST_SEALER as Sealer, limits: DEFAULT_TENANT_LIMITS });
  const statistics = new TaskStatistics(stats);
  const deliveries = localDeliveries(t, { clock, capacity });
  const tests = new WorkerTests({ ...parts, statistics, random: () => 0.5 }, book, deliveries);
  const test = (tenant = 'acme', url: string | null = null): Promise<WorkerTestAnswer> =>
    tests.test({ tenant, workerId: document.id, id: ID, url, payload: '{"a":1}' });
  return { clock, store, make, receiver, document, test, stats };
}

type Sent = Extract<WorkerTestAnswer, { kind: 'sent' }>;

t.test('a test is a signed request like any attempt, and its answer shows all of it but secrets', async t => {
  const { receiver, test, stats, store } = await setup(t, {
    answer: reply(202, {}, 'thanks'),
    worker: { method: 'PUT', headers: { 'x-team': 'growth' } },
    secrets: [
      { sealed: sealed(SIGNING) },
      { type: 'header', name: 'X-Api-Key', sealed: sealed('top-secret') },
    ],
  });
  const answer = (await test()) as Sent;
  const [request] = receiver.requests;
  t.equal(request.line, 'PUT /tasks HTTP/1.1');
  t.equal(request.body, '{"a":1}');
  t.equal(headerOf(request, 'task-test'), 'true');
  t.equal(headerOf(request, 'x-api-key'), 'top-secret');
  const fields = Object.fromEntries(request.fields);
  t.doesNotThrow(() => new Webhook(SIGNING).sign(ID, new Date(NOW), request.body));
  t.equal(fields['webhook-signature'], new Webhook(SIGNING).sign(ID, new Date(NOW), request.body));
  t.match(answer, {
    kind: 'sent',
    event: 'succeeded',
    outcome: { status: 202, http: { status: 202, response: 'thanks' } },
  });
  t.same(answer.outcome.sent, {
    method: 'PUT',
    url: receiver.url(),
    headers: { ...fields, 'x-api-key': '[hidden]' },
  });
  t.notMatch(JSON.stringify(answer), /top-secret|MfKQ9r8/);
  t.equal(new Map(stats.counters()).get('tasks.worker_tests.succeeded'), 1);
  t.equal((await store.counts('acme', null)).scheduled, 0);
});

t.test('a worker that is paused is tested as well', async t => {
  const { test } = await setup(t, { worker: { paused: true } });
  t.match(await test(), { kind: 'sent', event: 'succeeded' });
});

t.test('a worker whose tasks name their URLs is tested with one, without confidential headers', async t => {
  const { test, receiver } = await setup(t, {
    worker: { url: null, taskUrls: true },
    secrets: [{ type: 'header', name: 'X-Api-Key', sealed: sealed('top-secret') }],
  });
  t.match(await test('acme', receiver.url('/own')), { kind: 'sent', event: 'succeeded' });
  t.equal(receiver.requests[0].line, 'POST /own HTTP/1.1');
  t.equal(headerOf(receiver.requests[0], 'x-api-key'), undefined);
});

t.test('secrets that a worker sends back are hidden', async t => {
  const { test } = await setup(t, {
    answer: (socket, request) => reply(500, {}, `key ${headerOf(request, 'x-api-key')}`)(socket),
    secrets: [{ type: 'header', name: 'X-Api-Key', sealed: sealed('top-secret') }],
  });
  const answer = (await test()) as Sent;
  t.equal(answer.event, 'attempt_failed');
  t.equal(answer.outcome.http?.response, 'key [hidden]');
  t.notMatch(JSON.stringify(answer), /top-secret/);
});

t.test('an address that is not allowed gets nothing', async t => {
  const { test, receiver } = await setup(t, { worker: { url: 'http://169.254.169.254/latest/meta-data' } });
  const answer = (await test()) as Sent;
  t.match(answer, {
    event: 'attempt_failed',
    outcome: { kind: 'failed', error: { code: 'forbidden_address' } },
  });
  t.equal(answer.outcome.sent, undefined);
  t.equal(receiver.requests.length, 0);
});

t.test('a test ends after 20 seconds, or after the timeout of the worker', async t => {
  for (const [timeoutMs, bound] of [
    [900_000, 20_000],
    [3_000, 3_000],
  ] as const) {
    const { test, clock, receiver } = await setup(t, { answer: () => {}, worker: { timeoutMs } });
    const answer = test();
    await receiver.received(1);
    clock.advance(bound - 1);
    clock.advance(1);
    t.match(await answer, { event: 'timed_out', outcome: { kind: 'timed_out', durationMs: bound } });
  }
});

t.test('what makes a test impossible is said', async t => {
  const broken = await setup(t, { secrets: [{ sealed: 'broken' }] });
  t.same(await broken.test(), { kind: 'impossible', reason: 'secrets_unreadable' });
  t.equal(broken.receiver.requests.length, 0, 'nothing leaves unsigned');
  const pulls = await setup(t, { worker: { mode: 'pull', url: null } });
  t.same(await pulls.test(), { kind: 'impossible', reason: 'not_pushed' });
  const { store, document, test } = await setup(t);
  await store.apply('acme', [{ op: 'delete', kind: 'worker', id: document.id, expect: 'any' }]);
  t.same(await test(), { kind: 'impossible', reason: 'gone' });
});

t.test('a tenant sends five tests at once, and then one every six seconds', async t => {
  const { test, clock } = await setup(t);
  for (let count = 0; count < 5; count++) t.match(await test(), { kind: 'sent' });
  t.same(await test(), { kind: 'refused', reason: 'rate', retryAfterMs: 6_000 });
  t.match(await test('other-1'), { kind: 'sent' }, 'others do not wait');
  clock.advance(6_000);
  t.match(await test(), { kind: 'sent' });
  t.match(await test(), { kind: 'refused', reason: 'rate' });
  clock.moveTo(NOW - 3_600_000);
  t.match(await test(), { kind: 'sent' }, 'a clock that was set back does not stop tests for as long');
});

t.test('few tests are in progress at a time, of a tenant and in all', async t => {
  const { test, receiver, clock } = await setup(t, { answer: () => {}, capacity: 32 });
  const running = [test(), test()];
  t.same(await test(), { kind: 'refused', reason: 'busy', retryAfterMs: 1_000 });
  for (const other of ['other-1', 'other-2', 'other-3']) running.push(test(other), test(other));
  t.match(await test('other-4'), { kind: 'refused', reason: 'busy' });
  await receiver.received(8);
  clock.advance(20_000);
  for (const answer of await Promise.all(running)) t.match(answer, { event: 'timed_out' });
  receiver.answer = reply(200);
  t.match(await test('other-4'), { kind: 'sent' });
});

t.test('without a free delivery there is no test', async t => {
  const { test } = await setup(t, { capacity: 0 });
  t.match(await test(), { kind: 'refused', reason: 'busy' });
});
