import type { Test } from 'tap';
import { GRPC_STATUS, type UnaryMethod } from '../../src/grpc/service.ts';
import { WireClient } from '../support/wire-client.ts';
import {
  data,
  FLAGS,
  fieldBlock,
  grpcCall,
  grpcFields,
  grpcMessage,
  headers,
  literal,
  rstStream,
  TYPE,
  windowUpdate,
} from '../support/wire-frames.ts';
import { type Examinee, echo, HeldCalls } from './grpc-examinee.ts';

const REQUEST = fieldBlock(grpcFields('/s/Echo'));

/** How a message may come over the wire ("gRPC over HTTP2", Requests). */
export function examineMessages(t: Test, examinee: Examinee): void {
  examinee.test(t, 'a message may be split over frames of one octet', async t => {
    const { server } = await examinee.start(t, { unary: { '/s/Echo': echo } });
    const client = await WireClient.open(t, server.address);
    const message = grpcMessage('split in many');
    const frames = [...message].map(octet => data(1, Buffer.from([octet])));
    client.send(headers(1, REQUEST), ...frames, data(1, Buffer.alloc(0), FLAGS.endStream));
    const { fields, content } = await client.answer(1);
    t.match(fields, { ':status': '200', 'grpc-status': '0', 'content-type': /^application\/grpc/ });
    t.strictSame(content, message);
  });

  examinee.test(
    t,
    'frames of many calls may come interleaved, with padding and nothing in between',
    async t => {
      const { server } = await examinee.start(t, { unary: { '/s/Echo': echo } });
      const client = await WireClient.open(t, server.address);
      const ids = Array.from({ length: 20 }, (_, i) => 2 * i + 1);
      client.send(...ids.map(id => headers(id, REQUEST)));
      const padded = (part: Uint8Array): Buffer => Buffer.concat([Buffer.from([3]), part, Buffer.alloc(3)]);
      for (const cut of [2, 5, 6]) {
        const message = (id: number): Buffer => grpcMessage(`call ${id}`);
        const from = cut === 2 ? 0 : cut === 5 ? 2 : 5;
        client.send(
          ...ids.map(id => data(id, padded(message(id).subarray(from, cut)), FLAGS.padded)),
          ...ids.map(id => data(id)),
        );
      }
      for (const id of ids.toReversed())
        client.send(data(id, grpcMessage(`call ${id}`).subarray(6), FLAGS.endStream));
      for (const id of ids) t.equal((await client.answer(id)).content.toString('utf8', 5), `call ${id}`);
    },
  );

  examinee.test(t, 'an empty frame may end the request behind its message', async t => {
    const { server } = await examinee.start(t, { unary: { '/s/Echo': echo } });
    const client = await WireClient.open(t, server.address);
    client.send(headers(1, REQUEST), data(1, grpcMessage('abc')));
    await client.settled();
    t.notOk(
      client.frames.some(({ stream, type }) => stream === 1 && type === TYPE.headers),
      'nothing is answered before the end',
    );
    client.send(data(1, Buffer.alloc(0), FLAGS.endStream));
    t.match(await client.answer(1), { fields: { 'grpc-status': '0' }, content: grpcMessage('abc') });
  });

  examinee.test(t, 'trailers may end the request', async t => {
    const { server } = await examinee.start(t, { unary: { '/s/Echo': echo } });
    const client = await WireClient.open(t, server.address);
    const trailers = fieldBlock([['some-trailer', 'value']]);
    client.send(
      headers(1, REQUEST),
      data(1, grpcMessage('abc')),
      headers(1, trailers, FLAGS.endHeaders | FLAGS.endStream),
    );
    t.match(await client.answer(1), { fields: { 'grpc-status': '0' }, content: grpcMessage('abc') });
  });

  examinee.test(
    t,
    'a call that is reset in the middle of its message leaves the connection as it was',
    async t => {
      const held = new HeldCalls();
      const { server } = await examinee.start(t, { unary: { '/s/Echo': echo, '/s/Hold': held.method } });
      const client = await WireClient.open(t, server.address);
      const holding = fieldBlock(grpcFields('/s/Hold'));
      client.send(headers(1, REQUEST), data(1, grpcMessage('abc').subarray(0, 6)), rstStream(1));
      client.send(headers(3, REQUEST), data(3, grpcMessage('abc').subarray(0, 3)), rstStream(3));
      client.send(headers(5, REQUEST), rstStream(5));
      client.send(headers(7, holding), data(7, grpcMessage('abc'), FLAGS.endStream), rstStream(7));
      await held.arrived(1);
      client.send(grpcCall(9, '/s/Echo', 'on'));
      t.match(await client.answer(9), { fields: { 'grpc-status': '0' }, content: grpcMessage('on') });
      held.replies[0].send(Buffer.from('to nobody'));
      t.equal(await client.call(11, '/s/Echo'), '0');
      t.notOk(client.frames.some(({ stream, type }) => stream < 9 && stream > 0 && type === TYPE.headers));
    },
  );

  examinee.test(t, 'frames that a client had queued before it reset a call cost no other call', async t => {
    const { server } = await examinee.start(t, { unary: { '/s/Echo': echo } });
    const client = await WireClient.open(t, server.address);
    const cancelled = (id: number): Buffer =>
      Buffer.concat([
        headers(id, REQUEST),
        rstStream(id),
        windowUpdate(id, 100),
        data(id, grpcMessage(Buffer.alloc(16_000)), FLAGS.endStream),
      ]);
    // Together three times the window of the connection, in turn with calls that are answered.
    const calls = Math.ceil((3 * 4 * 1_048_576) / 16_000);
    for (let call = 0; call < calls; call++) {
      const id = 4 * call + 1;
      client.send(cancelled(id), grpcCall(id + 2, '/s/Echo', 'on'));
      t.equal((await client.answer(id + 2)).fields['grpc-status'], '0');
    }
    t.notOk(client.frames.some(({ type }) => type === TYPE.goAway));
  });

  examinee.test(t, 'trailers behind a reset still count for the compression of headers', async t => {
    const { server } = await examinee.start(t, { unary: { '/s/Echo': echo } });
    const client = await WireClient.open(t, server.address);
    const path = Buffer.concat([Buffer.from([0x44]), literal('/s/Echo')]); // :path, and into the dynamic table
    const rest = fieldBlock(grpcFields('/s/Echo').filter(([name]) => name !== ':path'));
    const trailers = Buffer.concat([Buffer.from([0x40]), literal('some-trailer'), literal('value')]);
    client.send(
      headers(1, Buffer.concat([path, rest])),
      rstStream(1),
      headers(1, trailers, FLAGS.endHeaders | FLAGS.endStream),
      // 0xbf is the second entry of the dynamic table: the path, because the trailer is the first.
      headers(3, Buffer.concat([Buffer.from([0xbf]), rest])),
      data(3, grpcMessage('on'), FLAGS.endStream),
    );
    t.match(await client.answer(3), { fields: { 'grpc-status': '0' }, content: grpcMessage('on') });
  });

  examinee.test(t, 'large messages pass both ways through small windows', async t => {
    const { client } = await examinee.start(t, { unary: { '/s/Echo': echo } });
    const largest = Buffer.alloc(4 * 1_048_576, 'largest ');
    t.ok(largest.equals((await client.unary('/s/Echo', largest)).response), 'as large as is allowed');
    const calls = Array.from({ length: 24 }, (_, i) => client.unary('/s/Echo', Buffer.alloc(300_000 + i, i)));
    for (const [i, { response }] of (await Promise.all(calls)).entries())
      t.ok(response.equals(Buffer.alloc(300_000 + i, i)), `one of many, ${response.length} bytes`);
  });
}

/** Requests that are not exactly one message, and their answers. */
export function examineWrongMessages(t: Test, examinee: Examinee): void {
  const one = grpcMessage('abc');
  const cases: [name: string, content: Buffer, status: string][] = [
    ['no message is UNIMPLEMENTED', Buffer.alloc(0), '12'],
    ['two messages are UNIMPLEMENTED', Buffer.concat([one, one]), '12'],
    ['a message and a half is UNIMPLEMENTED', Buffer.concat([one, one.subarray(0, 6)]), '12'],
    ['part of a prefix is INTERNAL', one.subarray(0, 3), '13'],
    ['part of a message is INTERNAL', one.subarray(0, 7), '13'],
    ['a flag that is neither 0 nor 1 is INTERNAL', grpcMessage('abc', 7), '13'],
  ];
  for (const [name, content, status] of cases) {
    examinee.test(t, name, async t => {
      let calls = 0;
      const count: UnaryMethod = (_request, reply) => {
        calls++;
        reply.send(Buffer.alloc(0));
      };
      const { server } = await examinee.start(t, { unary: { '/s/Count': count } });
      const client = await WireClient.open(t, server.address);
      const block = fieldBlock(grpcFields('/s/Count'));
      client.send(headers(1, block), data(1, content, FLAGS.endStream));
      t.match((await client.answer(1)).fields, { ':status': '200', 'grpc-status': status });
      client.send(headers(3, block), ...[...content].map(octet => data(3, Buffer.from([octet]))));
      client.send(data(3, Buffer.alloc(0), FLAGS.endStream));
      t.match((await client.answer(3)).fields, { 'grpc-status': status }, 'octet by octet');
      t.equal(calls, 0, 'the method is not called');
      t.equal(await client.call(5, '/s/Count'), '0', 'the connection still serves');
    });
  }

  examinee.test(t, 'a request of headers alone has no message and is UNIMPLEMENTED', async t => {
    const { server } = await examinee.start(t, { unary: { '/s/Echo': echo } });
    const client = await WireClient.open(t, server.address);
    client.send(headers(1, REQUEST, FLAGS.endHeaders | FLAGS.endStream));
    t.equal((await client.answer(1)).fields['grpc-status'], '12');
  });

  examinee.test(t, 'a message beyond the limit is refused as soon as its length is known', async t => {
    const { server } = await examinee.start(t, { unary: { '/s/Echo': echo } }, { maxMessageBytes: 1_000 });
    const client = await WireClient.open(t, server.address);
    const prefix = Buffer.from([0, 0, 0, 0x03, 0xe9]);
    client.send(headers(1, REQUEST), data(1, prefix));
    t.equal((await client.answer(1)).fields['grpc-status'], String(GRPC_STATUS.resourceExhausted));
    t.equal(await client.call(3, '/s/Echo', 'x'.repeat(1_000)), '0');
    t.equal(await client.call(5, '/s/Echo', 'x'.repeat(1_001)), '8');
  });
}

/** Valid and invalid header sections of calls. */
export function examineHeaders(t: Test, examinee: Examinee): void {
  const fieldsOf = async (t: Test, other: Record<string, string>, held = new HeldCalls()) => {
    const { server } = await examinee.start(t, { unary: { '/s/Echo': echo, '/s/Hold': held.method } });
    const client = await WireClient.open(t, server.address);
    client.send(
      headers(1, fieldBlock(grpcFields('/s/Echo', other))),
      data(1, grpcMessage(), FLAGS.endStream),
    );
    const { fields } = await client.answer(1);
    t.equal(await client.call(3, '/s/Echo'), '0', 'the connection still serves');
    return fields;
  };

  for (const type of ['application/json', 'application/grpc-web', 'application/grpcx', '']) {
    examinee.test(t, `the content type "${type}" is answered with 415`, async t => {
      t.match(await fieldsOf(t, { 'content-type': type }), { ':status': '415' });
    });
  }

  const grpcTypes = ['application/grpc+proto', 'application/grpc;charset=utf-8', 'Application/GRPC'];
  for (const type of grpcTypes) {
    examinee.test(t, `the content type "${type}" is one of gRPC`, async t => {
      t.match(await fieldsOf(t, { 'content-type': type }), { ':status': '200', 'grpc-status': '0' });
    });
  }

  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT']) {
    examinee.test(t, `the method ${method} is answered with 405 and the one that is allowed`, async t => {
      t.match(await fieldsOf(t, { ':method': method }), { ':status': '405', allow: 'POST' });
    });
  }

  for (const timeout of ['1', 'S', '123456789S', '1s', '-1S', '1.5S']) {
    examinee.test(t, `the timeout "${timeout}" is INTERNAL`, async t => {
      t.match(await fieldsOf(t, { 'grpc-timeout': timeout }), { ':status': '200', 'grpc-status': '13' });
    });
  }

  examinee.test(t, 'the longest timeouts leave a call its time', async t => {
    const held = new HeldCalls();
    const { server } = await examinee.start(t, { unary: { '/s/Hold': held.method } });
    const client = await WireClient.open(t, server.address);
    for (const [i, timeout] of ['99999999H', '99999999M', '99999999S', '2147484S'].entries()) {
      const block = fieldBlock(grpcFields('/s/Hold', { 'grpc-timeout': timeout }));
      client.send(headers(2 * i + 1, block), data(2 * i + 1, grpcMessage(), FLAGS.endStream));
    }
    await held.arrived(4);
    // A timer that overflowed, or was cut to nothing, would fire before the one of this later call.
    const block = fieldBlock(grpcFields('/s/Hold', { 'grpc-timeout': '20m' }));
    client.send(headers(9, block), data(9, grpcMessage(), FLAGS.endStream));
    t.equal((await client.answer(9)).fields['grpc-status'], '4');
    for (const reply of held.replies) reply.send(Buffer.alloc(0));
    for (const id of [1, 3, 5, 7]) t.equal((await client.answer(id)).fields['grpc-status'], '0');
  });

  examinee.test(t, 'a deadline also ends a call whose message has not come', async t => {
    const { server } = await examinee.start(t, { unary: { '/s/Echo': echo } });
    const client = await WireClient.open(t, server.address);
    const block = fieldBlock(grpcFields('/s/Echo', { 'grpc-timeout': '10m' }));
    client.send(headers(1, block), data(1, grpcMessage('abc').subarray(0, 6)));
    t.equal((await client.answer(1)).fields['grpc-status'], '4');
    client.send(data(1, grpcMessage('abc').subarray(6), FLAGS.endStream));
    t.equal(await client.call(3, '/s/Echo'), '0', 'the rest of the message harms nobody');
  });
}
