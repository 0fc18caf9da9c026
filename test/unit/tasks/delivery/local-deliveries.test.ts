import t from 'tap';
import { Authority } from '../../../support/certificates.ts';
import { localDeliveries, pushTo, reply, startPushWorker, TASK } from '../../../support/push-workers.ts';
import { WaitClock } from '../../../support/wait-clock.ts';

const ABORTED = {
  kind: 'aborted',
  status: 0,
  error: { code: 'aborted', message: 'the service ended the attempt' },
};

t.test('an abort closes the connection of an attempt that waits for its answer', async t => {
  const worker = await startPushWorker(t, () => {});
  const deliveries = localDeliveries(t);
  const outcome = deliveries.deliver(pushTo(worker.url()));
  await worker.received(1);
  deliveries.abort('acme', TASK.id);
  t.match(await outcome, ABORTED);
  await worker.openAre(0);
  t.equal(deliveries.connections, 0);
});

t.test('an abort ends an attempt whose name is still looked up', async t => {
  const deliveries = localDeliveries(t, { resolve: () => new Promise(() => {}) });
  const outcome = deliveries.deliver(pushTo('https://slow.example.com/'));
  deliveries.abort('acme', TASK.id);
  t.match(await outcome, ABORTED);
  t.equal(deliveries.free, deliveries.capacity);
});

t.test('an abort ends an attempt whose connection is still being made', async t => {
  const worker = await startPushWorker(t, () => {});
  const deliveries = localDeliveries(t);
  const outcome = deliveries.deliver(pushTo(worker.url().replace('http:', 'https:')));
  await worker.openAre(1);
  deliveries.abort('acme', TASK.id);
  t.match(await outcome, ABORTED);
  await worker.openAre(0);
});

t.test('an abort is for one task of one tenant', async t => {
  const worker = await startPushWorker(t, () => {});
  const deliveries = localDeliveries(t);
  const other = { ...TASK, id: 'tsk_01JQ0000000000000000000001' };
  const outcomes = [
    deliveries.deliver(pushTo(worker.url())),
    deliveries.deliver(pushTo(worker.url(), { task: other })),
    deliveries.deliver(pushTo(worker.url(), { tenant: 'other' })),
  ];
  await worker.received(3);
  deliveries.abort('acme', TASK.id);
  deliveries.abort('acme', 'tsk_01JQ0000000000000000000009');
  t.match(await outcomes[0], ABORTED);
  for (const socket of worker.sockets) if (!socket.destroyed) reply(200)(socket);
  t.match(await Promise.all(outcomes.slice(1)), [{ status: 200 }, { status: 200 }]);
});

t.test('an abort after the answer changes nothing', async t => {
  const worker = await startPushWorker(t, reply(200));
  const deliveries = localDeliveries(t);
  t.match(await deliveries.deliver(pushTo(worker.url())), { status: 200 });
  deliveries.abort('acme', TASK.id);
  t.match(await deliveries.deliver(pushTo(worker.url())), { status: 200 });
});

t.test('attempts beyond the limit are not started and do not count', async t => {
  const worker = await startPushWorker(t, () => {});
  const deliveries = localDeliveries(t, { capacity: 2 });
  t.equal(deliveries.free, 2);
  const outcomes = [deliveries.deliver(pushTo(worker.url())), deliveries.deliver(pushTo(worker.url()))];
  t.equal(deliveries.free, 0);
  t.match(await deliveries.deliver(pushTo(worker.url())), { kind: 'aborted', error: { code: 'aborted' } });
  await worker.received(2);
  for (const socket of worker.sockets) reply(200)(socket);
  await Promise.all(outcomes);
  t.equal(deliveries.free, 2);
});

t.test('a stop ends attempts in progress and closes every connection', async t => {
  const clock = new WaitClock(1_767_225_600_000);
  const worker = await startPushWorker(t, reply(200));
  const deliveries = localDeliveries(t, { clock });
  await deliveries.deliver(pushTo(worker.url(), { tenant: 'idle' }));
  worker.answer = () => {};
  const outcomes = [deliveries.deliver(pushTo(worker.url())), deliveries.deliver(pushTo(worker.url()))];
  await worker.received(3);
  await deliveries.stop();
  t.match(await Promise.all(outcomes), [ABORTED, ABORTED]);
  await worker.openAre(0);
  t.equal(deliveries.connections, 0);
  t.equal(deliveries.free, 0);
  t.equal(clock.pending, 0);
  t.match(await deliveries.deliver(pushTo(worker.url())), {
    kind: 'aborted',
    error: { message: 'deliveries are stopped' },
  });
});

t.test('no outcome holds a secret or the payload, however the attempt fails', async t => {
  const worker = await startPushWorker(t, socket => socket.end('nonsense\r\n\r\n'));
  const trusted = new Authority('Test');
  const { certificate: cert, key } = new Authority('Other').issue({ subject: 'x', names: ['127.0.0.1'] });
  const secure = await startPushWorker(t, reply(200), { cert, key });
  const deliveries = localDeliveries(t, { ca: trusted.certificate });
  const hidden = ['whsec_hidden-signing', 'hidden-header', 'hidden-payload'];
  const secrets = {
    secretHeaders: { authorization: hidden[1], 'x-broken\n': hidden[1], 'x-broken': `${hidden[1]}\n` },
    payload: JSON.stringify(hidden[2]),
  };
  const outcomes = await Promise.all([
    deliveries.deliver(pushTo(worker.url(), secrets)),
    deliveries.deliver(pushTo(worker.url(), { ...secrets, signing: [hidden[0]] })),
    deliveries.deliver(pushTo(secure.url(), secrets)),
    deliveries.deliver(pushTo('https://user:hidden-header@example.com/', secrets)),
    deliveries.deliver(pushTo('http://127.0.0.1:1/', secrets)),
  ]);
  t.same(
    outcomes.map(({ error }) => error?.code),
    ['reply_invalid', 'internal', 'tls', 'invalid_url', 'invalid_url'],
  );
  const text = JSON.stringify(outcomes);
  for (const word of hidden) t.notOk(text.includes(word), word);
});
