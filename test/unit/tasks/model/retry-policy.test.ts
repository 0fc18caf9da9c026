import t from 'tap';
import { DEFAULT_RETRY_POLICY, mergeRetry } from '../../../../src/tasks/model/retry-policy.ts';

t.test('what is said takes the place of what the policy has', t => {
  t.equal(mergeRetry(DEFAULT_RETRY_POLICY, null), DEFAULT_RETRY_POLICY);
  t.equal(mergeRetry(DEFAULT_RETRY_POLICY, undefined), DEFAULT_RETRY_POLICY);
  t.same(mergeRetry(DEFAULT_RETRY_POLICY, { maxAttempts: 3, maxAgeMs: 1_000 }), {
    ...DEFAULT_RETRY_POLICY,
    maxAttempts: 3,
    maxAgeMs: 1_000,
  });
  t.end();
});

t.test('a list of waits is left when somebody describes the curve, unless a list is given with it', t => {
  const listed = { ...DEFAULT_RETRY_POLICY, scheduleMs: [1, 2] };
  t.same(mergeRetry(listed, { maxAttempts: 3 }).scheduleMs, [1, 2]);
  for (const said of [{ baseMs: 100 }, { factor: 1 }, { maxMs: 100 }, { jitter: 0 }]) {
    t.equal(mergeRetry(listed, said).scheduleMs, null, JSON.stringify(said));
  }
  t.same(mergeRetry(listed, { baseMs: 100, scheduleMs: [5] }).scheduleMs, [5]);
  t.end();
});
