import t from 'tap';
import { Places, Turns } from '../../../../../src/tasks/rest/http/bounded.ts';
import type {
  RestHandler,
  RestHead,
  RestReply,
  RestRequest,
} from '../../../../../src/tasks/rest/http/http.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { JoinedCalls } from '../../../../support/tasks/joined-calls.ts';

t.test('places: a tenant has its share, and gives back what it took', async t => {
  const places = new Places({ calls: 160, bytes: 160 });
  const taken = (tenant: string) => {
    let calls = 0;
    while (places.take(tenant, 1, 0)) calls++;
    return calls;
  };
  t.equal(taken('acme'), 55);
  t.equal(taken('globex'), 27);
  t.equal(places.take('acme', 0, 55), true, 'bytes are bounded apart');
  t.equal(places.take('acme', 0, 1), false);
  t.equal(places.bytes, 55);
  places.give('acme', 55, 55);
  t.equal(places.calls, 27);
  t.equal(taken('acme'), 39);
});

t.test('places: a tenant with no call always finds one, whatever others have', async t => {
  const places = new Places({ calls: 4_096, bytes: 64 * 1024 * 1024 });
  for (let i = 0; i < 300; i++) {
    t.equal(places.take(`t${i}`, 1, 1_024), true, `tenant ${i}`);
    while (places.take(`t${i}`, 1, 64 * 1024));
  }
  t.ok(places.calls <= 4_096);
  t.ok(places.bytes <= 64 * 1024 * 1024);
});

t.test('places: one large body of each tenant is taken while there is room', async t => {
  const places = new Places({ calls: 1_000, bytes: 64 });
  for (let i = 0; i < 10; i++) t.equal(places.take(`t${i}`, 1, 6), true);
  t.equal(places.take('late', 1, 6), false);
  t.equal(places.take('late', 1, 0), true);
  places.give('t3', 1, 6);
  t.equal(places.take('late', 0, 6), true);
});

t.test('places: a call without a body is taken while bodies take all there is', async t => {
  const places = new Places({ calls: 10, bytes: 10 });
  t.equal(places.take('acme', 1, 10), true);
  t.equal(places.take('acme', 1, 0), true);
  t.equal(places.take('acme', 1, 1), false);
  t.equal(places.calls, 2, 'what is refused takes nothing');
});

t.test('turns: tenants are served one after the other, each in order', async t => {
  const turns = new Turns<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) turns.add(item[0], item);
  t.equal(turns.remove('a', 'a2'), true);
  t.equal(turns.remove('a', 'a2'), false);
  const served: (string | null)[] = [];
  for (let i = 0; i < 6; i++) served.push(turns.next());
  t.same(served, ['a1', 'b1', 'c1', 'a3', 'b2', null]);
});

/** Answers when the test says so, in the order of the calls. */
class HeldHandler implements RestHandler {
  readonly requests: RestRequest[] = [];
  readonly #answers: (() => void)[] = [];

  async handle(request: RestRequest) {
    await request.takeBody?.();
    this.requests.push(request);
    await new Promise<void>(resolve => this.#answers.push(resolve));
    return { status: 200, headers: {}, body: request.path };
  }

  get hosts(): string[] {
    return this.requests.map(({ host }) => host);
  }

  async answer(count: number): Promise<void> {
    for (const answer of this.#answers.splice(0, count)) answer();
    await turnOver();
  }
}

/** Lets everything be sent and answered that needs no time. */
async function turnOver(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise(setImmediate);
}

function head(host: string, path = '/x'): RestHead {
  return { method: 'POST', host, path, query: '', headers: {}, remoteAddress: '' };
}

function reply(told: string[] = []): RestReply {
  return {
    admitted: () => told.push('admitted'),
    waits: () => told.push('waits'),
    answered: ({ status }) => told.push(String(status)),
  };
}

t.test('a tenant with many calls does not keep another one waiting for all of them', async t => {
  const handler = new HeldHandler();
  const calls = new JoinedCalls(handler, new KeepingLogger(), { calls: 10_000, bytes: 1_000 });
  for (let i = 0; i < 2_000; i++) calls.begin(head('flood'), [], reply());
  calls.begin(head('honest'), [], reply());
  await turnOver();
  t.equal(handler.requests.length, 512, 'so many are handled at once');
  t.notOk(handler.hosts.includes('honest'));
  await handler.answer(2);
  t.same(handler.hosts.slice(512), ['flood', 'honest']);
  t.equal(calls.turns.length, 2, 'what one turn brings goes in one message');
});

t.test('large bodies are read two at a time, tenants in turn, and small calls beside them', async t => {
  const handler = new HeldHandler();
  const calls = new JoinedCalls(handler, new KeepingLogger());
  for (const host of ['acme', 'acme', 'acme', 'globex']) {
    const told: string[] = [];
    const call = calls.begin(head(host), { atMost: 100_000 }, reply(told));
    await turnOver();
    t.same(told, ['admitted']);
    call.body([new Uint8Array(80_000)]);
  }
  calls.begin(head('acme', '/small'), [], reply());
  await turnOver();
  t.same(
    handler.requests.map(({ host, path, body }) => `${host} ${path} ${body.length}`),
    ['acme /x 80000', 'acme /x 80000', 'acme /small 0'],
  );
  t.equal(calls.places.bytes, 320_000);
  await handler.answer(1);
  t.equal(handler.hosts.at(-1), 'acme');
  await handler.answer(1);
  t.equal(handler.hosts.at(-1), 'globex');
  await handler.answer(10);
  t.equal(calls.places.bytes, 0);
});

t.test('a call whose caller goes before its turn is never handled', async t => {
  const handler = new HeldHandler();
  const calls = new JoinedCalls(handler, new KeepingLogger(), { calls: 10_000, bytes: 1_000 });
  for (let i = 0; i < 512; i++) calls.begin(head('acme'), [], reply());
  const told: string[] = [];
  calls.begin(head('acme', '/gone'), [], reply(told)).gone();
  await turnOver();
  await handler.answer(512);
  t.equal(handler.requests.length, 512);
  t.same(told, []);
  t.equal(calls.places.calls, 0);
});
