import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import {
  isSigningSecret,
  newSigningSecret,
  type SignedMessage,
  signatures,
} from '../../../../src/tasks/delivery/signature.ts';

const ID = 'tsk_01JQ0000000000000000000000';

/** A message of this moment: the library refuses others. */
function message(body = '{"to":"ada@example.com"}'): SignedMessage {
  return { id: ID, timestamp: Math.floor(Date.now() / 1000), body };
}

/** Whether the public library takes the signatures for those of this secret. */
function verified(secret: string, { id, timestamp, body }: SignedMessage, signature: string): boolean {
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signature,
  };
  try {
    new Webhook(secret).verify(body as string, headers, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

t.test('the vectors of the public documentation', async t => {
  const vectors = [
    {
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestamp: 1_614_265_330,
      body: '{"test": 2432232314}',
      signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    {
      secret: 'whsec_plJ3nmyCDGBKInavdOK15jsl',
      id: 'msg_loFOjxBNrRLzqYUf',
      timestamp: 1_731_705_121,
      body: '{"event_type":"ping","data":{"success":true}}',
      signature: 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=',
    },
  ];
  for (const { secret, signature, ...signed } of vectors) {
    t.equal(signatures([secret], signed), signature);
    t.equal(signatures([secret], { ...signed, body: Buffer.from(signed.body) }), signature);
  }
});

t.test('the public library verifies what is signed, whatever the body', async t => {
  const secret = newSigningSecret(randomBytes);
  for (const body of ['{"a":1}', '', 'null', '{"text":"Grüße, 限制 🙂"}', ' '.repeat(100_000)]) {
    const signed = message(body);
    t.ok(verified(secret, signed, signatures([secret], signed)), body.slice(0, 20));
  }
});

t.test('another body, id, time or secret does not verify', async t => {
  const secret = newSigningSecret(randomBytes);
  const signed = message();
  const signature = signatures([secret], signed);
  t.notOk(verified(secret, { ...signed, body: '{"to":"eve@example.com"}' }, signature));
  t.notOk(verified(secret, { ...signed, id: `${ID}x` }, signature));
  t.notOk(verified(secret, { ...signed, timestamp: signed.timestamp + 1 }, signature));
  t.notOk(verified(newSigningSecret(randomBytes), signed, signature));
});

t.test('rotation: the old secret alone, both, the new one alone', async t => {
  const [old, young] = [newSigningSecret(randomBytes), newSigningSecret(randomBytes)];
  const signed = message();
  const before = signatures([old], signed);
  t.same([verified(old, signed, before), verified(young, signed, before)], [true, false]);
  const during = signatures([young, old], signed);
  t.same([verified(old, signed, during), verified(young, signed, during)], [true, true]);
  t.equal(during, `${signatures([young], signed)} ${before}`, 'the newest comes first');
  const after = signatures([young], signed);
  t.same([verified(old, signed, after), verified(young, signed, after)], [false, true]);
});

t.test('a new secret has 32 random bytes', async t => {
  const made = Array.from({ length: 100 }, () => newSigningSecret(randomBytes));
  t.equal(new Set(made).size, 100);
  for (const secret of made) {
    t.ok(isSigningSecret(secret));
    t.equal(Buffer.from(secret.slice('whsec_'.length), 'base64').length, 32);
  }
});

t.test('a secret is whsec_ and base64 of 24 to 64 bytes', async t => {
  for (const length of [24, 25, 32, 63, 64]) {
    const secret = `whsec_${Buffer.alloc(length, 7).toString('base64')}`;
    t.ok(isSigningSecret(secret), `${length} bytes`);
    t.ok(isSigningSecret(secret.replace(/=+$/, '')), `${length} bytes, without padding`);
  }
  const refused = [
    '',
    'whsec_',
    'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw ',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa-w',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS',
    'whsec_secret words in here, many of them',
    `whsec_${Buffer.alloc(23).toString('base64')}`,
    `whsec_${Buffer.alloc(65).toString('base64')}`,
  ];
  for (const secret of refused) t.notOk(isSigningSecret(secret), secret);
});

t.test('an invalid secret is not quoted in the error', async t => {
  const secret = 'whsec_not-a-secret-but-private';
  const failure = t.throws(() => signatures([secret], message())) as unknown as Error;
  t.match(failure.message, 'a signing secret of the worker does not consist of whsec_ and base64');
  t.notOk(`${failure.message}${failure.stack}`.includes('private'));
});
