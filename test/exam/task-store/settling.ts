import type { Settlement } from '../../../src/tasks/store/requests.ts';
import { DISPATCHER, retryPolicy } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME } from './scene.ts';

const FAILURES = ['attempt_failed', 'timed_out', 'lease_expired'] as const;

export const settling: Topic = test => {
  test('an attempt that succeeded ends its task', async (scene, t) => {
    await scene.add({}, { body: { payload: '1', headers: { a: 'b' } } });
    const started = await scene.startOne();
    scene.clock.advance(700);
    const http = { status: 200, durationMs: 690, response: 'ok', truncated: false };
    const answer = await scene.settle(started.leaseId, 'succeeded', {
      result: '{"ok":true}',
      http,
      delayMs: 5,
    });
    const task = {
      ...started.task,
      status: 'succeeded',
      finishedAt: scene.now,
      updatedAt: scene.now,
      version: started.task.version + 1,
    };
    t.strictSame(answer, { kind: 'settled', task, beganAt: scene.now - 700 });
    t.strictSame(await scene.store.getWhole(ACME, task.id), {
      task,
      body: { payload: '1', headers: { a: 'b' }, result: '{"ok":true}' },
    });
    t.strictSame(await scene.lastEntry(task.id), {
      seq: 3,
      at: scene.now,
      event: 'succeeded',
      from: 'running',
      to: 'succeeded',
      attempt: 1,
      actor: DISPATCHER,
      leaseIdSuffix: started.leaseId.slice(-4),
      http,
    });
    t.equal(await scene.store.leased(ACME, started.leaseId), null);
  });

  test('success leaves the last error as it was', async (scene, t) => {
    await scene.add();
    const error = { code: 'timeout', message: 'no answer in 30 s' };
    await scene.end((await scene.startOne()).leaseId, 'timed_out', { error });
    const at = scene.now;
    scene.clock.advance(10);
    const task = await scene.end((await scene.startOne()).leaseId, 'succeeded');
    t.strictSame(task.lastError, { ...error, at });
  });

  test('a result is kept of success alone', async (scene, t) => {
    const { id } = await scene.add();
    await scene.end((await scene.startOne()).leaseId, 'attempt_failed', { result: '1' });
    t.equal((await scene.store.getWhole(ACME, id))?.body.result, null);
    await scene.end((await scene.startOne()).leaseId, 'succeeded');
    t.equal((await scene.store.getWhole(ACME, id))?.body.result, null, 'where there is one');
  });

  for (const event of FAILURES) {
    test(`after ${event} the task waits for its next attempt, until none is left`, async (scene, t) => {
      await scene.add({ retry: retryPolicy({ maxAttempts: 2 }), timeoutMs: 1_000 });
      const started = await scene.startOne({ lease: { mode: 'push', ms: 0 } });
      scene.clock.advance(1_000);
      const error = { code: 'http_5xx', message: '503 from worker', httpStatus: 503 };
      const http = { status: 503, durationMs: 212, response: 'busy', truncated: true };
      const task = await scene.end(started.leaseId, event, { delayMs: 45_000, error, http, result: '1' });
      t.strictSame(task, {
        ...started.task,
        status: 'retry',
        dueAt: scene.now + 45_000,
        lastError: { ...error, at: scene.now },
        updatedAt: scene.now,
        version: started.task.version + 1,
      });
      t.strictSame(await scene.lastEntry(task.id), {
        seq: 3,
        at: scene.now,
        event,
        from: 'running',
        to: 'retry',
        attempt: 1,
        actor: DISPATCHER,
        nextAttemptAt: scene.now + 45_000,
        leaseIdSuffix: started.leaseId.slice(-4),
        http,
        error: { code: 'http_5xx', message: '503 from worker' },
      });
      scene.clock.advance(45_000);
      const { leaseId } = await scene.startOne({ lease: { mode: 'push', ms: 0 } });
      scene.clock.advance(1_000);
      const failed = await scene.end(leaseId, event, { delayMs: 45_000 });
      t.strictSame(
        [failed.status, failed.attempt, failed.dueAt, failed.finishedAt],
        ['failed', 2, null, scene.now],
      );
      t.strictSame(failed.lastError, task.lastError, 'a failure without an error leaves the last one');
      const { event: last, to, attempt } = await scene.lastEntry(task.id);
      t.strictSame([last, to, attempt], [event, 'failed', 2]);
    });

    test(`${event} ends the task when it is said to be the last`, async (scene, t) => {
      await scene.add({ timeoutMs: 1_000 });
      const { leaseId } = await scene.startOne({ lease: { mode: 'push', ms: 0 } });
      scene.clock.advance(1_000);
      t.equal((await scene.end(leaseId, event, { last: true })).status, 'failed');
    });
  }

  test('no_retry ends the task, whatever attempts are left', async (scene, t) => {
    const { id } = await scene.add();
    const { leaseId } = await scene.startOne();
    const error = { code: 'http_4xx', message: '410' };
    const task = await scene.end(leaseId, 'no_retry', { error, delayMs: 5 });
    t.strictSame([task.status, task.dueAt, task.lastError], ['failed', null, { ...error, at: scene.now }]);
    const { event, to } = await scene.lastEntry(id);
    t.strictSame([event, to], ['no_retry', 'failed']);
  });

  test('the number of attempts is that of the present', async (scene, t) => {
    const { id } = await scene.taskIn('running', { retry: retryPolicy({ maxAttempts: 5 }) });
    const { leaseIdSuffix } = await scene.lastEntry(id);
    t.ok(leaseIdSuffix);
    const other = await scene.add();
    const { leaseId } = await scene.startOne();
    await scene.changed(other.id, 'update', { retry: retryPolicy({ maxAttempts: 1 }) });
    t.equal((await scene.end(leaseId, 'attempt_failed')).status, 'failed');
  });

  for (const event of ['deferred', 'released'] as const) {
    test(`an attempt that was ${event} does not count`, async (scene, t) => {
      await scene.add({ retry: retryPolicy({ maxAttempts: 1 }) });
      const started = await scene.startOne();
      const error = { code: 'http_429', message: 'later' };
      const task = await scene.end(started.leaseId, event, { delayMs: 3_000, error, last: true });
      t.strictSame(task, {
        ...started.task,
        status: 'retry',
        attempt: 0,
        deferrals: 1,
        dueAt: scene.now + 3_000,
        lastError: { ...error, at: scene.now },
        version: started.task.version + 1,
      });
      const entry = await scene.lastEntry(task.id);
      t.strictSame(
        [entry.event, entry.to, entry.attempt],
        [event, 'retry', 1],
        'and keeps its number in history',
      );
    });
  }

  test('from the 101st on they count', async (scene, t) => {
    const { id } = await scene.add({ retry: retryPolicy({ maxAttempts: 2 }) });
    const next = async (event: Settlement['event']) => {
      const task = await scene.end((await scene.startOne()).leaseId, event);
      return [task.status, task.attempt, task.deferrals];
    };
    for (let i = 1; i < 100; i++) await next(i % 2 === 0 ? 'deferred' : 'released');
    t.strictSame(await next('deferred'), ['retry', 0, 100]);
    t.strictSame(await next('released'), ['retry', 1, 101]);
    t.strictSame(await next('deferred'), ['failed', 2, 102]);
    const { event, to, attempt } = await scene.lastEntry(id);
    t.strictSame([event, to, attempt], ['deferred', 'failed', 2]);
  });

  const events = [
    'attempt_failed',
    'timed_out',
    'lease_expired',
    'deferred',
    'released',
    'no_retry',
    'canceled',
  ] as const;
  for (const event of events) {
    test(`a task that was asked to stop is canceled by ${event}`, async (scene, t) => {
      const { id } = await scene.add({ timeoutMs: 1_000 });
      const { leaseId } = await scene.startOne({ lease: { mode: 'push', ms: 0 } });
      const asked = await scene.changed(id, 'cancel');
      scene.clock.advance(1_000);
      const error = { code: 'canceled', message: 'stopped' };
      const task = await scene.end(leaseId, event, { error, delayMs: 5 });
      t.strictSame(task, {
        ...asked,
        status: 'canceled',
        finishedAt: scene.now,
        updatedAt: scene.now,
        lastError: { ...error, at: scene.now },
        version: asked.version + 1,
      });
      const entry = await scene.lastEntry(id);
      t.strictSame(
        [entry.event, entry.from, entry.to, entry.attempt, entry.leaseIdSuffix],
        ['canceled', 'running', 'canceled', 1, leaseId.slice(-4)],
      );
      t.strictSame(
        await scene.settle(leaseId, event),
        { kind: 'already', task },
        'what was asked for is what is known again',
      );
    });
  }

  test('success comes before a request to stop', async (scene, t) => {
    const { id } = await scene.add();
    const { leaseId } = await scene.startOne();
    const { cancelRequestedAt } = await scene.changed(id, 'cancel');
    const task = await scene.end(leaseId, 'succeeded');
    t.strictSame([task.status, task.cancelRequestedAt], ['succeeded', cancelRequestedAt]);
  });

  test('an attempt can be canceled without a request', async (scene, t) => {
    await scene.add();
    const task = await scene.end((await scene.startOne()).leaseId, 'canceled');
    t.strictSame([task.status, task.attempt, task.cancelRequestedAt], ['canceled', 1, null]);
  });
};
