import type { Test } from 'tap';
import { textAnswer } from '../../../src/transports/http/answer.ts';
import { readBody } from '../../../src/transports/http/body.ts';
import { type HttpEngine, HttpListener } from '../../../src/transports/http/listener.ts';
import { jsonNotFound, type Route } from '../../../src/transports/http/routes.ts';
import type { HttpLimits } from '../../../src/transports/http/traffic.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { head, PROBE } from './case.ts';
import { HttpPeer } from './peer.ts';

const KIB = 1024;
const LARGE_BYTES = 1024 * KIB;
const PATIENCE_MS = 10_000;

const ROUTES: readonly Route[] = [
  { path: '/probe', method: 'GET', help: 'probes', handle: exchange => exchange.answer(textAnswer('probe')) },
  {
    path: '/length',
    method: 'POST',
    help: 'answers with the length of the body',
    handle: exchange => readBody(exchange, body => exchange.answer(textAnswer(String(body.length)))),
  },
  {
    path: '/large',
    method: 'GET',
    help: 'is larger than what the system buffers for a connection',
    handle: exchange => exchange.answer(textAnswer('x'.repeat(8 * LARGE_BYTES))),
  },
];

interface Served {
  readonly listener: HttpListener;
  readonly log: KeepingLogger;
  readonly clock: ManualClock;
  open(): Promise<HttpPeer>;
}

async function serve(
  t: Test,
  engine: HttpEngine,
  limits: HttpLimits,
  routes: readonly Route[] = ROUTES,
): Promise<Served> {
  const log = new KeepingLogger();
  const clock = new ManualClock(0);
  const listener = new HttpListener({
    name: 'http',
    engine,
    host: '127.0.0.1',
    port: 0,
    settings: { host: 'HOST', port: 'PORT', sharing: 'never' },
    routes,
    unknown: jsonNotFound(routes),
    drainMs: 0,
    limits,
    clock,
    log,
  });
  await listener.start();
  t.teardown(() => listener.stop());
  const open = async (): Promise<HttpPeer> => {
    const peer = await HttpPeer.open(listener.port);
    t.teardown(() => peer.destroy());
    return peer;
  };
  return { listener, log, clock, open };
}

/** Large bodies and then a small request, all of which arrive in one turn; in the order in which they were handled. */
async function handledTogether(t: Test, engine: HttpEngine, larges: number): Promise<string[][]> {
  const turns: string[][] = [];
  let runs = true;
  const tick = (): void => {
    turns.push([]);
    if (runs) setImmediate(tick);
  };
  const { open } = await serve(t, engine, { maxConnections: 100, maxHeldBytes: 64 * LARGE_BYTES }, [
    {
      path: '/length',
      method: 'POST',
      help: 'answers with the length of the body',
      handle: exchange =>
        readBody(exchange, body => {
          turns.at(-1)?.push(body.length > 1_000 ? 'large' : 'small');
          exchange.answer(textAnswer('done'));
        }),
    },
  ]);
  const peers = await Promise.all(Array.from({ length: larges + 1 }, () => open()));
  // Node.js accepts one connection in a turn.
  for (const peer of peers) await peer.write([`${bodyHead(5)}hello`]);
  for (const peer of peers) await answered(peer);
  turns.length = 0;
  tick();
  const small = peers[larges];
  for (const peer of peers)
    void peer.write([peer === small ? `${bodyHead(5)}small` : bodyHead(48 * KIB) + 'x'.repeat(48 * KIB)]);
  for (const peer of peers) await answered(peer);
  runs = false;
  return turns.filter(turn => turn.length > 0);
}

async function answered(peer: HttpPeer): Promise<(typeof peer.answers)[number] | undefined> {
  await peer.until(() => peer.answers.length > 0, PATIENCE_MS);
  return peer.answers.shift();
}

function bodyHead(bytes: number): string {
  return head('POST /length HTTP/1.1', 'Host: exam', `Content-Length: ${bytes}`);
}

/** Limits for all connections of a port together, regardless of what they send and do not read. */
export function examineBounds(t: Test, engine: HttpEngine): void {
  t.test('bodies that stop short give way to those that come later, the oldest first', async t => {
    const { log, clock, open } = await serve(t, engine, {
      maxConnections: 100,
      maxHeldBytes: LARGE_BYTES,
    });
    const slow: HttpPeer[] = [];
    for (let i = 0; i < 16; i++) {
      const peer = await open();
      slow.push(peer);
      // What is held is rounded up to a power of two.
      await peer.write([bodyHead(256 * KIB), 'x'.repeat(100 * KIB), 'x'.repeat(28 * KIB)]);
    }
    const refused = await answered(slow[0]);
    t.equal(refused?.status, 503);
    t.equal(refused?.headers.get('retry-after'), '1');
    t.equal(refused?.headers.get('connection'), 'close');
    t.match(JSON.parse(refused?.body ?? ''), { error: { code: 'overloaded' } });
    await slow[0].until(() => slow[0].closed, PATIENCE_MS);
    t.ok(slow[0].closed, 'the connection of the one that gave way is closed');
    t.equal(slow.filter(({ closed }) => closed).length, 8, '8 of 128 KiB are 1 MiB');

    const small = await open();
    await small.write([`${bodyHead(5)}whole`]);
    t.equal((await answered(small))?.body, '5', 'a body in one read takes nothing');
    const last = slow[15];
    await last.write(['x'.repeat(128 * KIB)]);
    t.equal((await answered(last))?.body, String(256 * KIB), 'the newest goes on');

    clock.advance(1_000);
    const warnings = log.lines.filter(({ level }) => level === 'warning');
    t.match(warnings, [{ message: /Dropped HTTP requests/, fields: { limit: LARGE_BYTES } }]);
    t.equal(warnings.length, 1, 'one line, whatever the number');
    t.ok(Number(warnings[0].fields.count) >= 8);
  });

  t.test('answers that are not read give way to those that come later', async t => {
    const { listener, log, clock, open } = await serve(t, engine, {
      maxConnections: 100,
      maxHeldBytes: 24 * LARGE_BYTES,
    });
    const readers: HttpPeer[] = [];
    for (let i = 0; i < 6; i++) {
      const peer = await open();
      peer.pause();
      readers.push(peer);
      await peer.write([head('GET /large HTTP/1.1', 'Host: exam')]);
    }
    for (let i = 0; i < 3; i++) readers[i].resume();
    for (let i = 0; i < 3; i++) await readers[i].until(() => readers[i].closed, PATIENCE_MS);
    t.equal(listener.inFlight, 3, 'three of 8 MiB are 24 MiB');
    t.strictSame(
      readers.map(({ closed, answers }) => (closed ? answers.length : 'waits')),
      [0, 0, 0, 'waits', 'waits', 'waits'],
      'the oldest are cut off',
    );
    const newest = readers[5];
    newest.resume();
    t.equal((await answered(newest))?.body.length, 8 * LARGE_BYTES);
    clock.advance(1_000);
    t.match(log.lines, [{ level: 'warning', fields: { count: 3, listener: 'http' } }]);
  });

  t.test('a body or an answer beyond the bound is served while it is alone', async t => {
    const { open } = await serve(t, engine, { maxConnections: 100, maxHeldBytes: 64 * KIB });
    const peer = await open();
    await peer.write([bodyHead(256 * KIB), 'x'.repeat(100 * KIB), 'x'.repeat(156 * KIB)]);
    t.equal((await answered(peer))?.body, String(256 * KIB));
    await peer.write([head('GET /large HTTP/1.1', 'Host: exam')]);
    t.equal((await answered(peer))?.body.length, 8 * LARGE_BYTES);
  });

  t.test(
    'a turn of the event loop takes so much, and a small request does not wait for the large ones',
    async t => {
      const turns = await handledTogether(t, engine, 40);
      const all = turns.flat();
      t.equal(all.length, 41, 'each is answered');
      t.ok(all.indexOf('small') <= 5, `the small one was number ${all.indexOf('small') + 1}`);
      const most = Math.max(...turns.map(turn => turn.filter(each => each === 'large').length));
      // 48 KiB are some 400,000 of the million units of a turn.
      t.ok(most <= 4, `${most} large ones in one turn`);
    },
  );

  t.test('connections beyond the bound are answered 503 and closed; those there are go on', async t => {
    const { log, clock, open } = await serve(t, engine, { maxConnections: 3, maxHeldBytes: LARGE_BYTES });
    const first = await open();
    const others = [await open(), await open()];
    for (const peer of [first, ...others]) {
      await peer.write([PROBE]);
      t.equal((await answered(peer))?.status, 200);
    }
    for (let i = 0; i < 5; i++) {
      const refused = await open();
      const answer = await answered(refused);
      t.equal(answer?.status, 503);
      t.equal(answer?.headers.get('retry-after'), '1');
      t.equal(answer?.headers.get('connection'), 'close');
      t.match(JSON.parse(answer?.body ?? ''), { error: { code: 'overloaded', message: /connections/ } });
      await refused.until(() => refused.closed, PATIENCE_MS);
      t.ok(refused.closed);
    }
    await first.write([PROBE]);
    t.equal((await answered(first))?.status, 200);
    clock.advance(1_000);
    t.match(log.lines, [
      { level: 'warning', message: /Refused HTTP connections/, fields: { count: 5, limit: 3 } },
    ]);
    t.equal(log.lines.length, 1);

    others[0].destroy();
    const status = async (): Promise<number | undefined> => {
      const peer = await open();
      await peer.write([PROBE]);
      return (await answered(peer))?.status;
    };
    // Until the server has heard of the end.
    let came = await status();
    for (const over = performance.now() + PATIENCE_MS; came !== 200 && performance.now() < over; )
      came = await status();
    t.equal(came, 200, 'there is room again');
  });
}
