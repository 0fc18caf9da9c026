import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { textAnswer } from '../../../../src/transports/http/answer.ts';
import type { Exchange } from '../../../../src/transports/http/exchange.ts';
import { REQUEST_WORK } from '../../../../src/transports/http/request-turns.ts';
import type { Route } from '../../../../src/transports/http/routes.ts';
import { freePort } from '../../../support/free-port.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { holdSharedPort } from '../../../support/shared-port.ts';
import { onEachEngine } from './on-each-engine.ts';
import { plain, post, RawConnection } from './raw-connection.ts';
import { HeldRoute, hello, listenerFor, serve } from './serving.ts';

onEachEngine('port 0 takes a free port, which is available until the listener stops', async t => {
  const listener = listenerFor([hello]);
  t.equal(listener.port, 0);
  await listener.start();
  const { port } = listener;
  t.ok(port > 0);
  t.equal(await (await fetch(`http://127.0.0.1:${port}/hello`)).text(), 'hello');
  await listener.stop();
  t.equal(listener.port, 0);
  await t.rejects(RawConnection.open(port), { code: 'ECONNREFUSED' });
});

onEachEngine('stopping before starting, and twice, is harmless; a stopped listener starts again', async t => {
  const listener = listenerFor([hello]);
  await listener.stop();
  await listener.start();
  await Promise.all([listener.stop(), listener.stop()]);
  await listener.start();
  t.ok(listener.port > 0);
  await listener.stop();
});

onEachEngine('a stop while the port is being opened closes it', async t => {
  const port = await freePort();
  const listener = listenerFor([hello], { port });
  const started = listener.start();
  await listener.stop();
  await started;
  t.equal(listener.port, 0);
  await t.rejects(RawConnection.open(port), { code: 'ECONNREFUSED' });
});

onEachEngine('a stop while a port that is taken is tried waits for the failure', async t => {
  const { port } = await serve(t, [hello]);
  const listener = listenerFor([hello], { port });
  const started = t.rejects(listener.start(), /another process listens on this port/);
  await Promise.all([started, listener.stop()]);
  t.equal(listener.port, 0);
});

onEachEngine('a port is its alone: no second listener opens it, one that shares included', async t => {
  const { port } = await serve(t, [hello]);
  await t.rejects(listenerFor([hello], { port }).start(), /another process listens on this port/);
  await t.rejects(listenerFor([hello], { port, shared: true }).start(), /without SHARE_PORTS=true/);
  t.equal(await (await fetch(`http://127.0.0.1:${port}/hello`)).text(), 'hello');
});

onEachEngine(
  'trying over and over to open a port that is taken costs no memory, and then it opens',
  async t => {
    const holder = listenerFor([hello]);
    await holder.start();
    const { port } = holder;
    const listener = listenerFor([hello], { port });
    const tryTimes = async (times: number) => {
      for (let i = 0; i < times; i++) await listener.start().catch(() => {});
      return process.memoryUsage().rss;
    };
    const before = await tryTimes(200);
    const grown = (await tryTimes(4_000)) - before;
    t.ok(grown < 40e6, `it grew by ${grown} bytes; an app for each try would be 100 MB`);
    await holder.stop();
    await listener.start();
    t.teardown(() => listener.stop());
    t.equal(await (await fetch(`http://127.0.0.1:${port}/hello`)).text(), 'hello');
  },
);

onEachEngine('listeners that share a port open it side by side, and keep out one that does not', async t => {
  const { port, release } = await holdSharedPort();
  t.teardown(release);
  const first = await serve(t, [hello], { port, shared: true });
  const second = await serve(t, [hello], { port, shared: true });
  t.same([first.port, second.port], [port, port]);
  await t.rejects(listenerFor([hello], { port }).start(), /another process listens on this port/);
});

onEachEngine('a shared port is found on every address too', async t => {
  const { port, release } = await holdSharedPort();
  const listener = await serve(t, [hello], { host: '', port, shared: true });
  await release();
  t.equal(await (await fetch(`http://127.0.0.1:${listener.port}/hello`)).text(), 'hello');
});

onEachEngine(
  'a port that closed is open again at once, although connections to it have just ended',
  async t => {
    const port = await freePort();
    const listener = await serve(t, [hello], { port });
    await (await fetch(`http://127.0.0.1:${port}/hello`)).text();
    await listener.stop();
    await serve(t, [hello], { port });
  },
);

onEachEngine('an empty host listens on every address', async t => {
  const listener = await serve(t, [hello], { host: '' });
  t.equal((await fetch(`http://127.0.0.1:${listener.port}/hello`)).status, 200);
});

onEachEngine('a port that another program holds is named together with the settings to change', async t => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  t.teardown(() => holder.close());
  const { port } = holder.address() as AddressInfo;
  const listener = listenerFor([hello], { port });
  await t.rejects(listener.start(), {
    message: `cannot listen on 127.0.0.1:${port} (EADDRINUSE): another process listens on this port; stop it, or set PORT to a free port, or start every process with SHARE_PORTS=true to share the port`,
  });
  t.equal(listener.port, 0);
  await listener.stop();
});

onEachEngine('a host that is no address of this machine is refused, an IPv6 one in brackets', async t => {
  // RFC 3849 sets this block aside for documentation.
  const listener = listenerFor([hello], { host: '2001:db8::1', port: 8080 });
  await t.rejects(listener.start(), {
    message: /cannot listen on \[2001:db8::1\]:8080 \(EADDRNOTAVAIL\): .* set HOST to one that it has/,
  });
});

onEachEngine('stop lets a running request finish and asks its caller to close', async t => {
  const held = new HeldRoute();
  const listener = await serve(t, [held.route], { drainMs: 5000, clock: new ManualClock(0) });
  const connection = await RawConnection.open(listener.port);
  const exchange = await held.askedBy(connection);
  t.equal(listener.inFlight, 1);
  const stopped = listener.stop();
  exchange.answer(textAnswer('done'));
  const response = await connection.response();
  t.equal(response.body, 'done');
  t.equal(response.headers.get('connection'), 'close');
  await connection.closed();
  await stopped;
});

onEachEngine('an answer written in the very turn that ends the wait still reaches its caller', async t => {
  const held = new HeldRoute();
  const last: Route = {
    ...hello,
    path: '/last',
    handle: exchange => {
      first.answer(textAnswer('first'));
      exchange.answer(textAnswer('last'));
    },
  };
  const listener = await serve(t, [held.route, last], { drainMs: 5000, clock: new ManualClock(0) });
  const [waiting, other] = [await RawConnection.open(listener.port), await RawConnection.open(listener.port)];
  const first = await held.askedBy(waiting);
  const stopped = listener.stop();
  await other.write(plain('GET', '/last'));
  t.equal((await waiting.response()).body, 'first');
  t.equal((await other.response()).body, 'last');
  await stopped;
});

onEachEngine(
  'stop cuts off what is not answered within the bound, and a late answer goes nowhere',
  async t => {
    const clock = new ManualClock(0);
    const held = new HeldRoute();
    const listener = await serve(t, [held.route], { drainMs: 5000, clock });
    const connection = await RawConnection.open(listener.port);
    const exchange = await held.askedBy(connection);
    let gone = 0;
    exchange.onGone(() => gone++);
    const stopped = listener.stop();
    t.ok(clock.pendingDelaysMs.includes(5000));
    clock.advance(5000);
    await stopped;
    await connection.closed();
    t.equal(gone, 1);
    t.equal(connection.unread, '');
    t.doesNotThrow(() => exchange.answer(textAnswer('late')));
  },
);

onEachEngine('a draining listener serves on and asks every caller to close', async t => {
  const listener = await serve(t, [hello]);
  const [getter, asker] = [await RawConnection.open(listener.port), await RawConnection.open(listener.port)];
  t.equal((await getter.ask(plain('GET', '/hello'))).headers.get('connection'), undefined);
  listener.drain();
  t.match(await getter.ask(plain('GET', '/hello')), { status: 200, body: 'hello' });
  await getter.closed();
  t.equal((await asker.ask(plain('HEAD', '/hello'), 'HEAD')).headers.get('connection'), 'close');
  asker.destroy();
});

onEachEngine(
  'a request that is sent while the listener stops is answered, and asks its caller to close',
  async t => {
    const listener = await serve(t, [hello], { drainMs: 5000, clock: new ManualClock(0) });
    const connection = await RawConnection.open(listener.port);
    await connection.ask(plain('GET', '/hello'));
    const stopped = listener.stop();
    t.equal((await connection.ask(plain('GET', '/hello'))).headers.get('connection'), 'close');
    await connection.closed();
    await stopped;
  },
);

onEachEngine(
  'stop waits for callers that still ask, and closes connections that have been silent',
  async t => {
    const clock = new ManualClock(0);
    const held = new HeldRoute();
    const listener = await serve(t, [hello, held.route], { drainMs: 5000, clock });
    const [silent, slow] = [await RawConnection.open(listener.port), await RawConnection.open(listener.port)];
    for (const connection of [silent, slow]) {
      await connection.ask(plain('GET', '/hello'));
    }
    let isStopped = false;
    const stopped = listener.stop().then(() => {
      isStopped = true;
    });
    const exchange = await held.askedBy(slow);
    for (let silences = 0; silences < 3; silences++) {
      clock.advance(100);
      await nextTurn();
    }
    exchange.answer(textAnswer('done'));
    t.equal((await slow.response()).body, 'done');
    t.notOk(isStopped);
    clock.advance(100);
    await Promise.all([stopped, silent.closed(), slow.closed()]);
  },
);

onEachEngine('a shared port is closed when draining begins, and its connections are served on', async t => {
  const port = await freePort();
  const listener = await serve(t, [hello], { port, shared: true });
  const connection = await RawConnection.open(port);
  await connection.ask(plain('GET', '/hello'));
  listener.drain();
  await t.rejects(RawConnection.open(port), { code: 'ECONNREFUSED' });
  t.equal(listener.port, port);
  t.equal((await connection.ask(plain('GET', '/hello'))).headers.get('connection'), 'close');
});

onEachEngine('a port that only threads of one process share stays open while they drain', async t => {
  const port = await freePort();
  const options = { port, shared: true, closesToDrain: false };
  const listeners = [await serve(t, [hello], options), await serve(t, [hello], options)];
  for (const listener of listeners) listener.drain();
  const connection = await RawConnection.open(port);
  t.match(await connection.ask(plain('GET', '/hello')), { status: 200, body: 'hello' });
  await connection.closed();
});

onEachEngine(
  'a request whose caller goes away is no longer in flight, and its answer goes nowhere',
  async t => {
    const held = new HeldRoute();
    const listener = await serve(t, [held.route], { drainMs: 5000, clock: new ManualClock(0) });
    const connection = await RawConnection.open(listener.port);
    const exchange = await held.askedBy(connection);
    const gone = new Promise<void>(resolve => exchange.onGone(resolve));
    connection.destroy();
    await gone;
    t.equal(listener.inFlight, 0);
    exchange.answer(textAnswer('late'));
    t.equal(listener.inFlight, 0);
  },
);

onEachEngine('only the first answer is written', async t => {
  const twice: Route = {
    ...hello,
    handle: exchange => {
      exchange.answer(textAnswer('first'));
      exchange.answer(textAnswer('second'));
    },
  };
  const listener = await serve(t, [twice, { ...hello, path: '/other' }]);
  const connection = await RawConnection.open(listener.port);
  t.equal((await connection.ask(plain('GET', '/hello') + plain('GET', '/other'))).body, 'first');
  t.equal((await connection.response()).body, 'hello');
  connection.destroy();
});

onEachEngine('a handler that throws costs its request a 500 and a line in the log', async t => {
  const log = new KeepingLogger();
  const broken: Route = {
    ...hello,
    path: '/broken',
    handle: () => {
      throw new Error('the secret cause');
    },
  };
  const listener = await serve(t, [hello, broken], { log });
  const response = await fetch(`http://127.0.0.1:${listener.port}/broken`);
  t.equal(response.status, 500);
  t.same(await response.json(), {
    error: { code: 'internal', message: 'internal error; see the log of the service for the cause' },
  });
  t.match(log.lines, [{ level: 'error', fields: { error: /the secret cause/ } }]);
  t.equal((await fetch(`http://127.0.0.1:${listener.port}/hello`)).status, 200);
});

onEachEngine('other methods than that of the path get 405 with those that it serves', async t => {
  const listener = await serve(t, [hello, { ...hello, path: '/send', method: 'POST' }]);
  const connection = await RawConnection.open(listener.port);
  const toGet = await connection.ask(post('/hello', 'ignored'));
  t.equal(toGet.status, 405);
  t.equal(toGet.headers.get('allow'), 'GET, HEAD');
  t.same(JSON.parse(toGet.body), {
    error: { code: 'method_not_allowed', message: '/hello serves GET, HEAD only' },
  });
  for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND']) {
    const response = await connection.ask(plain(method, '/send'));
    t.equal(response.status, 405, method);
    t.equal(response.headers.get('allow'), 'POST', method);
  }
  connection.destroy();
});

onEachEngine('paths are compared exactly; every other path is a 404 that lists those there are', async t => {
  const listener = await serve(t, [hello, { ...hello, path: '/send', method: 'POST' }]);
  const connection = await RawConnection.open(listener.port);
  for (const path of ['/', '//hello', '/hello/', '/hello/more', '/Hello', '/%68ello', '/./hello']) {
    const response = await connection.ask(plain('GET', path));
    t.equal(response.status, 404, path);
    t.equal(response.headers.get('content-type'), 'application/problem+json');
    t.same(JSON.parse(response.body), {
      type: 'about:blank',
      title: 'Not Found',
      status: 404,
      detail: 'There is no such path. Available paths: GET /hello, POST /send.',
    });
  }
  t.equal((await connection.ask(plain('GET', '/hello?and=more'))).status, 200);
  connection.destroy();
});

/** A route whose requests wait for one turn after the other, and keep those busy that come after them. */
function waiting(turns: number): Route {
  const wait = (exchange: Exchange, left: number): void => {
    if (left === 0) exchange.answer(textAnswer('waited'));
    else exchange.waitForTurn(REQUEST_WORK, () => wait(exchange, left - 1));
  };
  return { path: '/wait', method: 'GET', help: 'waits', handle: exchange => wait(exchange, turns) };
}

onEachEngine('connections that are opened while others wait for their turn are all served', async t => {
  const listener = await serve(t, [hello, waiting(500)]);
  const busy = await RawConnection.openFor(t, listener.port);
  await busy.write(plain('GET', '/wait'));
  const answers = Array.from({ length: 50 }, async () => {
    const connection = await RawConnection.openFor(t, listener.port);
    return (await connection.ask(plain('GET', '/hello'))).status;
  });
  t.strictSame(new Set(await Promise.all(answers)), new Set([200]));
  t.equal((await busy.response()).body, 'waited');
});

onEachEngine('stop closes connections that have not had a turn yet', async t => {
  const listener = await serve(t, [hello, waiting(1_000_000)]);
  const busy = await RawConnection.open(listener.port);
  await busy.write(plain('GET', '/wait'));
  const others = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(listener.port)));
  await listener.stop();
  await Promise.all([busy, ...others].map(connection => connection.closed()));
});
