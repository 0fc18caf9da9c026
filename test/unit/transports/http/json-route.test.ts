import { createHash } from 'node:crypto';
import type { Test } from 'tap';
import { Fault, type FaultCode } from '../../../../src/base/fault.ts';
import type { DecisionReply } from '../../../../src/decision/decider.ts';
import { encodeRateLimitRequest } from '../../../../src/messages/client-codec.ts';
import { textAnswer } from '../../../../src/transports/http/answer.ts';
import type { HttpListener } from '../../../../src/transports/http/listener.ts';
import { TURN_WORK } from '../../../../src/transports/http/request-turns.ts';
import { jsonRoute } from '../../../../src/transports/http/routes/decision-routes.ts';
import type { Route } from '../../../../src/transports/http/routes.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { mapperOf } from '../../../support/request-mapper.ts';
import { until } from '../../../support/until.ts';
import { httpEngine, onEachEngine } from './on-each-engine.ts';
import { plain, post, RawConnection } from './raw-connection.ts';
import { ScriptedDecider } from './scripted-decider.ts';
import { serve } from './serving.ts';

const REQUEST = '{"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"Zoë"}]}],"hitsAddend":2}';

/** The same request as the command-line client encodes it. */
const ENCODED = encodeRateLimitRequest({
  domain: 'shop',
  descriptors: [{ entries: [{ key: 'user', value: 'Zoë' }], limit: null, hitsAddend: null }],
  hitsAddend: 2,
});

const ALLOWED = '{"overallCode":"OK"}';
const LIMIT_BYTES = 4 * 1024 * 1024;

function allow(reply: DecisionReply): void {
  reply.answered(Buffer.from(ALLOWED), false);
}

interface Front {
  readonly listener: HttpListener;
  readonly decider: ScriptedDecider;
  readonly log: KeepingLogger;
  readonly connection: RawConnection;
}

/** `/json` on a port of its own, its decider allowing everything, and a connection to it. The clock stands still. */
async function front(t: Test, log = new KeepingLogger(), others: readonly Route[] = []): Promise<Front> {
  const decider = new ScriptedDecider(allow);
  const listener = await serve(t, [jsonRoute({ decider, mapper: mapperOf(), log }), ...others], {
    log,
    clock: new ManualClock(0),
    drainMs: 1,
  });
  const connection = await RawConnection.open(listener.port);
  // The clock stands still: connections that callers keep for later would be waited for.
  t.teardown(() => listener.stop(0));
  t.teardown(() => connection.destroy());
  return { listener, decider, log, connection };
}

/** Asks for a decision, and returns its reply, which answers nothing by itself. */
async function heldBy(decider: ScriptedDecider, connection: RawConnection): Promise<DecisionReply> {
  decider.become(() => {});
  const asked = decider.next();
  await connection.write(post('/json', REQUEST));
  return (await asked).reply;
}

onEachEngine('the decider gets the request in protobuf and its answer goes out as 200', async t => {
  const { decider, connection } = await front(t);
  const response = await connection.ask(post('/json', REQUEST));
  t.equal(response.status, 200);
  t.equal(response.headers.get('content-type'), 'application/json');
  t.equal(response.headers.get('content-length'), String(ALLOWED.length));
  t.equal(response.body, ALLOWED);
  t.equal(decider.asked.length, 1);
  t.equal(decider.asked[0].format, 'json');
  t.same(Buffer.from(decider.asked[0].request), Buffer.from(ENCODED));
});

onEachEngine('over limit is 429 with the answer as body', async t => {
  const { decider, connection } = await front(t);
  decider.become(reply => reply.answered(Buffer.from('{"overallCode":"OVER_LIMIT"}'), true));
  const response = await connection.ask(post('/json', REQUEST));
  t.equal(response.status, 429);
  t.equal(response.headers.get('content-type'), 'application/json');
  t.equal(response.body, '{"overallCode":"OVER_LIMIT"}');
});

onEachEngine('an answer that comes later is written when it comes', async t => {
  const { decider, connection, listener } = await front(t);
  const reply = await heldBy(decider, connection);
  t.equal(listener.inFlight, 1);
  allow(reply);
  t.match(await connection.response(), { status: 200, body: ALLOWED });
  t.equal(listener.inFlight, 0);
});

onEachEngine('the answer is taken during the call, whatever its size', async t => {
  const { decider, connection } = await front(t);
  for (const bytes of [20, 60_000, 70_000, 3_000_000]) {
    decider.become(reply => {
      const buffer = Buffer.alloc(bytes + 2, 'abc');
      reply.answered(buffer.subarray(1, bytes + 1), false);
      buffer.fill('!');
    });
    const { body } = await connection.ask(post('/json', REQUEST));
    t.equal(body.length, bytes);
    t.equal(hash(body), hash(Buffer.alloc(bytes, 'bca').toString()), `${bytes} bytes`);
  }
});

onEachEngine('neither the content type nor a query changes anything', async t => {
  const { listener } = await front(t);
  const response = await fetch(`http://127.0.0.1:${listener.port}/json?debug=1`, {
    method: 'POST',
    headers: { 'Content-Type': 'text/html' },
    body: REQUEST,
  });
  t.equal(response.status, 200);
  t.equal(await response.text(), ALLOWED);
});

onEachEngine('a body that is not a request is 400 and says what is wrong and where', async t => {
  const { connection, decider, log } = await front(t);
  const bad: [body: string, path: string | undefined, message: RegExp][] = [
    ['', undefined, /the document.*empty/],
    ['[]', undefined, /the document.*an array/],
    ['not json', undefined, /the document.*the text not/],
    ['{"domain":5}', 'domain', /domain.*the number 5/],
    ['{"descriptors":[{"entries":[{"key":"a"},{"key":1}]}]}', 'descriptors[0].entries[1].key', /number 1/],
    ['{"surprise":1}', undefined, /surprise/],
    ['{"domain":"a","domain":"b"}', undefined, /domain/],
    [`${REQUEST}x`, undefined, /byte/],
  ];
  for (const [body, path, message] of bad) {
    const response = await connection.ask(post('/json', body));
    t.equal(response.status, 400, body);
    t.equal(response.headers.get('content-type'), 'application/json');
    const { error } = JSON.parse(response.body);
    t.equal(error.code, 'unparseable', body);
    t.match(error.message, message, body);
    if (path !== undefined) t.equal(error.path, path, body);
  }
  const tooLarge = await connection.ask(post('/json', `{"descriptors":[${Array(4_097).fill('{}').join()}]}`));
  t.equal(tooLarge.status, 413);
  t.match(JSON.parse(tooLarge.body), {
    error: { code: 'too_large', message: /at most 4096/, path: 'descriptors[4096]' },
  });
  t.equal(decider.asked.length, 0);
  t.equal(log.lines.length, bad.length + 1);
  t.match(log.lines[3], {
    level: 'debug',
    message: 'Rejected a /json request',
    fields: { reason: /^domain/ },
  });
});

/** A logger whose lowest level is above debug. */
class QuietLogger extends KeepingLogger {
  override enabled(): boolean {
    return false;
  }
}

onEachEngine('no line is made for a refused request where debug lines are not written', async t => {
  const { connection, log } = await front(t, new QuietLogger());
  t.equal((await connection.ask(post('/json', '{'))).status, 400);
  t.same(log.lines, []);
});

onEachEngine('each cause has its status, and only a full queue says when to come back', async t => {
  const statuses: Record<FaultCode, number> = {
    bad_request: 400,
    unparseable: 400,
    too_large: 413,
    unimplemented: 501,
    no_rules: 503,
    store_failed: 503,
    overloaded: 503,
    cancelled: 499,
    internal: 500,
  };
  const { connection, decider } = await front(t);
  for (const [code, status] of Object.entries(statuses) as [FaultCode, number][]) {
    decider.become(reply => reply.refused(new Fault(code, `because of ${code}`)));
    const response = await connection.ask(post('/json', REQUEST));
    t.equal(response.status, status, code);
    t.equal(response.headers.get('content-type'), 'application/json');
    t.equal(response.headers.get('retry-after'), code === 'overloaded' ? '1' : undefined, code);
    t.same(JSON.parse(response.body), { error: { code, message: `because of ${code}` } });
  }
});

onEachEngine('a decider that throws costs its request a 500', async t => {
  const { connection, decider, log } = await front(t);
  decider.become(() => {
    throw new TypeError('the secret cause');
  });
  const response = await connection.ask(post('/json', REQUEST));
  t.equal(response.status, 500);
  t.notMatch(response.body, /secret/);
  t.match(log.lines, [{ level: 'error', fields: { error: /TypeError: the secret cause/ } }]);
});

onEachEngine('a body without an end is cut off', async t => {
  const { connection, listener } = await front(t);
  await connection.write('POST /json HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n');
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
  let sent = 0;
  while (await connection.write(chunk)) sent += 0x10000;
  await connection.closed();
  t.ok(sent > 4 * LIMIT_BYTES, `cut off after ${sent} bytes`);
  t.equal(listener.inFlight, 0);
});

onEachEngine('a caller that goes away in the middle of its body is forgotten', async t => {
  const { connection, listener, decider } = await front(t);
  t.equal(
    (
      await connection.ask(
        'POST /json HTTP/1.1\r\nHost: test\r\nContent-Length: 90\r\nExpect: 100-continue\r\n\r\n',
      )
    ).status,
    100,
  );
  await connection.write(REQUEST.slice(0, 30));
  t.equal(listener.inFlight, 1);
  connection.destroy();
  // Nothing but the end of the request resolves this: the clock stands still.
  await listener.stop();
  t.equal(decider.asked.length, 0);
});

onEachEngine('a caller that goes away while the decision is made is noticed with its answer', async t => {
  const { connection, listener, decider } = await front(t);
  for (const reply of [allow, (each: DecisionReply) => each.refused(new Fault('store_failed', 'away'))]) {
    const caller = await RawConnection.open(listener.port);
    const waiting = await heldBy(decider, caller);
    caller.destroy();
    // The answer to a later request shows that the event loop has turned.
    decider.become(allow);
    await connection.ask(post('/json', REQUEST));
    t.equal(listener.inFlight, 1);
    t.doesNotThrow(() => reply(waiting));
    await until(() => listener.inFlight === 0);
  }
});

onEachEngine('stop cuts off a caller whose decision is still being made', async t => {
  const clock = new ManualClock(0);
  const decider = new ScriptedDecider(() => {});
  const log = new KeepingLogger();
  const listener = await serve(t, [jsonRoute({ decider, mapper: mapperOf(), log })], {
    log,
    clock,
    drainMs: 5000,
  });
  const connection = await RawConnection.open(listener.port);
  const asked = decider.next();
  await connection.write(post('/json', REQUEST));
  const { reply } = await asked;
  const stopped = listener.stop();
  clock.advance(5000);
  await stopped;
  await connection.closed();
  t.doesNotThrow(() => allow(reply));
});

onEachEngine('bodies in very many small chunks take one place each among those that wait', async t => {
  const { listener } = await front(t);
  const chunk = `10\r\n${' '.repeat(16)}\r\n`;
  const body = `${chunk.repeat(60_000)}${REQUEST.length.toString(16)}\r\n${REQUEST.replace('ë', 'e')}\r\n0\r\n\r\n`;
  const answers = Array.from({ length: 4 }, async () => {
    const caller = await RawConnection.openFor(t, listener.port);
    return (
      await caller.ask(`POST /json HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n${body}`)
    ).status;
  });
  t.same(await Promise.all(answers), [200, 200, 200, 200]);
});

onEachEngine('a body in thousands of tiny chunks is refused, and its connection ends', async t => {
  const { connection, decider } = await front(t);
  const chunks = `${'1\r\n \r\n'.repeat(3_000)}${REQUEST.length.toString(16)}\r\n${REQUEST.replace('ë', 'e')}\r\n0\r\n\r\n`;
  const { status, headers, body } = await connection.ask(
    `POST /json HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
  );
  t.equal(status, 400);
  t.equal(headers.get('connection'), 'close');
  t.match(JSON.parse(body).error.message, /chunks of the body are too small/);
  await connection.closed();
  t.equal(decider.asked.length, 0);
});

onEachEngine('a body in tiny chunks is refused as well while its request waits for its turn', async t => {
  const busy: Route = {
    path: '/busy',
    method: 'GET',
    help: 'takes the whole turn',
    handle: exchange => exchange.inTurn(TURN_WORK, () => exchange.answer(textAnswer('done'))),
  };
  const { listener, decider } = await front(t, new KeepingLogger(), [busy]);
  const [first, second] = await Promise.all([
    RawConnection.open(listener.port),
    RawConnection.open(listener.port),
  ]);
  t.teardown(() => first.destroy());
  t.teardown(() => second.destroy());
  const chunks = `${'1\r\n \r\n'.repeat(3_000)}${REQUEST.length.toString(16)}\r\n${REQUEST.replace('ë', 'e')}\r\n0\r\n\r\n`;
  // Both arrive in one turn of the event loop.
  first.write(plain('GET', '/busy'));
  second.write(`POST /json HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`);
  t.equal((await second.response()).status, 400);
  t.equal((await first.response()).status, 200);
  t.equal(decider.asked.length, 0);
});

onEachEngine('a decision that is asked for names its caller, if possible the connection', async t => {
  const { connection, decider } = await front(t);
  for (let i = 0; i < 2; i++) {
    await connection.ask(post('/json', REQUEST));
  }
  const [first, second] = decider.asked.map(({ reply }) => reply.caller);
  t.type(first, 'object');
  t.equal(first === second, httpEngine().name === 'node');
});

onEachEngine('many connections at once each get their own answer', async t => {
  const { listener, decider } = await front(t);
  const held: DecisionReply[] = [];
  decider.become(reply => {
    held.push(reply);
    if (held.length < 50) return;
    // Last come, first served: answers must not depend on the order of arrival.
    for (const [i, waiting] of [...held.entries()].reverse()) {
      waiting.answered(Buffer.from(JSON.stringify({ turn: i })), false);
    }
  });
  const url = `http://127.0.0.1:${listener.port}/json`;
  const bodies = Array.from({ length: 50 }, async (_, i) => {
    const body = `{"domain":"d${i}","descriptors":[]}`;
    return (await fetch(url, { method: 'POST', body })).json() as Promise<{ turn: number }>;
  });
  const turns = (await Promise.all(bodies)).map(({ turn }) => turn);
  for (const [i, turn] of turns.entries()) {
    const asked = encodeRateLimitRequest({ domain: `d${i}`, descriptors: [], hitsAddend: 0 });
    t.same(Buffer.from(decider.asked[turn].request), Buffer.from(asked));
  }
});

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
