import { once } from 'node:events';
import type { TlsOptions } from 'node:tls';
import t from 'tap';
import type { HostAddress, Resolve } from '../../../../src/tasks/delivery/host-addresses.ts';
import { Authority, selfSigned } from '../../../support/certificates.ts';
import { each } from '../../../support/each.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { headerOf, localDeliveries, pushTo, reply, startPushWorker } from '../../../support/push-workers.ts';
import type { Teardown } from '../../../support/temp-directory.ts';
import { trustByDefault } from '../../../support/trust.ts';

const NOW = 1_767_225_600_000;
const NAME = 'hooks.example.com';
const LOOPBACK = v4('127.0.0.1');
const METADATA = v4('169.254.169.254');

function v4(address: string): HostAddress {
  return { address, family: 4 };
}

/** A name service that answers each look-up with the next of these, the last one again and again. */
function answering(...answers: readonly (readonly HostAddress[])[]): { resolve: Resolve; asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    resolve: async host => {
      asked.push(host);
      return answers[Math.min(asked.length, answers.length) - 1];
    },
  };
}

t.test('a name is looked up once for an attempt: what was checked is what is connected to', async t => {
  const worker = await startPushWorker(t, reply(200));
  const { resolve, asked } = answering([LOOPBACK], [METADATA]);
  const outcome = await localDeliveries(t, { resolve }).deliver(pushTo(worker.url('/', NAME)));
  t.match(outcome, { kind: 'answered', status: 200 });
  t.same(asked, [NAME]);
  t.equal(headerOf(worker.requests[0], 'host'), `${NAME}:${worker.port}`);
});

t.test('a name is checked again for each attempt, open connection or not', async t => {
  const clock = new ManualClock(NOW);
  const worker = await startPushWorker(t, reply(200));
  const { resolve } = answering([LOOPBACK], [METADATA], [LOOPBACK]);
  const deliveries = localDeliveries(t, { resolve, clock });
  t.match(await deliveries.deliver(pushTo(worker.url('/', NAME))), { status: 200 });
  clock.advance(1_000);
  t.match(await deliveries.deliver(pushTo(worker.url('/', NAME))), {
    kind: 'failed',
    status: 0,
    error: { code: 'forbidden_address' },
  });
  t.equal(worker.requests.length, 1);
  clock.advance(1_000);
  t.match(await deliveries.deliver(pushTo(worker.url('/', NAME))), { status: 200 });
});

t.test('an open connection is used only while the name still leads to its address', async t => {
  const clock = new ManualClock(NOW);
  const worker = await startPushWorker(t, reply(200));
  const elsewhere = v4('127.0.0.2');
  const { resolve } = answering([LOOPBACK], [LOOPBACK, elsewhere], [elsewhere]);
  const deliveries = localDeliveries(t, { resolve, clock });
  for (let i = 0; i < 2; i++) {
    t.match(await deliveries.deliver(pushTo(worker.url('/', NAME))), { status: 200 });
    clock.advance(1_000);
  }
  t.equal(worker.sockets.length, 1);
  // Nothing listens there.
  t.match(await deliveries.deliver(pushTo(worker.url('/', NAME))), { error: { code: 'connect_refused' } });
  t.equal(worker.requests.length, 2);
});

t.test('of several addresses only those are tried that are allowed', async t => {
  const worker = await startPushWorker(t, reply(200));
  const { resolve } = answering([METADATA, v4('10.0.0.1'), { address: '::1', family: 6 }, LOOPBACK]);
  t.match(await localDeliveries(t, { resolve }).deliver(pushTo(worker.url('/', NAME))), { status: 200 });
  t.equal(worker.sockets[0].remoteAddress, '127.0.0.1');
});

t.test('a name that leads to none but forbidden addresses is not connected to', async t => {
  const hidden: readonly (readonly HostAddress[])[] = [
    [METADATA],
    [v4('10.0.0.1'), v4('192.168.0.1')],
    [{ address: '::ffff:a9fe:a9fe', family: 6 }],
    [{ address: 'fe80::1%lo', family: 6 }],
  ];
  for (const addresses of hidden) {
    const { resolve } = answering(addresses);
    const deliveries = localDeliveries(t, { resolve });
    const { kind, error } = await deliveries.deliver(pushTo(`http://${NAME}:8080/`));
    t.same([kind, error?.code], ['failed', 'forbidden_address'], addresses[0].address);
    t.notOk(error?.message.includes(addresses[0].address), 'the addresses are not told');
    t.equal(deliveries.connections, 0);
  }
});

t.test('an address in the URL is checked as well', async t => {
  const worker = await startPushWorker(t, reply(200));
  for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', 'localhost', '0.0.0.0']) {
    const outcome = await localDeliveries(t, { networks: [] }).deliver(pushTo(worker.url('/', host)));
    t.match(outcome, { kind: 'failed', error: { code: 'forbidden_address' } }, host);
  }
  t.equal(worker.sockets.length, 0);
});

t.test('before each attempt the URL is checked against what the operator forbids by now', async t => {
  const worker = await startPushWorker(t, reply(200));
  const deliveries = localDeliveries(t, { allowHttp: false });
  t.match(await deliveries.deliver(pushTo(worker.url())), {
    kind: 'failed',
    error: { code: 'invalid_url' },
  });
  const worker2 = { name: 'mailer', url: null, method: 'POST', headers: {} } as const;
  t.match(await deliveries.deliver(pushTo('', { worker: worker2 })), {
    kind: 'failed',
    error: { code: 'invalid_url', message: 'the worker has no URL' },
  });
});

t.test('the error says that a host name has no addresses', async t => {
  const failing = localDeliveries(t, {
    resolve: () =>
      Promise.reject(Object.assign(new Error('queryA SERVFAIL ns1.internal'), { code: 'ESERVFAIL' })),
  });
  const empty = localDeliveries(t, { resolve: async () => [] });
  for (const deliveries of [failing, empty]) {
    t.match(await deliveries.deliver(pushTo(`https://${NAME}/`)), {
      kind: 'failed',
      error: { code: 'dns', message: `${NAME} does not resolve to an address` },
    });
  }
});

t.test('attempts of one second share a look-up', async t => {
  const clock = new ManualClock(NOW);
  const worker = await startPushWorker(t, reply(200));
  const { resolve, asked } = answering([LOOPBACK]);
  const deliveries = localDeliveries(t, { resolve, clock });
  const push = () => deliveries.deliver(pushTo(worker.url('/', NAME)));
  await Promise.all([push(), push(), push()]);
  clock.advance(999);
  await push();
  t.equal(asked.length, 1);
  clock.advance(1);
  await push();
  t.equal(asked.length, 2);
  clock.moveTo(NOW - 3_600_000);
  await push();
  t.equal(asked.length, 3, 'also when the clock was set back');
});

t.test('connections are kept for the next attempt of the same tenant to the same origin', async t => {
  const worker = await startPushWorker(t, reply(200));
  const deliveries = localDeliveries(t);
  for (const tenant of ['acme', 'acme', 'other', 'acme', 'other']) {
    await deliveries.deliver(pushTo(worker.url(), { tenant }));
  }
  t.same(each(worker.requests, 'connection'), [1, 1, 2, 1, 2]);
});

t.test('connections that nobody uses are bounded: the one that has been idle the longest goes', async t => {
  const worker = await startPushWorker(t, reply(200));
  const deliveries = localDeliveries(t, { capacity: 2 });
  for (const tenant of ['a', 'b', 'c']) await deliveries.deliver(pushTo(worker.url(), { tenant }));
  t.equal(deliveries.connections, 2);
  await worker.openAre(2);
  for (const tenant of ['b', 'c', 'a']) await deliveries.deliver(pushTo(worker.url(), { tenant }));
  t.same(each(worker.requests, 'connection'), [1, 2, 3, 2, 3, 4]);
});

t.test('a worker that asks for the connection to be closed gets a new one for each attempt', async t => {
  const worker = await startPushWorker(t, reply(200, { connection: 'close' }));
  const deliveries = localDeliveries(t);
  await deliveries.deliver(pushTo(worker.url()));
  await worker.openAre(0);
  t.match(await deliveries.deliver(pushTo(worker.url())), { status: 200 });
  t.equal(worker.sockets.length, 2);
});

const authority = new Authority('Test Authority');

/** What becomes of an attempt to a server with this certificate, where `authority` is trusted. */
async function over(t: Teardown, tls: TlsOptions, host = NAME) {
  const worker = await startPushWorker(t, reply(200), tls);
  const { resolve } = answering([LOOPBACK]);
  const deliveries = localDeliveries(t, { resolve, ca: authority.certificate, allowHttp: false });
  return { worker, outcome: await deliveries.deliver(pushTo(worker.url('/', host))) };
}

t.test('over TLS the name of the URL is asked for, and the certificate must be its own', async t => {
  const names: string[] = [];
  const { certificate: cert, key } = authority.issue({ subject: NAME, names: [NAME] });
  const { worker, outcome } = await over(t, {
    cert,
    key,
    SNICallback: (name, done) => {
      names.push(name);
      done(null);
    },
  });
  t.match(outcome, { kind: 'answered', status: 200 });
  t.same(names, [NAME]);
  t.equal(headerOf(worker.requests[0], 'host'), `${NAME}:${worker.port}`);
});

t.test('where the URL has an address, the certificate must hold it', async t => {
  const { certificate: cert, key } = authority.issue({ subject: 'any', names: ['127.0.0.1'] });
  t.match((await over(t, { cert, key }, '127.0.0.1')).outcome, { status: 200 });
  const other = authority.issue({ subject: '127.0.0.1', names: [NAME] });
  t.match((await over(t, { cert: other.certificate, key: other.key }, '127.0.0.1')).outcome, {
    error: { code: 'tls', message: 'the certificate is for another name' },
  });
});

t.test('authorities that the process trusts are trusted beside those that the operator names', async t => {
  const other = new Authority('Company');
  const { certificate: cert, key } = other.issue({ subject: NAME, names: [NAME] });
  t.match((await over(t, { cert, key })).outcome, {
    error: {
      code: 'tls',
      message: /not known; the operator of this service can add it in TASKS_PUSH_CACERT$/,
    },
  });
  trustByDefault(t, other.certificate);
  t.match((await over(t, { cert, key })).outcome, { status: 200 });
});

const UNTRUSTED = {
  'has expired': authority.issue({ subject: NAME, names: [NAME], to: '2021-01-01' }),
  'is not valid yet': authority.issue({ subject: NAME, names: [NAME], from: '2098-01-01' }),
  'is for another name': authority.issue({ subject: NAME, names: ['private.internal'] }),
  'is self-signed': selfSigned(NAME),
  'is signed by an authority that is not known': new Authority('Other').issue({
    subject: NAME,
    names: [NAME],
  }),
};
for (const [what, { certificate: cert, key }] of Object.entries(UNTRUSTED)) {
  t.test(`a certificate that ${what} is refused, and nothing is sent`, async t => {
    const { worker, outcome } = await over(t, { cert, key });
    t.match(outcome, {
      kind: 'failed',
      status: 0,
      error: { code: 'tls', message: `the certificate ${what}` },
    });
    t.equal(worker.requests.length, 0);
    await worker.openAre(0);
  });
}

for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
  t.test(`a server that requires a client certificate is named as such, with ${maxVersion}`, async t => {
    const { certificate: cert, key } = authority.issue({ subject: NAME, names: [NAME] });
    const { worker, outcome } = await over(t, { cert, key, maxVersion, requestCert: true });
    t.match(outcome, {
      kind: 'failed',
      status: 0,
      error: { code: 'tls', message: /requires? a client certificate, which pushes do not send$/ },
    });
    t.equal(worker.requests.length, 0);
  });
}

t.test('a server that does not speak TLS', async t => {
  const worker = await startPushWorker(t, () => {});
  const deliveries = localDeliveries(t);
  const outcome = deliveries.deliver(pushTo(worker.url().replace('http:', 'https:')));
  await worker.openAre(1);
  worker.sockets[0].end('HTTP/1.1 400 Bad Request\r\n\r\n');
  t.match(await outcome, { kind: 'failed', error: { code: 'tls', message: /^the TLS handshake failed/ } });
});

t.test('a server that hangs up in the handshake', async t => {
  const worker = await startPushWorker(t, () => {});
  const outcome = localDeliveries(t).deliver(pushTo(worker.url().replace('http:', 'https:')));
  await worker.openAre(1);
  await once(worker.sockets[0], 'data');
  worker.sockets[0].resetAndDestroy();
  t.match(await outcome, { kind: 'failed', error: { code: 'tls' } });
});
