import { once } from 'node:events';
import type { Socket } from 'node:net';
import t from 'tap';
import type { DeliveryOutcome } from '../../../../src/tasks/delivery/delivery.ts';
import { each } from '../../../support/each.ts';
import { localDeliveries, pushTo, reply, startPushWorker } from '../../../support/push-workers.ts';
import { until } from '../../../support/until.ts';
import { WaitClock } from '../../../support/wait-clock.ts';

const NOW = 1_767_225_600_000;
const TIMEOUT_MS = 5_000;
const HEAD = 'HTTP/1.1 200 OK\r\n';

/** Whether and how an attempt has ended by now. */
function watched(outcome: Promise<DeliveryOutcome>): { readonly ended: () => DeliveryOutcome | null } {
  let ended: DeliveryOutcome | null = null;
  void outcome.then(is => {
    ended = is;
  });
  return { ended: () => ended };
}

t.test('a worker that never answers is given up after the timeout, and its connection closed', async t => {
  const clock = new WaitClock(NOW);
  const worker = await startPushWorker(t, () => {});
  const deliveries = localDeliveries(t, { clock });
  const outcome = deliveries.deliver(pushTo(worker.url(), { timeoutMs: TIMEOUT_MS }));
  await worker.received(1);
  clock.advance(TIMEOUT_MS - 1);
  t.equal(deliveries.connections, 1);
  clock.advance(1);
  t.same(await outcome, {
    kind: 'timed_out',
    status: 0,
    durationMs: TIMEOUT_MS,
    http: null,
    result: null,
    retryAfterMs: null,
    noRetry: false,
    error: { code: 'timeout', message: 'no complete response within 5000 ms' },
  });
  await worker.openAre(0);
  t.equal(deliveries.connections, 0);
  t.equal(clock.pending, 0, 'no timer is left');
});

for (const [where, begin] of [
  ['body', `${HEAD}content-length: 100000\r\n\r\n`],
  ['head', `${HEAD}x-drip: `],
  ['endless chunks', `${HEAD}transfer-encoding: chunked\r\n\r\nFFFF\r\n`],
] as const) {
  t.test(`the timeout covers an answer that drips one byte a second: ${where}`, async t => {
    const clock = new WaitClock(NOW);
    const worker = await startPushWorker(t, socket => socket.write(begin));
    const deliveries = localDeliveries(t, { clock });
    const outcome = deliveries.deliver(pushTo(worker.url(), { timeoutMs: TIMEOUT_MS }));
    const { ended } = watched(outcome);
    await worker.received(1);
    let bytes = 0;
    for (; ended() === null; bytes++) {
      worker.sockets[0].write('x');
      clock.advance(1_000);
      await new Promise(setImmediate);
    }
    t.match(await outcome, { kind: 'timed_out', error: { code: 'timeout' } });
    t.ok(bytes <= TIMEOUT_MS / 1_000 + 1, `${bytes} bytes`);
    await worker.openAre(0);
  });
}

t.test('the timeout covers the look-up of the name', async t => {
  const clock = new WaitClock(NOW);
  const deliveries = localDeliveries(t, { clock, resolve: () => new Promise(() => {}) });
  const outcome = deliveries.deliver(pushTo('https://slow.example.com/', { timeoutMs: TIMEOUT_MS }));
  await clock.pass(TIMEOUT_MS);
  t.match(await outcome, { kind: 'timed_out', error: { code: 'timeout' } });
});

t.test('the timeout covers a TLS handshake that the other side never begins', async t => {
  const clock = new WaitClock(NOW);
  // It speaks no TLS, and waits for a request that makes sense to it.
  const worker = await startPushWorker(t, () => {});
  const deliveries = localDeliveries(t, { clock });
  const url = worker.url().replace('http:', 'https:');
  const outcome = deliveries.deliver(pushTo(url, { timeoutMs: TIMEOUT_MS }));
  await worker.openAre(1);
  await clock.pass(TIMEOUT_MS);
  t.match(await outcome, { kind: 'timed_out', error: { code: 'timeout' } });
  await worker.openAre(0);
});

t.test('a connection that is not there within ten seconds is given up before a long timeout', async t => {
  const clock = new WaitClock(NOW);
  const worker = await startPushWorker(t, () => {});
  const deliveries = localDeliveries(t, { clock });
  const outcome = deliveries.deliver(pushTo(worker.url().replace('http:', 'https:'), { timeoutMs: 900_000 }));
  await worker.openAre(1);
  await clock.pass(10_000);
  t.match(await outcome, {
    kind: 'failed',
    error: { code: 'connect_failed', message: 'no connection within 10 seconds' },
  });
  await worker.openAre(0);
});

t.test('of an answer of 100 MB the beginning is read, and the connection closed', async t => {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  const size = 100 * 1024 * 1024;
  const flood = (socket: Socket): void => {
    socket.write(`${HEAD}content-type: application/json\r\ncontent-length: ${size}\r\n\r\n`);
    let left = size;
    const more = (): void => {
      while (left > 0 && !socket.destroyed) {
        left -= chunk.length;
        if (!socket.write(chunk)) {
          socket.once('drain', more);
          return;
        }
      }
    };
    more();
  };
  const worker = await startPushWorker(t, flood);
  const deliveries = localDeliveries(t);
  const outcome = await deliveries.deliver(pushTo(worker.url()));
  t.match(outcome, { kind: 'answered', status: 200, result: null, error: null });
  t.same(outcome.http, {
    status: 200,
    durationMs: outcome.durationMs,
    response: 'x'.repeat(4096),
    truncated: true,
  });
  await worker.openAre(0);
  const [{ bytesWritten }] = worker.sockets;
  t.ok(bytesWritten < size, `${bytesWritten} of ${size} bytes were sent`);
});

t.test('an answer of 64 KiB leaves the connection for the next attempt, one byte more does not', async t => {
  const worker = await startPushWorker(t, reply(200, {}, 'x'.repeat(64 * 1024)));
  const deliveries = localDeliveries(t);
  await deliveries.deliver(pushTo(worker.url()));
  worker.answer = reply(200, {}, 'x'.repeat(64 * 1024 + 1));
  await deliveries.deliver(pushTo(worker.url()));
  await worker.openAre(0);
  await deliveries.deliver(pushTo(worker.url()));
  t.same(each(worker.requests, 'connection'), [1, 1, 2]);
});

const BROKEN: readonly (readonly [how: string, begin: string, code: string])[] = [
  ['resets the connection before the answer', '', 'connection_lost'],
  ['resets it in the middle of the head', `${HEAD}content-`, 'connection_lost'],
  ['resets it in the middle of the body', `${HEAD}content-length: 10\r\n\r\nhalf`, 'connection_lost'],
  [
    'resets it between two chunks',
    `${HEAD}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n`,
    'connection_lost',
  ],
];
for (const [how, begin, code] of BROKEN) {
  t.test(`a worker that ${how}`, async t => {
    const worker = await startPushWorker(t, socket => {
      if (begin === '') socket.resetAndDestroy();
      else socket.write(begin, () => socket.resetAndDestroy());
    });
    const outcome = await localDeliveries(t).deliver(pushTo(worker.url()));
    t.match(outcome, { kind: 'failed', result: null, error: { code } });
    t.equal(worker.requests.length, 1, 'it is sent once');
  });
}

t.test('a worker that closes the connection in the middle of the body', async t => {
  const worker = await startPushWorker(t, socket => socket.end(`${HEAD}content-length: 10\r\n\r\nhalf`));
  const outcome = await localDeliveries(t).deliver(pushTo(worker.url()));
  t.match(outcome, { kind: 'failed', status: 200, http: { response: 'half' } });
  t.ok(['connection_lost', 'reply_invalid'].includes(outcome.error?.code ?? ''));
});

t.test('the error says that a response is not HTTP/1.1', async t => {
  const answers = [
    'SSH-2.0-OpenSSH_9.6\r\n\r\n',
    'HTTP/1.1 2xx OK\r\n\r\n',
    `${HEAD}content-length: -1\r\n\r\n`,
    `${HEAD}a b: c\r\n\r\n`,
    '\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0d',
  ];
  for (const answer of answers) {
    const worker = await startPushWorker(t, socket => socket.end(answer));
    const outcome = await localDeliveries(t).deliver(pushTo(worker.url()));
    t.match(outcome, { kind: 'failed', error: { code: 'reply_invalid' } }, JSON.stringify(answer));
    await worker.openAre(0);
  }
});

t.test('the head of an answer may have 16 KiB', async t => {
  const worker = await startPushWorker(t, reply(200, { 'x-large': 'x'.repeat(15 * 1024) }));
  const deliveries = localDeliveries(t);
  t.match(await deliveries.deliver(pushTo(worker.url())), { status: 200 });
  worker.answer = reply(200, { 'x-large': 'x'.repeat(17 * 1024) });
  t.match(await deliveries.deliver(pushTo(worker.url())), {
    kind: 'failed',
    error: { code: 'reply_headers_too_large' },
  });
  await worker.openAre(0);
});

t.test('bytes beyond an answer are not taken for the answer to the next attempt', async t => {
  const worker = await startPushWorker(t, socket => {
    socket.write(`${HEAD}content-length: 2\r\n\r\nokHTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n`);
  });
  const deliveries = localDeliveries(t);
  t.match(await deliveries.deliver(pushTo(worker.url())), { status: 200, http: { response: 'ok' } });
  await worker.openAre(0);
  worker.answer = reply(204);
  t.match(await deliveries.deliver(pushTo(worker.url())), { status: 204 });
});

t.test('an upgrade that nobody asked for is no answer', async t => {
  const worker = await startPushWorker(t, socket => {
    socket.write('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n');
  });
  t.match(await localDeliveries(t).deliver(pushTo(worker.url())), { kind: 'failed' });
});

t.test('nothing listens', async t => {
  const worker = await startPushWorker(t, () => {});
  const url = worker.url();
  await worker.stop();
  t.match(await localDeliveries(t).deliver(pushTo(url)), {
    kind: 'failed',
    status: 0,
    error: { code: 'connect_refused', message: 'nothing listens at the address and port' },
  });
});

t.test('a connection that the worker closes between two attempts is replaced', async t => {
  const worker = await startPushWorker(t, reply(200));
  const deliveries = localDeliveries(t);
  await deliveries.deliver(pushTo(worker.url()));
  worker.sockets[0].end();
  await once(worker.sockets[0], 'close');
  await until(() => deliveries.connections === 0);
  t.match(await deliveries.deliver(pushTo(worker.url())), { status: 200 });
  t.equal(worker.sockets.length, 2);
});
