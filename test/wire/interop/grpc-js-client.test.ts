import { randomBytes } from 'node:crypto';
import { compressionAlgorithms } from '@grpc/grpc-js';
import t from 'tap';
import type { StreamMethod } from '../../../src/grpc/service.ts';
import { HeldCalls } from '../../exam/grpc-examinee.ts';
import { GrpcClient } from '../../support/grpc-client.ts';
import { serveOwn } from '../../support/own-server.ts';
import { TRANSPORTS } from './transports.ts';

for (const [transport, listen] of Object.entries(TRANSPORTS)) {
  t.test(`on ${transport}, calls of many connections run at once, each with its answer`, async t => {
    const { server } = await serveOwn(t, { options: { listen: listen(t) } });
    const clients = Array.from({ length: 8 }, () => new GrpcClient(server.address));
    const calls = clients.flatMap((client, i) =>
      Array.from({ length: 100 }, async (_, j) => {
        const text = `client ${i}, call ${j} `.repeat(1 + ((i * j) % 50));
        const { response } = await client.unary('/s/Echo', text);
        return response.toString() === text;
      }),
    );
    t.ok((await Promise.all(calls)).every(isRight => isRight));
    t.equal(server.connectionCount, 8);
    for (const client of clients) client.close();
  });

  t.test(`on ${transport}, deadlines and cancellation end calls on both sides`, async t => {
    const held = new HeldCalls();
    const closed: Promise<void>[] = [];
    const watch: StreamMethod = (_request, stream) => {
      stream.send(Buffer.from('begun'));
      closed.push(new Promise(resolve => stream.onClose(resolve)));
    };
    const { server, honest } = await serveOwn(t, {
      options: { listen: listen(t) },
      unary: { '/s/Hold': held.method },
      streaming: { '/s/Watch': watch },
    });
    t.equal((await honest.unary('/s/Hold', '', { deadline: Date.now() + 20 })).status, 4);
    const streams = Array.from({ length: 10 }, () => honest.stream('/s/Watch'));
    for (const stream of streams) t.equal((await stream.next()).toString(), 'begun');
    for (const stream of streams) stream.cancel();
    await Promise.all(closed);
    t.equal((await honest.unary('/s/Echo', 'on')).status, 0);
    t.equal(server.streamCount, 0);
  });

  t.test(`on ${transport}, a stream of ten thousand messages comes whole and in order`, async t => {
    const count: StreamMethod = (_request, stream) => {
      let next = 0;
      const more = (): void => {
        for (let i = 0; i < 100; i++) stream.send(Buffer.from(String(next++)));
        if (next < 10_000) setImmediate(more);
        else stream.end(0, '');
      };
      more();
    };
    const { honest } = await serveOwn(t, {
      options: { listen: listen(t) },
      streaming: { '/s/Count': count },
    });
    const stream = honest.stream('/s/Count');
    let right = 0;
    for (; right < 10_000 && (await stream.next()).toString() === String(right); right++);
    t.equal(right, 10_000);
    t.equal((await stream.status).code, 0);
  });

  t.test(`on ${transport}, messages up to the limit pass, also many at once`, async t => {
    const { honest } = await serveOwn(t, { options: { listen: listen(t) } });
    const sizes = [0, 1, 16_379, 16_380, 65_535, 65_536, 1_000_000, 4_194_304];
    const messages = sizes.map(size => Buffer.alloc(size, `${size} `));
    const answers = await Promise.all(messages.map(message => honest.unary('/s/Echo', message)));
    for (const [i, { response }] of answers.entries())
      t.ok(response.equals(messages[i]), `${sizes[i]} bytes`);
  });

  t.test(`on ${transport}, a client may compress its messages`, async t => {
    const { server } = await serveOwn(t, { options: { listen: listen(t) } });
    const client = new GrpcClient(server.address, undefined, {
      'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
    });
    const messages = ['', 'x'.repeat(10_000), randomBytes(2_000_000)].map(text => Buffer.from(text));
    const answers = await Promise.all(messages.map(message => client.unary('/s/Echo', message)));
    for (const [i, { response }] of answers.entries())
      t.ok(response.equals(messages[i]), `${messages[i].length} bytes`);
    client.close();
  });
}
