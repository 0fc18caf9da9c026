import t from 'tap';
import { connectionsDownTo, serveOwn } from '../../support/own-server.ts';
import { until } from '../../support/until.ts';
import { WireClient } from '../../support/wire-client.ts';
import {
  continuation,
  data,
  FLAGS,
  fieldBlock,
  grpcFields,
  grpcMessage,
  headers,
} from '../../support/wire-frames.ts';
import { isServed } from './attack.ts';

/*
 * What is kept of frames and header sections whose end has not come.
 */

const REQUEST = fieldBlock(grpcFields('/s/Echo'));
const MESSAGE = grpcMessage(Buffer.alloc(16_000));

/** All of a call but its last octet, which ends its only DATA frame. */
const CUT_CALL = Buffer.concat([headers(1, REQUEST), data(1, MESSAGE, FLAGS.endStream)]).subarray(0, -1);

/** A header section without its end; what it says makes it no less long. */
const CUT_SECTION = Buffer.concat([
  headers(1, REQUEST, 0),
  ...Array.from({ length: 3 }, () => continuation(1, fieldBlock([['x', 'x'.repeat(16_000)]]))),
]);

t.test('they count as held until their end has come', async t => {
  const { server } = await serveOwn(t);
  const client = await WireClient.open(t, server.address);
  for (const [cut, least] of [
    [CUT_CALL, 16_000],
    [CUT_SECTION, 48_000],
  ] as const) {
    const client = await WireClient.open(t, server.address);
    client.send(cut);
    await until(() => server.heldBytes >= least);
    t.ok(server.heldBytes < 3 * least, `${server.heldBytes} bytes`);
    client.socket.destroy();
    await connectionsDownTo(server, 1);
    t.equal(server.heldBytes, 0, 'and no longer than their connection');
  }
  client.send(CUT_CALL);
  await until(() => server.heldBytes !== 0);
  client.send(MESSAGE.subarray(-1));
  t.ok((await client.answer(1)).content.equals(MESSAGE));
  t.equal(server.heldBytes, 0);
});

for (const [name, cut] of [
  ['frames', CUT_CALL],
  ['header sections', CUT_SECTION],
] as const) {
  t.test(
    `connections with ${name} that lack their end are cut before there is no room for others`,
    async t => {
      const maxHeldBytes = 1_000_000;
      const serving = await serveOwn(t, { limits: { maxHeldBytes } });
      const { server, log, clock } = serving;
      await isServed(t, serving);
      let worst = 0;
      for (let round = 0; round < 100; round++) {
        const client = await WireClient.open(t, server.address);
        client.send(cut);
        await isServed(t, serving);
        worst = Math.max(worst, server.heldBytes);
      }
      t.ok(worst > maxHeldBytes / 2 && worst <= maxHeldBytes, `${worst} bytes at most`);
      clock.advance(1_000);
      const [cutLine] = log.filter(({ level }) => level === 'warning');
      t.match(cutLine, {
        '@message': 'Closed gRPC connections to free memory',
        reason: /unfinished requests/,
      });
    },
  );
}

t.test('a connection at fault releases them before it is closed', async t => {
  const { server, clock } = await serveOwn(t);
  const client = await WireClient.open(t, server.address);
  client.send(CUT_SECTION);
  await until(() => server.heldBytes !== 0);
  clock.advance(20_000);
  await client.goAway();
  t.equal(server.heldBytes, 0);
});
