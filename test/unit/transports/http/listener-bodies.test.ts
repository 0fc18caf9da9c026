import type { Test } from 'tap';
import { TEXT_PAGE, textAnswer } from '../../../../src/transports/http/answer.ts';
import type { Route } from '../../../../src/transports/http/routes.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { onEachEngine } from './on-each-engine.ts';
import { plain, RawConnection } from './raw-connection.ts';
import { HeldRoute, hello, serve } from './serving.ts';

/** A request that waits for its answer, from a caller that does not read yet. */
async function waitingRequest(t: Test) {
  const held = new HeldRoute();
  const listener = await serve(t, [held.route], { drainMs: 5000, clock: new ManualClock(0) });
  const connection = await RawConnection.open(listener.port);
  connection.pause();
  const arrived = held.next();
  await connection.write(plain('GET', '/held'));
  return { listener, connection, exchange: await arrived };
}

onEachEngine(
  'a body larger than the socket takes arrives whole, and is in flight until it has left',
  async t => {
    const body = Buffer.alloc(16 * 1024 * 1024, 'sluice ');
    const { listener, connection, exchange } = await waitingRequest(t);
    const lent = Buffer.from(body);
    exchange.answer({ status: '200 OK', contentType: 'text/plain', body: lent });
    // The bytes were only lent for the call.
    lent.fill(0);
    t.equal(listener.inFlight, 1);
    const stopped = listener.stop();
    connection.resume();
    const response = await connection.response();
    // The clock stands still, so the connection never counts as silent: the caller closes it.
    connection.destroy();
    await stopped;
    t.equal(response.headers.get('content-length'), String(body.length));
    t.ok(body.equals(Buffer.from(response.body)));
  },
);

onEachEngine('a caller that goes away while it reads a large body is no longer in flight', async t => {
  const { listener, connection, exchange } = await waitingRequest(t);
  exchange.answer(textAnswer('x'.repeat(16 * 1024 * 1024)));
  t.equal(listener.inFlight, 1);
  connection.destroy();
  // Nothing but the end of the request resolves this: the clock stands still.
  await listener.stop();
});

/** A route whose body is made while it is read. */
function streaming(pieces: () => Iterable<string>): Route {
  return {
    path: '/long',
    method: 'GET',
    help: 'is long',
    handle: exchange => {
      exchange.stream(TEXT_PAGE, pieces()).catch(thrown => exchange.fail(thrown));
    },
  };
}

onEachEngine('a body that is made while it is read arrives whole, and the connection goes on', async t => {
  const pieces = Array.from({ length: 30_000 }, (_, i) => (i % 7 === 0 ? '' : `línea ${i}\n`));
  const listener = await serve(t, [hello, streaming(() => pieces)]);
  for (let i = 0; i < 2; i++) {
    const response = await fetch(`http://127.0.0.1:${listener.port}/long`);
    t.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8');
    t.ok((await response.text()) === pieces.join(''));
  }
  const connection = await RawConnection.openFor(t, listener.port);
  const head = await connection.ask(plain('HEAD', '/long') + plain('GET', '/hello'), 'HEAD');
  t.equal(head.status, 200);
  t.equal(head.headers.get('content-type'), 'text/plain; charset=utf-8');
  t.equal((await connection.response()).body, 'hello');
  t.equal(listener.inFlight, 0);
});

onEachEngine('a body that turns out to be short has its length, pauses or not', async t => {
  const listener = await serve(t, [streaming(() => ['a', 'b'])]);
  const response = await fetch(`http://127.0.0.1:${listener.port}/long`);
  t.equal(response.headers.get('content-length'), '2');
  const pausing = await serve(t, [streaming(() => ['', 'a', '', 'b', ''])]);
  t.equal(await (await fetch(`http://127.0.0.1:${pausing.port}/long`)).text(), 'ab');
});

onEachEngine('others run between the pieces of a long body', async t => {
  let turn = 0;
  const seen = new Set<number>();
  let counts = true;
  const count = (): void => {
    turn++;
    if (counts) setImmediate(count);
  };
  count();
  const listener = await serve(t, [
    streaming(function* () {
      for (let i = 0; i < 50; i++) {
        seen.add(turn);
        yield 'x'.repeat(20_000);
      }
      for (let i = 0; i < 50; i++) {
        seen.add(turn);
        yield '';
      }
    }),
  ]);
  const response = await fetch(`http://127.0.0.1:${listener.port}/long`);
  t.equal((await response.text()).length, 1_000_000);
  counts = false;
  t.ok(seen.size >= 90, `100 pieces were asked for in ${seen.size} turns of the event loop`);
});

onEachEngine('a body waits for its reader, and is given up when that one goes', async t => {
  let made = 0;
  const { promise: givenUp, resolve } = Promise.withResolvers<void>();
  const listener = await serve(t, [
    hello,
    streaming(function* () {
      try {
        for (;;) {
          made++;
          yield 'x'.repeat(1_000);
        }
      } finally {
        resolve();
      }
    }),
  ]);
  const reader = await RawConnection.open(listener.port);
  reader.pause();
  await reader.write(plain('GET', '/long'));
  const other = await RawConnection.openFor(t, listener.port);
  // Until the buffers of the system are full and nothing more is asked for, for as long as some other requests take.
  for (let before = -1; before !== made; ) {
    before = made;
    for (let i = 0; i < 20; i++) {
      await other.ask(plain('GET', '/hello'));
    }
  }
  t.ok(made > 0);
  t.equal(listener.inFlight, 1);
  reader.destroy();
  await givenUp;
  t.equal(listener.inFlight, 0);
});

onEachEngine('while the listener drains, a long body asks its reader to close as well', async t => {
  const listener = await serve(t, [streaming(() => Array.from({ length: 1_000 }, () => 'x'.repeat(100)))]);
  listener.drain();
  const response = await fetch(`http://127.0.0.1:${listener.port}/long`);
  t.equal(response.headers.get('connection'), 'close');
  t.equal((await response.text()).length, 100_000);
});

onEachEngine(
  'a body that cannot be produced is a 500 before it has started, and is cut off afterwards',
  async t => {
    const log = new KeepingLogger();
    let pieces = 0;
    const route = streaming(function* () {
      for (let i = 0; i < pieces; i++) yield 'x'.repeat(1_000);
      throw new Error('the secret cause');
    });
    const listener = await serve(t, [route], { log });
    const url = `http://127.0.0.1:${listener.port}/long`;
    t.equal((await fetch(url)).status, 500);
    pieces = 1_000;
    await t.rejects((await fetch(url)).text());
    const failed = { level: 'error', fields: { error: /the secret cause/ } };
    t.match(log.lines, [failed, failed]);
    t.equal(listener.inFlight, 0);
  },
);
