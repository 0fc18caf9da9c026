import { Metadata } from '@grpc/grpc-js';
import type { Test } from 'tap';
import { GRPC_STATUS, type StreamMethod, type UnaryMethod } from '../../src/grpc/service.ts';
import { DEFAULT_MAX_MESSAGE_BYTES } from '../../src/transports/grpc/server.ts';
import { callOverHttp2, openHttp2 } from '../support/grpc-client.ts';
import { type Examinee, echo, HeldCalls } from './grpc-examinee.ts';

export function examineUnaryCalls(t: Test, examinee: Examinee): void {
  t.test('an answer comes back byte for byte', async t => {
    const { client } = await examinee.start(t, { unary: { '/s/Echo': echo } });
    const request = Buffer.from([0, 1, 127, 128, 255]);
    t.strictSame(await client.unary('/s/Echo', request), { status: 0, message: '', response: request });
  });

  t.test('an empty message is a message', async t => {
    const { client } = await examinee.start(t, { unary: { '/s/Echo': echo } });
    t.match(await client.unary('/s/Echo'), { status: 0, response: Buffer.alloc(0) });
  });

  t.test('the answer may be overwritten as soon as it was handed over', async t => {
    const overwrite: UnaryMethod = (_request, reply) => {
      const buffer = new TextEncoder().encode('answer');
      reply.send(buffer);
      buffer.fill(0);
    };
    const { client } = await examinee.start(t, { unary: { '/s/Overwrite': overwrite } });
    t.equal((await client.unary('/s/Overwrite')).response.toString(), 'answer');
  });

  t.test('a refusal carries its status and message', async t => {
    const refuse: UnaryMethod = (_request, reply) => reply.fail(GRPC_STATUS.notFound, '100 % gone: "ü"\n');
    const { client } = await examinee.start(t, { unary: { '/s/Refuse': refuse } });
    t.match(await client.unary('/s/Refuse'), { status: 5, message: '100 % gone: "ü"\n' });
  });

  t.test('a message that no header can hold is made fit', async t => {
    const long = `\ud800${'x'.repeat(100_000)}`;
    const refuse: UnaryMethod = (_request, reply) => reply.fail(GRPC_STATUS.internal, long);
    const { client } = await examinee.start(t, { unary: { '/s/Refuse': refuse } });
    const { status, message } = await client.unary('/s/Refuse');
    t.equal(status, GRPC_STATUS.internal);
    t.match(message, /^\ufffdx{1000,1100}…$/);
  });

  t.test('a method reads header fields and the authority', async t => {
    const read: UnaryMethod = (_request, reply) =>
      reply.send(Buffer.from([':authority', 'x-set', 'x-unset'].map(name => reply.header(name)).join('|')));
    const { client } = await examinee.start(t, { unary: { '/s/Read': read } });
    const metadata = new Metadata();
    metadata.set('x-set', 'value');
    const { response } = await client.unary('/s/Read', '', {}, metadata);
    t.match(response.toString(), /^(?:localhost|127\.0\.0\.1:\d+)\|value\|$/);
  });

  t.test('an unknown method is UNIMPLEMENTED', async t => {
    const { client } = await examinee.start(t, { unary: { '/s/Echo': echo } });
    for (const path of ['/s/Nothing', '/', '/s/Echo/', '/S/Echo']) {
      const { status, message } = await client.unary(path);
      t.equal(status, GRPC_STATUS.unimplemented, path);
      t.ok(message.includes(path), 'the message names the method');
    }
  });

  t.test('calls on one connection run side by side and may be answered in any order', async t => {
    const held = new HeldCalls();
    const { client } = await examinee.start(t, { unary: { '/s/Hold': held.method } });
    const calls = Array.from({ length: 100 }, () => client.unary('/s/Hold'));
    await held.arrived(100);
    for (const [index, reply] of held.replies.toReversed().entries()) reply.send(Buffer.from(String(index)));
    const answers = (await Promise.all(calls)).map(({ response }) => Number(response.toString()));
    t.strictSame(
      answers.sort((a, b) => a - b),
      Array.from({ length: 100 }, (_, index) => index),
    );
  });

  t.test('each of many calls gets its own answer', async t => {
    const { client } = await examinee.start(t, { unary: { '/s/Echo': echo } });
    const calls = Array.from({ length: 200 }, (_, index) => client.unary('/s/Echo', `call ${index}`));
    const answers = (await Promise.all(calls)).map(({ response }) => response.toString());
    t.strictSame(
      answers,
      Array.from({ length: 200 }, (_, index) => `call ${index}`),
    );
  });

  t.test('a message of the size limit passes, one byte more is RESOURCE_EXHAUSTED', async t => {
    const size: UnaryMethod = (request, reply) => reply.send(Buffer.from(String(request.length)));
    const { client } = await examinee.start(t, { unary: { '/s/Size': size } });
    const atLimit = await client.unary('/s/Size', Buffer.alloc(DEFAULT_MAX_MESSAGE_BYTES));
    t.equal(atLimit.response.toString(), '4194304');
    const beyond = await client.unary('/s/Size', Buffer.alloc(DEFAULT_MAX_MESSAGE_BYTES + 1));
    t.equal(beyond.status, GRPC_STATUS.resourceExhausted);
    t.equal((await client.unary('/s/Size', 'abc')).response.toString(), '3', 'the connection still serves');
  });
}

export function examineStreams(t: Test, examinee: Examinee): void {
  t.test('messages of a stream come in order, then its status', async t => {
    let closings = 0;
    const count: StreamMethod = (request, stream) => {
      stream.onClose(() => {
        closings++;
      });
      const buffer = Buffer.from(request);
      for (let digit = 1; digit <= 3; digit++) {
        buffer[0] = 48 + digit;
        stream.send(buffer);
      }
      stream.end(GRPC_STATUS.ok, '');
      stream.send(Buffer.from('after the end'));
    };
    const { client } = await examinee.start(t, {
      streaming: { '/s/Count': count },
      unary: { '/s/Echo': echo },
    });
    const reader = client.stream('/s/Count', '0');
    for (const digit of ['1', '2', '3']) t.equal((await reader.next()).toString(), digit);
    t.equal((await reader.status).code, GRPC_STATUS.ok);
    await t.rejects(reader.next(), /has ended/);
    t.equal((await client.unary('/s/Echo', 'on')).status, 0);
    t.equal(closings, 1, 'the listener is called once');
  });

  t.test('a stream can end with a status other than OK', async t => {
    const refuse: StreamMethod = (_request, stream) => stream.end(GRPC_STATUS.resourceExhausted, 'full');
    const { client } = await examinee.start(t, { streaming: { '/s/Refuse': refuse } });
    t.match(await client.stream('/s/Refuse').status, { code: 8, details: 'full' });
  });

  t.test('a stream is notified once when its caller disconnects', async t => {
    const closed = Promise.withResolvers<void>();
    let closings = 0;
    const watch: StreamMethod = (_request, stream) => {
      stream.onClose(() => {
        closings++;
        stream.send(Buffer.from('to nobody'));
        stream.end(GRPC_STATUS.ok, '');
        stream.onClose(closed.resolve);
      });
      stream.send(Buffer.from('first'));
    };
    const { client } = await examinee.start(t, {
      streaming: { '/s/Watch': watch },
      unary: { '/s/Echo': echo },
    });
    const reader = client.stream('/s/Watch');
    t.equal((await reader.next()).toString(), 'first');
    reader.cancel();
    await closed.promise;
    t.equal((await client.unary('/s/Echo', 'on')).status, 0);
    t.equal(closings, 1);
  });

  t.test('a caller who does not read is cut off', async t => {
    let sent = 0;
    const flood: StreamMethod = (_request, stream) => {
      let open = true;
      stream.onClose(() => {
        open = false;
      });
      for (sent = 0; open && sent < 10_000; sent++) stream.send(Buffer.alloc(1000));
    };
    const { server, client } = await examinee.start(t, {
      streaming: { '/s/Flood': flood },
      unary: { '/s/Echo': echo },
    });
    const session = openHttp2(server.address, 0);
    t.teardown(() => session.destroy());
    const call = callOverHttp2(session, '/s/Flood').catch(() => {});
    await new Promise(resolve => session.once('remoteSettings', resolve));
    await new Promise(resolve => session.ping(resolve));
    t.equal((await client.unary('/s/Echo', 'on')).status, 0);
    t.ok(sent > 0 && sent < 1000, `ended after ${sent} messages`);
    session.destroy();
    await call;
  });
}

export function examineFailures(t: Test, examinee: Examinee): void {
  t.test('a method that throws is answered with INTERNAL, logged, and nothing else fails', async t => {
    const broken = (): never => {
      throw new Error('the secret cause');
    };
    const { client, log } = await examinee.start(t, {
      unary: { '/s/Broken': broken, '/s/Echo': echo },
      streaming: { '/s/BrokenStream': broken },
    });
    const { status, message } = await client.unary('/s/Broken');
    t.equal(status, GRPC_STATUS.internal);
    t.notMatch(message, /secret/, 'the caller does not see the cause');
    t.equal((await client.stream('/s/BrokenStream').status).code, GRPC_STATUS.internal);
    t.match(log, [
      { level: 'error', method: '/s/Broken', error: /the secret cause/ },
      { level: 'error', method: '/s/BrokenStream', error: /the secret cause/ },
    ]);
    t.equal((await client.unary('/s/Echo', 'on')).status, 0);
  });

  examinee.test(t, 'a listener that throws is logged, and the other listeners are still called', async t => {
    const told = Promise.withResolvers<void>();
    const watch: StreamMethod = (_request, stream) => {
      stream.onClose(() => {
        throw new Error('the secret cause');
      });
      stream.onClose(told.resolve);
      stream.send(Buffer.from('first'));
    };
    const { client, log } = await examinee.start(t, {
      unary: { '/s/Echo': echo },
      streaming: { '/s/Watch': watch },
    });
    const reader = client.stream('/s/Watch');
    await reader.next();
    reader.cancel();
    await told.promise;
    t.match(log, [{ level: 'error', method: '/s/Watch', error: /the secret cause/ }]);
    t.equal((await client.unary('/s/Echo', 'on')).status, 0);
  });

  t.test('a method that throws after its answer has answered', async t => {
    const late: UnaryMethod = (_request, reply) => {
      reply.send(Buffer.from('done'));
      throw new Error('too late');
    };
    const { client, log } = await examinee.start(t, { unary: { '/s/Late': late } });
    t.match(await client.unary('/s/Late'), { status: 0, response: Buffer.from('done') });
    t.match(log, [{ error: /too late/ }]);
  });

  t.test('of two answers the first counts', async t => {
    const refuseAndSend: UnaryMethod = (_request, reply) => {
      reply.fail(GRPC_STATUS.notFound, 'first');
      reply.send(Buffer.from('second'));
    };
    const sendAndSend: UnaryMethod = (_request, reply) => {
      reply.send(Buffer.from('first'));
      reply.send(Buffer.from('second'));
      reply.fail(GRPC_STATUS.notFound, 'third');
    };
    const { client } = await examinee.start(t, {
      unary: { '/s/RefuseAndSend': refuseAndSend, '/s/SendAndSend': sendAndSend },
    });
    t.match(await client.unary('/s/RefuseAndSend'), { status: 5, message: 'first' });
    t.match(await client.unary('/s/SendAndSend'), { status: 0, response: Buffer.from('first') });
  });

  t.test(
    'a call that outlives its deadline is DEADLINE_EXCEEDED, and its late answer harms nobody',
    async t => {
      const held = new HeldCalls();
      const { server, client } = await examinee.start(t, {
        unary: { '/s/Hold': held.method, '/s/Echo': echo },
      });
      const session = openHttp2(server.address);
      t.teardown(() => session.destroy());
      const answer = await callOverHttp2(session, '/s/Hold', { 'grpc-timeout': '20m' });
      t.equal(answer['grpc-status'], '4');
      t.equal(held.replies.length, 1);
      held.replies[0].send(Buffer.from('late'));
      t.equal((await client.unary('/s/Echo', 'on')).status, 0);
      t.equal((await callOverHttp2(session, '/s/Echo'))['grpc-status'], '0', 'the connection still serves');
    },
  );

  t.test('an answer to a caller who is gone harms nobody', async t => {
    const held = new HeldCalls();
    const { server, client } = await examinee.start(t, {
      unary: { '/s/Hold': held.method, '/s/Echo': echo },
    });
    const session = openHttp2(server.address);
    const call = callOverHttp2(session, '/s/Hold').catch(() => {});
    await held.arrived(1);
    session.destroy();
    await call;
    held.replies[0].send(Buffer.from('to nobody'));
    t.equal((await client.unary('/s/Echo', 'on')).status, 0);
  });
}
