import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { WebhookRejected, WebhookVerifier } from '../../../../clients/typescript/src/index.ts';

const secret = (byte: number): string => `whsec_${Buffer.alloc(32, byte).toString('base64')}`;
const [OLD, NEW, OTHER] = [7, 8, 9].map(secret);
const NOW = Date.UTC(2026, 2, 1, 10);
const BODY = Buffer.from([0x7b, 0xff, 0x00, 0x7d]);

/** As an independent library signs. It takes text, so bytes that are not text are signed as Latin-1. */
function signed(body: string, with_: readonly string[] = [OLD], at = NOW): Record<string, string> {
  const signatures = with_.map(each => new Webhook(each).sign('tsk_1', new Date(at), body));
  return {
    'webhook-id': 'tsk_1',
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': signatures.join(' '),
  };
}

const verifier = (secrets: string | string[] = OLD, toleranceSeconds = 300): WebhookVerifier =>
  new WebhookVerifier(secrets, { toleranceSeconds, nowMs: () => NOW });

t.test('a delivery is valid if one of its signatures is of one of the secrets', async t => {
  const body = Buffer.from('wörk');
  const expected = { id: 'tsk_1', sentAt: new Date(NOW) };
  t.same(verifier().verify(signed('wörk'), body), expected);
  t.same(verifier().verify(new Headers(signed('wörk')), body), expected, 'header fields of fetch');
  t.same(
    verifier([NEW, OLD]).verify(signed('wörk'), body),
    expected,
    'the receiver knows the new one already',
  );
  t.same(verifier(NEW).verify(signed('wörk', [NEW, OLD]), body), expected, 'the service signs with both');
  t.same(verifier(OLD).verify(signed('wörk', [NEW, OLD]), body), expected);
  t.throws(() => verifier(OTHER).verify(signed('wörk', [NEW, OLD]), body), WebhookRejected);
});

t.test('the bytes count, not what they mean as text or JSON', async t => {
  const { createHmac } = await import('node:crypto');
  const time = String(NOW / 1000);
  const mac = createHmac('sha256', Buffer.alloc(32, 7)).update(`tsk_1.${time}.`).update(BODY);
  const headers = {
    'webhook-id': 'tsk_1',
    'webhook-timestamp': time,
    'webhook-signature': `v1,${mac.digest('base64')}`,
  };
  t.ok(verifier().verify(headers, BODY));
  t.throws(() => verifier().verify(headers, Buffer.from(BODY.toString())), WebhookRejected);
  const json = signed('{"a": 1}');
  t.ok(verifier().verify(json, Buffer.from('{"a": 1}')));
  t.throws(() => verifier().verify(json, Buffer.from('{"a":1}')), /known secret/);
});

t.test('anything else is rejected, with the reason', async t => {
  const body = Buffer.from('work');
  const good = signed('work');
  const signature = good['webhook-signature'];
  const faults: [string, Record<string, string | string[]>, RegExp][] = [
    ['another id', { ...good, 'webhook-id': 'tsk_2' }, /known secret/],
    ['another time', { ...good, 'webhook-timestamp': String(NOW / 1000 + 1) }, /known secret/],
    ['no id', { ...good, 'webhook-id': '' }, /webhook-id/],
    ['an id with a part of the body', { ...good, 'webhook-id': 'tsk_1.2.{' }, /webhook-id/],
    ['a repeated id', { ...good, 'webhook-id': ['tsk_1', 'tsk_1'] }, /webhook-id/],
    ['no fields', {}, /webhook-id/],
    ['no signature', { ...good, 'webhook-signature': '' }, /known secret/],
    ['another version', { ...good, 'webhook-signature': signature.replace('v1', 'v2') }, /known secret/],
    ['a part of it', { ...good, 'webhook-signature': signature.slice(0, -1) }, /known secret/],
    ['more than it', { ...good, 'webhook-signature': `${signature}=` }, /known secret/],
    ['behind too many', { ...good, 'webhook-signature': `${'v1,a '.repeat(16)}${signature}` }, /known/],
    ['an old one', signed('work', [OLD], NOW - 301_000), /301 s ago/],
    ['one of the future', signed('work', [OLD], NOW + 301_000), /301 s in the future/],
    ...['', 'soon', '-1', '1e9', '9'.repeat(400)].map(
      time => [`the time ${time}`, { ...good, 'webhook-timestamp': time }, /not a number/] as never,
    ),
  ];
  for (const [what, headers, reason] of faults)
    t.throws(() => verifier().verify(headers, body), { name: 'WebhookRejected', message: reason }, what);
  t.ok(verifier().verify(signed('work', [OLD], NOW - 300_000), body), 'at the edge');
  t.throws(() => verifier(OLD, 10).verify(signed('work', [OLD], NOW - 11_000), body), /tolerance of 10 s/);
});

t.test('a tolerance that is no number is refused, because no delivery would be too old', async t => {
  for (const wrong of [Number.NaN, -1]) t.throws(() => verifier(OLD, wrong), RangeError);
  t.ok(verifier(OLD, 0).verify(signed('work'), Buffer.from('work')));
});

t.test('a secret of another form is refused when the program starts, and not shown', async t => {
  for (const wrong of [
    [],
    '',
    'hunter2',
    'whsec_',
    'whsec_A',
    'whsec_hunter2',
    'whsec_hunter 2',
    [OLD, 'hunter2'],
  ]) {
    t.throws(() => new WebhookVerifier(wrong), /signing secret/);
    try {
      new WebhookVerifier(wrong);
    } catch (failure) {
      t.notMatch(String(failure), /hunter/);
    }
  }
});
