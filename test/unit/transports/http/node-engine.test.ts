import t, { type Test } from 'tap';
import { TEXT_PAGE, textAnswer } from '../../../../src/transports/http/answer.ts';
import { readBody } from '../../../../src/transports/http/body.ts';
import type { HttpListener } from '../../../../src/transports/http/listener.ts';
import { nodeEngine } from '../../../../src/transports/http/node/node-server.ts';
import type { Route } from '../../../../src/transports/http/routes.ts';
import { plain, RawConnection } from './raw-connection.ts';
import { HeldRoute, hello, serve } from './serving.ts';

/** Short, so that the test does not wait for long; what the tests find out does not depend on it. */
const IDLE_MS = 500;

const echo: Route = {
  path: '/echo',
  method: 'POST',
  help: 'answers what it gets',
  handle: exchange => readBody(exchange, body => exchange.answer(textAnswer(Buffer.from(body).toString()))),
};

function listen(t: Test, routes: readonly Route[], idleMs = IDLE_MS): Promise<HttpListener> {
  return serve(t, routes, { engine: nodeEngine({ maxHeaderBytes: 16_384, idleMs }) });
}

async function connectTo(t: Test, routes: readonly Route[], idleMs = IDLE_MS): Promise<RawConnection> {
  const listener = await listen(t, routes, idleMs);
  const connection = await RawConnection.openFor(t, listener.port);
  return connection;
}

async function isTimedOut(t: Test, connection: RawConnection): Promise<void> {
  const response = await connection.response();
  t.equal(response.status, 408);
  t.equal(response.headers.get('connection'), 'close');
  t.equal(JSON.parse(response.body).error.code, 'request_timeout');
  await connection.closed();
}

t.test('a head that stops on its way is 408, on a new connection and on a used one', async t => {
  const fresh = await connectTo(t, [hello]);
  await fresh.write('G');
  await isTimedOut(t, fresh);
  const used = await connectTo(t, [hello]);
  await used.ask(plain('GET', '/hello'));
  await used.write('GET /hello HTTP/1.1\r\nHo');
  await isTimedOut(t, used);
});

t.test('a body that stops on its way is 408', async t => {
  const connection = await connectTo(t, [echo]);
  await connection.write('POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab');
  await isTimedOut(t, connection);
});

t.test('a connection that sends nothing is closed without a word', async t => {
  const connection = await connectTo(t, [hello]);
  await connection.closed();
  t.equal(connection.unread, '');
});

t.test('who waits for an answer may wait', async t => {
  const held = new HeldRoute();
  const { port } = await listen(t, [held.route], 20);
  const connection = await RawConnection.openFor(t, port);
  const exchange = await held.askedBy(connection);
  for (let i = 0; i < 3; i++) {
    const silent = await RawConnection.open(port);
    await silent.closed();
  }
  exchange.answer(textAnswer('done'));
  t.equal((await connection.response()).body, 'done');
});

t.test('who does not read a large answer is cut off', async t => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const long: Route = {
    ...hello,
    path: '/long',
    handle: exchange => void exchange.stream(TEXT_PAGE, endless(resolve)),
  };
  const connection = await connectTo(t, [long]);
  connection.pause();
  await connection.write(plain('GET', '/long'));
  await promise;
  t.pass('nothing more is made for it');
});

/** Never ends by itself. */
function* endless(givenUp: () => void): Generator<string> {
  try {
    for (;;) yield 'x'.repeat(10_000);
  } finally {
    givenUp();
  }
}

t.test('requests of one read are answered in order, however many they are', async t => {
  const connection = await connectTo(t, [hello, echo], 10_000);
  const post = (text: string) =>
    `POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
  const texts = Array.from({ length: 300 }, (_, i) => String(i));
  await connection.write(texts.map(text => post(text) + plain('GET', '/hello')).join(''));
  for (const text of texts) {
    t.equal((await connection.response()).body, text);
    t.equal((await connection.response()).body, 'hello');
  }
});

/** A connection that the server has accepted. */
async function served(t: Test, port: number): Promise<RawConnection> {
  const connection = await RawConnection.openFor(t, port);
  await connection.ask(plain('GET', '/hello'));
  return connection;
}

t.test('a caller with one request does not wait for the thousands that others have sent at once', async t => {
  let handled = 0;
  const counted: Route = {
    ...hello,
    path: '/counted',
    handle: exchange => {
      handled++;
      exchange.answer(textAnswer('counted'));
    },
  };
  let before = 0;
  const seen: Route = {
    ...hello,
    handle: exchange => {
      before = handled;
      exchange.answer(textAnswer('hello'));
    },
  };
  const { port } = await listen(t, [counted, seen], 10_000);
  const flooders: RawConnection[] = [];
  for (let i = 0; i < 20; i++) flooders.push(await served(t, port));
  const honest = await served(t, port);
  // They are in one turn of the event loop, the honest caller last.
  for (const flooder of flooders) flooder.write(plain('GET', '/counted').repeat(1_000));
  t.equal((await honest.ask(plain('GET', '/hello'))).body, 'hello');
  t.ok(before < 20 * 100, `${before} requests of others were handled first`);
});

t.test('the answers to whole requests come before the one to what cannot be read', async t => {
  const held = new HeldRoute();
  const connection = await connectTo(t, [held.route], 10_000);
  const arrived = held.next();
  await connection.write(`${plain('GET', '/held')}no HTTP\r\n\r\n`);
  (await arrived).answer(textAnswer('first'));
  t.equal((await connection.response()).body, 'first');
  t.equal((await connection.response()).status, 400);
  await connection.closed();
});

t.test('a refusal reaches a caller that goes on sending', async t => {
  const connection = await connectTo(t, [echo], 10_000);
  const large = 16 * 1024 * 1024;
  await connection.write(`POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: ${large}\r\n\r\n`);
  const sent = connection.write(Buffer.alloc(large));
  t.equal((await connection.response()).status, 413);
  await Promise.all([sent, connection.closed()]);
});

t.test('a connection whose input cannot be read ends behind the answer that was being sent', async t => {
  const body = 'x'.repeat(16 * 1024 * 1024);
  const answered = Promise.withResolvers<void>();
  const hasty: Route = {
    path: '/hasty',
    method: 'POST',
    help: 'answers before it has the body',
    handle: exchange => {
      exchange.answer(textAnswer(body));
      answered.resolve();
    },
  };
  const connection = await connectTo(t, [hasty]);
  connection.pause();
  await connection.write('POST /hasty HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  await answered.promise;
  await connection.write('no chunk\r\n');
  connection.resume();
  t.equal((await connection.response()).body.length, body.length);
  await connection.write('x');
  await connection.closed();
});
