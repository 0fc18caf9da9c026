import { Webhook } from 'standardwebhooks';
import t from 'tap';
import type { DeliveryRequest } from '../../../../src/tasks/delivery/delivery.ts';
import { requestHead } from '../../../../src/tasks/delivery/request-head.ts';
import { pushTo, TASK } from '../../../support/push-workers.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const NOW = Date.parse('2026-03-01T10:00:00.999Z');

/** The head as an object; a name that came twice fails. */
function head(but: Partial<DeliveryRequest> = {}): Record<string, string> {
  const request = pushTo('https://example.com/', but);
  const flat = requestHead(request, Buffer.from(request.payload ?? ''), 'sluice/1', NOW);
  const fields: Record<string, string> = {};
  for (let i = 0; i < flat.length; i += 2) {
    if (flat[i] in fields) throw new Error(`${flat[i]} is sent twice`);
    fields[flat[i]] = flat[i + 1];
  }
  return fields;
}

t.test('an attempt names its task, its number and its time', async t => {
  const signature = new Webhook(SECRET).sign(TASK.id, new Date(NOW), '{"to":"ada@example.com"}');
  t.same(head({ signing: [SECRET], trace: { traceparent: '00-ab-cd-01', tracestate: 'a=1' } }), {
    'user-agent': 'sluice/1',
    'content-type': 'application/json',
    'webhook-id': TASK.id,
    'webhook-timestamp': '1772359200',
    'webhook-signature': signature,
    'task-attempt': '3',
    'task-max-attempts': '12',
    'task-worker': 'mailer',
    'task-type': 'email.welcome',
    'task-scheduled-for': '2026-01-01T00:00:00.000Z',
    traceparent: '00-ab-cd-01',
    tracestate: 'a=1',
  });
});

t.test('the trace context of an attempt replaces that of the tenant', async t => {
  const headers = { traceparent: 'theirs', tracestate: 'theirs=1' };
  const trace = { traceparent: '00-ab-cd-01', tracestate: '' };
  t.match(head({ headers, trace }), { traceparent: '00-ab-cd-01' });
  t.notOk('tracestate' in head({ headers, trace }), 'which belongs to the other one');
  t.match(head({ headers }), headers, 'without one, it is sent as it is');
});

t.test('what a task does not have is not sent', async t => {
  const names = Object.keys(head({ task: { ...TASK, type: null }, payload: null }));
  t.same(names.sort(), [
    'task-attempt',
    'task-max-attempts',
    'task-scheduled-for',
    'task-worker',
    'user-agent',
    'webhook-id',
    'webhook-timestamp',
  ]);
});

t.test('the nominal time of a schedule goes before the time of the task', async t => {
  const scheduledFor = Date.parse('2026-02-28T23:00:00Z');
  t.equal(head({ task: { ...TASK, scheduledFor } })['task-scheduled-for'], '2026-02-28T23:00:00.000Z');
});

t.test('headers of the task replace those of the worker, confidential ones both', async t => {
  const fields = head({
    worker: {
      name: 'mailer',
      url: null,
      method: 'POST',
      headers: { 'x-a': 'worker', 'x-b': 'worker', 'x-c': 'worker' },
    },
    headers: { 'X-B': 'task', 'x-c': 'task', 'Content-Type': 'text/plain', 'user-agent': 'acme' },
    secretHeaders: { 'X-C': 'secret' },
  });
  t.match(fields, {
    'x-a': 'worker',
    'x-b': 'task',
    'x-c': 'secret',
    'content-type': 'text/plain',
    'user-agent': 'acme',
  });
});

t.test('names that belong to the connection or to the attempt are never sent', async t => {
  const names = [
    'Host',
    'content-length',
    'Connection',
    'transfer-encoding',
    'keep-alive',
    'proxy-connection',
    'te',
    'trailer',
    'upgrade',
    'expect',
    'webhook-id',
    'Webhook-Signature',
    'task-attempt',
    'TASK-Other',
  ];
  const evil = Object.fromEntries(names.map(name => [name, 'evil']));
  for (const fields of [
    head({ headers: evil }),
    head({ secretHeaders: evil }),
    head({ worker: { name: 'mailer', url: null, method: 'POST', headers: evil } }),
  ]) {
    t.notOk(Object.values(fields).includes('evil'));
    t.equal(fields['webhook-id'], TASK.id);
    t.equal(fields['task-attempt'], '3');
  }
});

t.test('a name or value that would break the head is left out', async t => {
  const values = ['a\r\nx-evil: 1', 'a\nb', 'a\rb', 'a\0b', 'a\x7fb', 'a\u010ab', 'a\u010db', '限制'];
  for (const value of values) t.notOk('x-a' in head({ headers: { 'x-a': value } }), JSON.stringify(value));
  for (const name of ['x-a\r\nx-evil', 'x a', 'x:a', '', 'x\u010a', 'ä']) {
    t.same(head({ headers: { [name]: '1' } }), head(), JSON.stringify(name));
  }
  t.equal(head({ headers: { 'x-a': 'tab\tand é' } })['x-a'], 'tab\tand é', 'what one byte holds is sent');
});

t.test('free texts are percent-encoded where a header cannot hold them', async t => {
  const typed = (type: string): string | undefined => head({ task: { ...TASK, type } })['task-type'];
  t.equal(typed('email.welcome/v2'), 'email.welcome/v2');
  t.equal(typed('two words'), 'two words');
  t.equal(typed(' a '), '%20a%20');
  t.equal(typed('100%'), '100%25');
  t.equal(typed('a\r\nx-evil: 1'), 'a%0D%0Ax-evil: 1');
  t.equal(typed('Grüße 🙂'), 'Gr%C3%BC%C3%9Fe %F0%9F%99%82');
  t.equal(typed('half \ud83d'), 'half %EF%BF%BD');
  for (let code = 0; code < 0x180; code++) t.match(typed(`a${String.fromCharCode(code)}`), /^[ -~]+$/);
});
