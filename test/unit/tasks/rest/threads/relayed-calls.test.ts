import t, { type Test } from 'tap';
import { Problem } from '../../../../../src/tasks/rest/checks/problem.ts';
import type {
  RenderedResponse,
  RestCalls,
  RestHandler,
  RestHead,
  RestReply,
  RestRequest,
  RestResponse,
} from '../../../../../src/tasks/rest/http/http.ts';
import { each } from '../../../../support/each.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { JoinedCalls } from '../../../../support/tasks/joined-calls.ts';
import { relayed } from '../../../../support/tasks/relayed.ts';
import { until } from '../../../../support/until.ts';

const BOUNDS = { calls: 16, bytes: 1_000_000 };

/** Answers with the body of the request, when the test says so if the path is `/held`. */
class EchoHandler implements RestHandler {
  readonly requests: RestRequest[] = [];
  readonly release = Promise.withResolvers<void>();

  async handle(request: RestRequest): Promise<RestResponse> {
    await request.takeBody?.();
    this.requests.push(request);
    if (request.path === '/held') await this.release.promise;
    if (request.path === '/poll') await aborted(request.gone);
    return { status: 200, headers: {}, body: Buffer.from(request.body).toString() };
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function open(t: Test) {
  const handler = new EchoHandler();
  const target = new JoinedCalls(handler, new KeepingLogger());
  return { handler, target, ...relayed(t, target, BOUNDS) };
}

function head(path = '/echo', host = 'acme', method = 'POST'): RestHead {
  return { method, host, path, query: '', headers: {}, remoteAddress: '' };
}

interface Told extends RestReply {
  readonly events: string[];
  readonly answer: RenderedResponse | null;
  readonly text: string;
}

function reply(): Told {
  const events: string[] = [];
  let answer: RenderedResponse | null = null;
  return {
    events,
    get answer() {
      return answer;
    },
    get text() {
      const body = answer?.body ?? '';
      return typeof body === 'string' ? body : Buffer.from(body).toString();
    },
    admitted: () => events.push('admitted'),
    waits: () => events.push('waits'),
    answered: response => {
      events.push(String(response.status));
      answer = response;
    },
  };
}

/** A body in memory of its own, as it comes from a socket. */
function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Begins calls until one is refused. Returns those before it. */
function fill(calls: RestCalls, path: string): { readonly gone: () => void; readonly told: Told }[] {
  const begun = [];
  for (;;) {
    const told = reply();
    const { gone } = calls.begin(head(path), [], told);
    if (told.answer !== null) return begun;
    begun.push({ gone, told });
  }
}

t.test('what comes in one turn goes in one message, and each call gets its answer', async t => {
  const { calls, turns } = open(t);
  const asked = ['one', 'two', 'three'].map(text => {
    const told = reply();
    calls.begin(head(), [bytes(text)], told);
    return told;
  });
  await until(() => asked.every(({ answer }) => answer !== null));
  t.same(each(asked, 'text'), ['one', 'two', 'three']);
  t.equal(turns.length, 1);
});

t.test('large bodies and answers change hands, and are not copied', async t => {
  const { calls, handler } = open(t);
  const piece = bytes('x'.repeat(60_000));
  const told = reply();
  calls.begin(head(), [piece], told);
  await until(() => told.answer !== null);
  t.equal(piece.byteLength, 0, 'the memory has gone to another thread');
  t.equal(told.text, 'x'.repeat(60_000));

  const large = reply();
  const call = calls.begin(head(), { atMost: 900_000 }, large);
  await until(() => large.events.length > 0);
  t.same(large.events, ['admitted']);
  t.equal(handler.requests.length, 1, 'the body is not there yet');
  const pieces = [bytes('y'.repeat(400_000)), bytes('z'.repeat(5))];
  call.body(pieces);
  await until(() => large.answer !== null);
  t.equal(pieces[0].byteLength, 0);
  t.equal(large.text, `${'y'.repeat(400_000)}zzzzz`);
});

t.test('a request that is refused in the serving thread is counted in the primary thread', async t => {
  const { calls, refused } = open(t);
  const asked = { ...head(), headers: { 'x-request-id': 'mine' } };
  const { status, headers, body } = calls.refused(asked, new Problem('body_too_large', 'too large'));
  t.equal(status, 413);
  t.match(headers, { 'X-Request-Id': 'mine', 'Content-Type': 'application/problem+json' });
  t.match(JSON.parse(String(body)), { code: 'body_too_large', instance: 'mine' });
  await until(() => refused.length > 0);
  t.same(refused, [413]);
});

t.test('calls that the primary thread has not received are bounded, also if their callers leave', async t => {
  const { calls, handler } = open(t);
  const begun = fill(calls, '/held');
  t.ok(begun.length > 0 && begun.length < BOUNDS.calls, 'a tenant does not take all places');
  const refused = reply();
  calls.begin(head('/held'), [], refused);
  t.match(refused.answer, { status: 503, headers: { 'Retry-After': '1' } });
  t.equal(JSON.parse(refused.text).code, 'overloaded');
  const other = reply();
  calls.begin(head('/echo', 'globex'), [], other);
  for (const { gone } of begun) gone();
  t.equal(fill(calls, '/held').length, 0, 'the messages still wait for the primary thread');
  await until(() => other.answer !== null);
  await until(() => fill(calls, '/echo').length === begun.length);
  handler.release.resolve();
  t.ok(
    begun.every(({ told }) => told.answer === null),
    'nobody waits for these answers',
  );
});

t.test('a call that waits for an event takes no place, and ends when its caller leaves', async t => {
  const { calls, handler, target } = open(t);
  const polls = Array.from({ length: 40 }, () => reply());
  const begun = [];
  for (const told of polls) {
    begun.push(calls.begin(head('/poll'), [], told));
    await until(() => told.events.length > 0);
  }
  t.same(
    polls.flatMap(({ events }) => events).filter(event => event !== 'waits'),
    [],
  );
  begun[0].gone();
  begun[0].gone();
  await until(() => handler.requests[0].gone.aborted);
  const left = handler.requests.filter(({ gone }) => gone.aborted);
  t.equal(left.length, 1, 'the others go on');
  t.equal(target.places.calls, 0);
});

t.test('when the serving thread ends, its calls end as if their callers had left', async t => {
  const { calls, handler, target, close } = open(t);
  const [held, polling, sending] = [reply(), reply(), reply()];
  calls.begin(head('/held'), [bytes('x')], held);
  calls.begin(head('/poll'), [], polling);
  calls.begin(head('/echo'), { atMost: 500_000 }, sending);
  await until(() => handler.requests.length === 2 && sending.events.includes('admitted'));
  t.equal(target.places.bytes, 500_001);
  close();
  await until(() => handler.requests[1].gone.aborted && target.places.bytes === 1);
  handler.release.resolve();
  await until(() => target.places.calls === 0 && target.places.bytes === 0);
});

t.test('when the primary thread closes the connection, callers are asked to retry', async t => {
  const { calls, handler, close } = open(t);
  const [written, read, sending, left] = [reply(), reply(), reply(), reply()];
  calls.begin(head('/held'), [], written);
  calls.begin(head('/held', 'acme', 'GET'), [], read);
  calls.begin(head('/echo'), { atMost: 500_000 }, sending);
  calls.begin(head('/held'), [], left).gone();
  await until(() => handler.requests.length === 3 && sending.events.includes('admitted'));
  close();
  await until(() => written.answer !== null);
  for (const { answer } of [written, read, sending]) {
    t.match(answer, { status: 503, headers: { 'Retry-After': '1' } });
  }
  t.match(
    [written, read, sending].map(({ text }) => JSON.parse(text)),
    [
      { code: 'interrupted', detail: /may have taken effect/ },
      { code: 'interrupted', detail: /had no effect/ },
      { code: 'interrupted', detail: /had no effect/ },
    ],
  );
  t.equal(left.answer, null);
  const late = reply();
  calls.begin(head(), [], late);
  t.match(JSON.parse(late.text), { code: 'overloaded', detail: /was not processed/ });
});
