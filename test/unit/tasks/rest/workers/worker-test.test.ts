import type { DeliveryOutcome } from '../../../../../src/tasks/delivery/delivery.ts';
import { each } from '../../../../support/each.ts';
import { problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const withMailer = testsOf(TaskHarness.withMailer);

const ANSWERED: DeliveryOutcome = {
  kind: 'answered',
  status: 500,
  durationMs: 12.4,
  http: { status: 500, durationMs: 12.4, response: 'broken', truncated: false },
  result: null,
  retryAfterMs: null,
  noRetry: false,
  error: { code: 'http_5xx', message: '500 from worker' },
  sent: {
    method: 'POST',
    url: 'https://mailer.example.com/tasks',
    headers: { 'webhook-id': 'tsk_1', authorization: '[hidden]' },
  },
};

withMailer('a test of a worker shows request and answer, without a task', async ({ rest, worker }, t) => {
  rest.testAnswer = { kind: 'sent', outcome: ANSWERED, event: 'attempt_failed' };
  const { status, json } = await rest.at('POST', 'workers/mailer/test', { payload: { to: 'ada' } });
  t.equal(status, 200);
  t.same(json, {
    outcome: 'attempt_failed',
    duration_ms: 12,
    request: {
      method: 'POST',
      url: 'https://mailer.example.com/tasks',
      headers: { 'webhook-id': 'tsk_1', authorization: '[hidden]' },
      body: '{"to":"ada"}',
    },
    response: { status: 500, body: 'broken', truncated: false },
    error: { code: 'http_5xx', message: '500 from worker' },
  });
  t.match(rest.tests, [{ tenant: 'acme', workerId: worker.id, id: /^tsk_/, payload: '{"to":"ada"}' }]);
  t.same((await rest.read('tasks')).data, []);
});

withMailer('without a body a small payload is sent, and with null none', async ({ rest }, t) => {
  const { sent: _, ...outcome } = ANSWERED;
  rest.testAnswer = { kind: 'sent', outcome: { ...outcome, http: null }, event: 'timed_out' };
  const { json } = await rest.at('POST', 'workers/mailer/test');
  t.match(json, { outcome: 'timed_out', request: null, response: null });
  await rest.at('POST', 'workers/mailer/test', { payload: null });
  t.same(each(rest.tests, 'payload'), ['{"test":true}', null]);
});

withMailer('a test names a URL where tasks do', async ({ rest }, t) => {
  await rest.made('workers', { name: 'direct', task_urls: true });
  const { sent: _, ...outcome } = ANSWERED;
  rest.testAnswer = { kind: 'sent', outcome, event: 'attempt_failed' };
  const url = 'https://hooks.example.com/';
  t.equal((await rest.at('POST', 'workers/direct/test', { url })).status, 200);
  t.match(rest.tests, [{ url }]);
  for (const [worker, body, code] of [
    ['direct', {}, 'validation_failed'],
    ['direct', { url: 'https://127.0.0.1/' }, 'forbidden_address'],
    ['mailer', { url }, 'validation_failed'],
  ] as const) {
    t.match(await rest.at('POST', `workers/${worker}/test`, body), { json: { code } });
  }
  t.equal(rest.tests.length, 1);
});

withMailer('a test that cannot be made says why', async ({ rest }, t) => {
  const test = async () => (await rest.at('POST', 'workers/mailer/test')) as object;
  rest.testAnswer = { kind: 'refused', reason: 'rate', retryAfterMs: 5_001 };
  t.match(await test(), { status: 429, json: { code: 'rate_limited' }, headers: { 'Retry-After': '6' } });
  rest.testAnswer = { kind: 'refused', reason: 'busy', retryAfterMs: 1_000 };
  t.match(await test(), { status: 503, json: { code: 'overloaded' }, headers: { 'Retry-After': '1' } });
  rest.testAnswer = { kind: 'impossible', reason: 'not_pushed' };
  t.match(await test(), problem('worker_mode_mismatch'));
  rest.testAnswer = { kind: 'impossible', reason: 'secrets_unreadable' };
  t.match(await test(), problem('secrets_unreadable'));
  rest.testAnswer = { kind: 'impossible', reason: 'gone' };
  t.match(await test(), problem('not_found'));
  rest.testAnswer = { kind: 'sent', outcome: { ...ANSWERED, kind: 'aborted' }, event: 'released' };
  t.match(await test(), problem('interrupted'));
  t.equal((await rest.at('POST', 'workers/nobody/test')).status, 404);
  const large = { payload: 'x'.repeat(65_536) };
  t.match(await rest.at('POST', 'workers/mailer/test', large), { json: { code: 'payload_too_large' } });
});
