import { createHmac, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { newSigningSecret } from '../../../../src/tasks/delivery/signature.ts';
import { bytesPayload } from '../../../../src/tasks/model/task.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import {
  headerOf,
  localDeliveries,
  pushTo,
  reply,
  startPushWorker,
  TASK,
} from '../../../support/push-workers.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

t.test('the worker gets the payload as it is, and a head that the public library verifies', async t => {
  const worker = await startPushWorker(t, reply(200));
  const deliveries = localDeliveries(t);
  const [old, young] = [newSigningSecret(randomBytes), newSigningSecret(randomBytes)];
  const payload = '{ "text": "Grüße, 限制 🙂",  "n": 1.0 }';
  const outcome = await deliveries.deliver(
    pushTo(worker.url('/a/b?c=d'), {
      payload,
      signing: [young, old],
      worker: { name: 'mailer', url: worker.url('/a/b?c=d'), method: 'PUT', headers: {} },
    }),
  );
  t.match(outcome, { kind: 'answered', status: 200, error: null });
  const [request] = worker.requests;
  t.equal(request.line, 'PUT /a/b?c=d HTTP/1.1');
  t.equal(request.body, payload);
  t.equal(headerOf(request, 'host'), `127.0.0.1:${worker.port}`);
  t.equal(headerOf(request, 'content-length'), String(Buffer.byteLength(payload)));
  t.equal(headerOf(request, 'webhook-id'), TASK.id);
  for (const secret of [old, young]) {
    t.ok(new Webhook(secret).verify(request.body, Object.fromEntries(request.fields)));
  }
});

t.test('a task without a payload has an empty body', async t => {
  const worker = await startPushWorker(t, reply(204));
  t.match(await localDeliveries(t).deliver(pushTo(worker.url(), { payload: null })), {
    status: 204,
    result: null,
  });
  const [request] = worker.requests;
  t.equal(request.body, '');
  t.equal(headerOf(request, 'content-length'), '0');
  t.equal(headerOf(request, 'content-type'), undefined);
});

t.test('bytes are sent as they are, with their content type, and signed', async t => {
  const worker = await startPushWorker(t, reply(204));
  const secret = newSigningSecret(randomBytes);
  const sent = Buffer.from([0x00, 0xff, 0xfe, 0x0a, 0x80]);
  const contentType = 'text/plain; x=";base64,"';
  const outcome = await localDeliveries(t).deliver(
    pushTo(worker.url(), {
      payload: bytesPayload({ contentType, base64: sent.toString('base64') }),
      signing: [secret],
      headers: { 'content-type': 'text/html' },
    }),
  );
  t.match(outcome, { status: 204 });
  const [request] = worker.requests;
  t.strictSame(request.bytes, sent);
  t.equal(headerOf(request, 'content-type'), contentType);
  t.equal(headerOf(request, 'content-length'), '5');
  const signed = Buffer.concat([Buffer.from(`${TASK.id}.${headerOf(request, 'webhook-timestamp')}.`), sent]);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(signed).digest('base64');
  t.equal(headerOf(request, 'webhook-signature'), `v1,${signature}`);
});

t.test('bytes may be none, and have a content type then, too', async t => {
  const worker = await startPushWorker(t, reply(204));
  const payload = bytesPayload({ contentType: 'text/csv', base64: '' });
  await localDeliveries(t).deliver(pushTo(worker.url(), { payload }));
  const [request] = worker.requests;
  t.equal(request.bytes.length, 0);
  t.equal(headerOf(request, 'content-type'), 'text/csv');
});

t.test('a JSON answer of up to 16 KiB is the result', async t => {
  const worker = await startPushWorker(t, reply(200));
  const deliveries = localDeliveries(t);
  const result = async (body: string | Buffer, type = 'application/json'): Promise<string | null> => {
    worker.answer = reply(200, { 'content-type': type }, body);
    return (await deliveries.deliver(pushTo(worker.url()))).result;
  };
  t.equal(await result('{"done":true}'), '{"done":true}');
  t.equal(await result(' [1, 2]\n', 'application/json; charset=utf-8'), '[1, 2]');
  t.equal(await result('"ü"', 'application/vnd.acme+json'), '"ü"');
  t.equal(await result('null'), 'null');
  const largest = JSON.stringify('x'.repeat(16 * 1024 - 2));
  t.equal(await result(largest), largest);
  t.equal(await result(`${largest} `), null, 'a byte more');
  t.equal(await result('{"done":true'), null, 'cut');
  t.equal(await result(''), null, 'empty');
  t.equal(await result('{"done":true}', 'text/plain'), null, 'said to be something else');
  t.equal(await result(Buffer.from([0x22, 0xff, 0x22])), null, 'no UTF-8');
  t.equal(await result('['.repeat(65) + ']'.repeat(65)), null, 'deeper than anybody should read');
  const deep = `${'['.repeat(64)}"[[{"${']'.repeat(64)}`;
  t.equal(await result(deep), deep);
});

t.test('history has the first 4 KiB of the answer, cut between two characters', async t => {
  const worker = await startPushWorker(t, reply(200));
  const deliveries = localDeliveries(t);
  const kept = async (body: string | Buffer) => {
    worker.answer = reply(500, {}, body);
    const { http } = await deliveries.deliver(pushTo(worker.url()));
    t.ok(Buffer.byteLength(http?.response ?? '') <= 4096);
    return http;
  };
  t.match(await kept('upstream busy'), { status: 500, response: 'upstream busy', truncated: false });
  t.match(await kept(''), { response: '', truncated: false });
  t.match(await kept('x'.repeat(4096)), { response: 'x'.repeat(4096), truncated: false });
  t.match(await kept('x'.repeat(4097)), { response: 'x'.repeat(4096), truncated: true });
  t.equal((await kept(`${'x'.repeat(4095)}ü`))?.response, 'x'.repeat(4095));
  t.equal((await kept(`${'x'.repeat(4093)}🙂`))?.response, 'x'.repeat(4093));
  t.equal((await kept(`${'x'.repeat(4092)}🙂`))?.response, `${'x'.repeat(4092)}🙂`);
  t.equal((await kept(Buffer.from([0x61, 0xff, 0x62])))?.response, 'a\ufffdb');
  t.equal((await kept(Buffer.alloc(5000, 0xff)))?.response, '\ufffd'.repeat(1365));
});

t.test('each status has a code and a sentence', async t => {
  const worker = await startPushWorker(t, reply(200));
  const deliveries = localDeliveries(t);
  const codes = {
    204: null,
    302: 'http_3xx',
    404: 'http_4xx',
    429: 'http_4xx',
    503: 'http_5xx',
    799: 'http_other',
  };
  for (const [status, code] of Object.entries(codes)) {
    worker.answer = reply(Number(status));
    const outcome = await deliveries.deliver(pushTo(worker.url()));
    t.equal(outcome.kind, 'answered');
    t.equal(outcome.status, Number(status));
    t.same(outcome.error, code === null ? null : { code, message: `${status} from worker` });
  }
});

t.test('Retry-After is read with any status', async t => {
  const clock = new ManualClock(Date.parse('2026-03-01T10:00:00Z'));
  const worker = await startPushWorker(t, reply(200));
  const deliveries = localDeliveries(t, { clock });
  const forms: readonly (readonly [text: string | null, ms: number | null])[] = [
    [null, null],
    ['30', 30_000],
    ['Sun, 01 Mar 2026 10:01:00 GMT', 60_000],
  ];
  for (const status of [429, 503]) {
    for (const [text, ms] of forms) {
      worker.answer = reply(status, text === null ? {} : { 'retry-after': text });
      const { retryAfterMs } = await deliveries.deliver(pushTo(worker.url()));
      t.equal(retryAfterMs, ms, `${status} ${text}`);
    }
  }
});

t.test('task-no-retry is read, whatever the status and its case', async t => {
  const worker = await startPushWorker(t, reply(200));
  const deliveries = localDeliveries(t);
  const said = async (fields: Record<string, string>): Promise<boolean> => {
    worker.answer = reply(500, fields);
    return (await deliveries.deliver(pushTo(worker.url()))).noRetry;
  };
  t.equal(await said({ 'task-no-retry': 'true' }), true);
  t.equal(await said({ 'Task-No-Retry': 'TRUE' }), true);
  t.equal(await said({ 'task-no-retry': 'false' }), false);
  t.equal(await said({ 'task-no-retry': '' }), false);
  t.equal(await said({}), false);
});

t.test('a redirect to where the cloud keeps its secrets is an answer like any other', async t => {
  const asked: string[] = [];
  const worker = await startPushWorker(
    t,
    reply(302, { location: 'http://169.254.169.254/latest/meta-data/' }),
  );
  const deliveries = localDeliveries(t, {
    resolve: async host => {
      asked.push(host);
      return [{ address: '127.0.0.1', family: 4 }];
    },
  });
  const outcome = await deliveries.deliver(pushTo(worker.url('/tasks', 'hooks.example.com')));
  t.match(outcome, { kind: 'answered', status: 302, error: { code: 'http_3xx' } });
  t.same(asked, ['hooks.example.com']);
  t.equal(worker.requests.length, 1);
  t.equal(deliveries.connections, 1);
});

t.test('cookies are not sent back', async t => {
  const worker = await startPushWorker(t, reply(200, { 'set-cookie': 'session=1; Path=/' }));
  const deliveries = localDeliveries(t);
  await deliveries.deliver(pushTo(worker.url()));
  await deliveries.deliver(pushTo(worker.url()));
  t.equal(headerOf(worker.requests[1], 'cookie'), undefined);
});

t.test('answers that come before the answer are passed over', async t => {
  const worker = await startPushWorker(t, socket => {
    socket.write(
      'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\nretry-after: 5\r\n\r\n',
    );
    reply(200, JSON_TYPE, '{}')(socket);
  });
  t.match(await localDeliveries(t).deliver(pushTo(worker.url())), {
    status: 200,
    result: '{}',
    retryAfterMs: null,
  });
});

t.test('a chunked answer is put together', async t => {
  const worker = await startPushWorker(t, socket => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n');
    socket.write('4\r\n{"a"\r\n3\r\n:1}\r\n0\r\n\r\n');
  });
  t.match(await localDeliveries(t).deliver(pushTo(worker.url())), { status: 200, result: '{"a":1}' });
});
