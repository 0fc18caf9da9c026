import t from 'tap';
import type { DeliveryOutcome } from '../../../../src/tasks/delivery/delivery.ts';
import { type Verdict, type VerdictGrounds, verdictOn } from '../../../../src/tasks/delivery/verdict.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../../../../src/tasks/model/retry-policy.ts';

const NOW = 1_767_225_600_000;
const DAY = 86_400_000;

function outcome(fields: Partial<DeliveryOutcome>): DeliveryOutcome {
  return {
    kind: 'answered',
    status: 200,
    durationMs: 12,
    http: null,
    result: null,
    retryAfterMs: null,
    noRetry: false,
    error: null,
    ...fields,
  };
}

function answered(status: number, fields: Partial<DeliveryOutcome> = {}): DeliveryOutcome {
  const error =
    status < 300 ? null : { code: `http_${Math.floor(status / 100)}xx`, message: `${status} from worker` };
  return outcome({ status, error, ...fields });
}

interface Case {
  readonly attempt?: number;
  readonly policy?: Partial<RetryPolicy>;
  readonly noRetryOn?: readonly number[];
  readonly startedAt?: number;
}

/** In the middle of the jitter: the waits are those of the table in the specification. */
function judged(
  of: DeliveryOutcome,
  { attempt = 1, policy, noRetryOn = [], startedAt = NOW }: Case = {},
): Verdict {
  const grounds: VerdictGrounds = {
    task: { retry: { ...DEFAULT_RETRY_POLICY, ...policy }, attempt, startedAt },
    worker: { noRetryOn },
    nowMs: NOW,
    random: () => 0.5,
  };
  return verdictOn(of, grounds);
}

t.test('any 2xx is a success, and its result is kept', async t => {
  for (const status of [200, 201, 202, 204, 299]) {
    const http = { status, durationMs: 12, response: '{"a":1}', truncated: false };
    t.same(judged(answered(status, { result: '{"a":1}', http })), {
      event: 'succeeded',
      delayMs: 0,
      last: false,
      result: '{"a":1}',
      error: null,
      http,
      throttleMs: 0,
      pauseWorker: false,
    });
  }
});

t.test('redirects, refusals and failures count, and wait as the policy says', async t => {
  for (const status of [301, 302, 307, 400, 404, 408, 500, 502, 503, 504, 999]) {
    t.match(judged(answered(status), { attempt: 3 }), {
      event: 'attempt_failed',
      delayMs: 45_000,
      last: false,
      throttleMs: 0,
      pauseWorker: false,
      result: null,
      error: { httpStatus: status },
    });
  }
});

t.test('the result of an answer that is no success is not kept', async t => {
  t.equal(judged(answered(500, { result: '{"error":1}' })).result, null);
});

t.test('no connection is a counted failure without a status', async t => {
  const error = { code: 'connect_refused', message: 'nothing listens at 192.0.2.1 port 80' };
  const { event, delayMs, error: kept } = judged(outcome({ kind: 'failed', status: 0, error }));
  t.same([event, delayMs, kept], ['attempt_failed', 5_000, error]);
});

t.test('after a timeout and a 429 the next attempt waits a minute at least', async t => {
  const timedOut = outcome({ kind: 'timed_out', status: 0, error: { code: 'timeout', message: '' } });
  t.match(judged(timedOut), { event: 'timed_out', delayMs: 60_000 });
  t.match(judged(timedOut, { attempt: 6 }), { delayMs: 1_215_000 }, 'and longer where the policy says so');
  t.match(judged(answered(429)), { event: 'attempt_failed', delayMs: 60_000, throttleMs: 0 });
  t.match(judged(answered(429), { policy: { scheduleMs: [1] } }), { delayMs: 60_000 });
});

t.test('429 and 503 with Retry-After defer, and throttle the worker', async t => {
  for (const status of [429, 503]) {
    const later = judged(answered(status, { retryAfterMs: 20_000 }));
    t.match(later, { event: 'deferred', delayMs: 20_000, throttleMs: 20_000, last: false });
  }
});

t.test('the wait of the policy is kept where Retry-After is shorter; the worker says its own', async t => {
  const later = judged(answered(503, { retryAfterMs: 1_000 }), { attempt: 4 });
  t.match(later, { event: 'deferred', delayMs: 135_000, throttleMs: 1_000 });
  t.match(judged(answered(503, { retryAfterMs: 0 })), { event: 'deferred', delayMs: 5_000, throttleMs: 0 });
});

t.test('a deferral is a day long at most', async t => {
  const later = judged(answered(429, { retryAfterMs: 30 * DAY }));
  t.match(later, { event: 'deferred', delayMs: DAY, throttleMs: DAY });
});

t.test('Retry-After with another status changes nothing', async t => {
  for (const status of [500, 502, 504]) {
    t.match(judged(answered(status, { retryAfterMs: 20_000 })), { event: 'attempt_failed', throttleMs: 0 });
  }
});

t.test('410 fails the task and pauses the worker', async t => {
  t.match(judged(answered(410)), {
    event: 'no_retry',
    pauseWorker: true,
    error: { code: 'http_4xx', httpStatus: 410 },
  });
});

t.test('task-no-retry on any status, 489, and the statuses of the worker fail at once', async t => {
  t.match(judged(answered(500, { noRetry: true })), { event: 'no_retry', pauseWorker: false });
  t.match(judged(answered(503, { noRetry: true, retryAfterMs: 1_000 })), {
    event: 'no_retry',
    throttleMs: 0,
  });
  t.match(judged(answered(200, { noRetry: true, result: '{}' })), {
    event: 'no_retry',
    result: null,
    error: { code: 'no_retry', message: 'the worker answered 200 and asked for no retry', httpStatus: 200 },
  });
  t.match(judged(answered(489)), { event: 'no_retry', pauseWorker: false });
  t.match(judged(answered(422), { noRetryOn: [400, 422] }), { event: 'no_retry' });
  t.match(judged(answered(429, { retryAfterMs: 1_000 }), { noRetryOn: [429] }), { event: 'no_retry' });
  t.match(judged(answered(404), { noRetryOn: [400, 422] }), { event: 'attempt_failed' });
});

t.test('an attempt that would begin after the age of the policy is not made', async t => {
  const policy = { maxAgeMs: 100_000 };
  const young = { policy, startedAt: NOW - 94_999 };
  const old = { policy, startedAt: NOW - 95_000 };
  t.match(judged(answered(500), young), { event: 'attempt_failed', last: false });
  t.match(judged(answered(500), old), { event: 'attempt_failed', last: true });
  const timedOut = outcome({ kind: 'timed_out', status: 0 });
  t.match(judged(timedOut, { policy, startedAt: NOW - 39_999 }), { event: 'timed_out', last: false });
  t.match(judged(timedOut, { policy, startedAt: NOW - 40_000 }), { event: 'timed_out', last: true });
});

t.test('a deferral beyond the age of the policy is the last failure, and throttles', async t => {
  const late = judged(answered(429, { retryAfterMs: 100_000 }), { policy: { maxAgeMs: 100_000 } });
  t.match(late, { event: 'attempt_failed', last: true, throttleMs: 100_000 });
});

t.test('what we ended ourselves is released: at once, unless a thread was lost with it', async t => {
  const aborted = outcome({
    kind: 'aborted',
    status: 0,
    error: { code: 'aborted', message: 'it was ended' },
  });
  t.match(judged(aborted), { event: 'released', delayMs: 0, last: false, error: { code: 'aborted' } });
  const lost = outcome({
    kind: 'aborted',
    status: 0,
    error: { code: 'thread_lost', message: 'a thread ended' },
  });
  t.match(judged(lost), { event: 'released', delayMs: 5_000 });
});
