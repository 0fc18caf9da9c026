import t from 'tap';
import type { Fault } from '../../../../src/base/fault.ts';
import { MAX_BATCH_REQUESTS } from '../../../../src/decision/batching/batcher.ts';
import { encodeRateLimitRequest } from '../../../../src/messages/client-codec.ts';
import { Decisions, request } from '../../../support/decisions.ts';
import { GatedStore } from '../../../support/gated-store.ts';
import { embeddedStore } from '../../../support/stores.ts';

const RULES =
  'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: minute, requests_per_unit: 1000}\n';

const ask = (decisions: Decisions) => decisions.ask(request('d', 'a=x'));
const turn = () => new Promise(resolve => setImmediate(resolve));

t.test('what arrives in one turn is one batch; what arrives while batches wait is the next', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  const first = [ask(decisions), ask(decisions), ask(decisions)];
  await turn();
  t.same(store.sizes, [3]);
  const later = Array.from({ length: 3 }, () => ask(decisions));
  await turn();
  later.push(ask(decisions), ask(decisions));
  await turn();
  later.push(ask(decisions));
  await turn();
  t.same(store.sizes, [3, 3, 2, 1], 'four batches may wait for the store at once');
  later.push(ask(decisions), ask(decisions));
  await turn();
  later.push(ask(decisions));
  await turn();
  t.equal(store.waiting.length, 4);
  store.waiting[0].pass();
  await Promise.all(first);
  await turn();
  t.equal(store.waiting.at(-1)?.ops, 3, 'the three that came meanwhile are one batch');
  for (const batch of store.waiting.slice(1)) batch.pass();
  const answers = await Promise.all(later);
  t.equal(answers.length, 9);
  t.equal(decisions.batcher.pending, 0);
});

t.test('all that one turn of the event loop brings is one batch', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  const asked = [ask(decisions)];
  // As between the reads of two sockets.
  for (let i = 0; i < 5; i++) await Promise.resolve();
  asked.push(ask(decisions));
  t.equal(store.waiting.length, 0);
  await turn();
  t.same(store.sizes, [2]);
  store.waiting[0].pass();
  asked.push(ask(decisions));
  await asked[0];
  asked.push(ask(decisions));
  t.equal(store.waiting.length, 1, 'nor does a batch that comes back split what the turn brings');
  await turn();
  t.equal(store.waiting[1].ops, 2);
  store.waiting[1].pass();
  await Promise.all(asked);
});

t.test('a batch of 64 requests leaves at once while the store is idle', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  const ask64 = (): Promise<unknown>[] => Array.from({ length: 64 }, () => ask(decisions));
  const asked = ask64();
  await Promise.resolve();
  t.equal(store.waiting.length, 1);
  asked.push(...ask64());
  await Promise.resolve();
  t.equal(store.waiting.length, 1, 'the store is busy, so the next batch grows until the turn ends');
  await turn();
  t.same(store.sizes, [64, 64]);
  for (const batch of store.waiting) batch.pass();
  await Promise.all(asked);
});

t.test('a batch that is full does not wait for the end of the turn', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  const asked = Array.from({ length: MAX_BATCH_REQUESTS + 1 }, () => ask(decisions));
  await Promise.resolve();
  t.equal(store.waiting[0]?.ops, MAX_BATCH_REQUESTS);
  await turn();
  t.equal(store.waiting[1].ops, 1);
  for (const batch of store.waiting) batch.pass();
  await Promise.all(asked);
});

/** Asks for one decision in each of so many turns. Returns how many of them were there before the turn ended. */
async function askAlone(decisions: Decisions, turns: number): Promise<number> {
  let early = 0;
  for (let i = 0; i < turns; i++) {
    let isAnswered = false;
    const asked = ask(decisions).then(() => {
      isAnswered = true;
    });
    for (let step = 0; step < 10; step++) await Promise.resolve();
    if (isAnswered) early++;
    await asked;
  }
  return early;
}

t.test('a request that is alone, as those before it were, does not wait for the end of its turn', async t => {
  const decisions = new Decisions({ store: embeddedStore(), rules: RULES });
  t.equal(await askAlone(decisions, 8), 0, 'at first, requests wait for others');
  t.equal(await askAlone(decisions, 160), 150, 'one in 16 still waits');
  await Promise.all([ask(decisions), ask(decisions)]);
  t.equal(await askAlone(decisions, 8), 0, 'they wait again once a turn has brought two');
});

t.test('requests of /json, which arrive apart, are one batch at the end of the turn', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  const asked: Promise<unknown>[] = [];
  // More than leave at once over gRPC.
  for (let i = 0; i < 100; i++) {
    asked.push(decisions.askJson(request('d', 'a=x')));
    // As between the callbacks of two requests.
    await Promise.resolve();
    t.equal(store.waiting.length, 0);
  }
  await turn();
  t.same(store.sizes, [100]);
  asked.push(decisions.askJson(request('d', 'a=x')), ask(decisions));
  await turn();
  t.same(store.sizes, [100, 2], 'with the gRPC calls of the turn');
  for (const batch of store.waiting) batch.pass();
  await Promise.all(asked);
});

t.test('a batch of /json that is full waits for the end of the turn as well', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  const asked = Array.from({ length: MAX_BATCH_REQUESTS + 10 }, () => decisions.askJson(request('d', 'a=x')));
  await Promise.resolve();
  t.equal(store.waiting.length, 0);
  await turn();
  t.same(store.sizes, [MAX_BATCH_REQUESTS, 10]);
  for (const batch of store.waiting) batch.pass();
  await Promise.all(asked);
});

t.test('a batch has a bound; more requests than that are several', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  const asked = Array.from({ length: MAX_BATCH_REQUESTS + 10 }, () => ask(decisions));
  await turn();
  t.same(store.sizes, [MAX_BATCH_REQUESTS, 10]);
  for (const batch of store.waiting) batch.pass();
  await Promise.all(asked);
});

t.test('beyond the bound of the queue requests are refused at once as overloaded, and counted', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES, maxQueued: 5 });
  const asked = Array.from({ length: 5 }, () => ask(decisions));
  await t.rejects(ask(decisions), { code: 'overloaded', message: /5 requests are waiting/ });
  t.equal(decisions.counter('ratelimit.service.call.should_rate_limit.service_error'), 1);
  await turn();
  store.waiting[0].pass();
  await Promise.all(asked);
  const next = ask(decisions);
  await turn();
  store.waiting[1].pass();
  t.equal((await next).overallCode, 1, 'once they are answered there is room again');
});

t.test('the bytes that wait have a bound as well', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  const large = encodeRateLimitRequest(request('d', `a=${'x'.repeat(4_000_000)}`));
  const asked = Array.from({ length: 17 }, () => decisions.askBytes(large, 'protobuf'));
  await t.rejects(ask(decisions), { code: 'overloaded' });
  while (decisions.batcher.pending > 0) {
    await turn();
    store.waiting.shift()?.pass();
  }
  await Promise.all(asked);
});

t.test('a store failure refuses every request of the batch that needs it, and no other', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  const failing = [ask(decisions), ask(decisions)];
  await turn();
  const passing = ask(decisions);
  await turn();
  store.waiting[0].fail();
  store.waiting[1].pass();
  for (const each of failing) await t.rejects(each, { code: 'store_failed', message: 'no store' });
  t.equal((await passing).overallCode, 1);
  t.equal(decisions.counter('ratelimit.service.call.should_rate_limit.redis_error'), 2);
});

t.test('a defect of a store is logged and answered as internal', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  const asked = ask(decisions);
  await turn();
  store.waiting[0].fail(new TypeError('undefined is not a function'));
  await t.rejects(asked, { code: 'internal', message: /log of the service/ });
  t.match(decisions.logger.lines, [{ level: 'error', fields: { error: /undefined is not a function/ } }]);
});

t.test('a reply that throws does not keep the others from being answered', async t => {
  const decisions = new Decisions({ store: embeddedStore(), rules: RULES });
  const bytes = encodeRateLimitRequest(request('d', 'a=x'));
  const thrower = {
    gone: false,
    answered: () => {
      throw new Error('caller is gone');
    },
    refused: () => t.fail('answered already'),
  };
  decisions.batcher.decide(bytes, 'protobuf', thrower);
  t.equal((await ask(decisions)).statuses[0].limitRemaining, 998);
  t.match(decisions.logger.lines, [{ level: 'error', message: /^Could not send a response/ }]);
});

t.test('requests are decided under the rules that are active when their batch leaves', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  const before = ask(decisions);
  await turn();
  decisions.load(RULES.replace('1000', '10'));
  const after = ask(decisions);
  await turn();
  for (const batch of store.waiting) batch.pass();
  t.equal((await before).statuses[0].currentLimit?.requestsPerUnit, 1_000);
  t.equal((await after).statuses[0].currentLimit?.requestsPerUnit, 10);
  t.match(
    decisions.rule('d.a'),
    { total_hits: 2, within_limit: 2 },
    'statistics of both generations are one sum',
  );
});

t.test('the number of requests of each batch is recorded', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  const asked = [ask(decisions)];
  await turn();
  for (let more = 0; more < 3; more++) asked.push(ask(decisions));
  await turn();
  for (const batch of store.waiting) batch.pass();
  await Promise.all(asked);
  const sizes = decisions.stats.timers().get('ratelimit.batch.requests');
  t.match(sizes, { count: 2, sumMs: 4, maxMs: 3 });
});

t.test('without rules, faults of a request are reported before the missing rules', async t => {
  const decisions = new Decisions({ store: new GatedStore(), rules: null });
  await t.rejects(decisions.ask(request('', 'a=x')), { code: 'bad_request' });
  await t.rejects(decisions.ask(request('d')), { code: 'bad_request' });
  await t.rejects(ask(decisions), { code: 'no_rules' });
  t.equal(decisions.counter('ratelimit.service.call.should_rate_limit.service_error'), 3);
});

t.test('bytes that are no message are refused as such, and are no call that failed', async t => {
  const decisions = new Decisions({ store: new GatedStore(), rules: null });
  await t.rejects(decisions.askBytes(Buffer.from('garbage'), 'protobuf'), { code: 'unparseable' });
  t.equal(decisions.counter('ratelimit.service.call.should_rate_limit.service_error'), 0);
});

t.test('too many descriptors or entries are rejected with an error that names the maximum', async t => {
  const decisions = new Decisions({ store: new GatedStore(), rules: RULES });
  const entries = (count: number) => Array.from({ length: count }, () => 'a=x').join();
  const descriptors = Array.from({ length: 4_097 }, () => 'a=x');
  await t.rejects(decisions.ask(request('d', ...descriptors)), {
    code: 'too_large',
    message: /at most 4096/,
  });
  await t.rejects(decisions.ask(request('d', entries(257))), { code: 'too_large', message: /at most 256/ });
  t.equal(decisions.counter('ratelimit.service.call.should_rate_limit.service_error'), 2);
});

t.test('drained resolves when nothing waits any more', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  await decisions.batcher.drained();
  const asked = ask(decisions);
  let drained = false;
  const waiting = decisions.batcher.drained().then(() => {
    drained = true;
  });
  await turn();
  t.notOk(drained);
  store.waiting[0].pass();
  await Promise.all([asked, waiting]);
  t.ok(drained);
});

/** A call that its caller may give up. */
function abandonable(decisions: Decisions) {
  const answer = Promise.withResolvers<string>();
  const reply = {
    gone: false,
    answered: () => answer.resolve('answered'),
    refused: (fault: Fault) => answer.resolve(fault.code),
  };
  decisions.batcher.decide(encodeRateLimitRequest(request('d', 'a=x')), 'protobuf', reply);
  return { reply, answer: answer.promise };
}

t.test('a call that ended while it waited is left out of its batch, and counted as cancelled', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  const busy = [ask(decisions)];
  for (let i = 0; i < 3; i++) {
    await turn();
    busy.push(ask(decisions));
  }
  await turn();
  t.equal(store.waiting.length, 4, 'no further batch may leave');
  const calls = Array.from({ length: 3 }, () => abandonable(decisions));
  await turn();
  calls[1].reply.gone = true;
  store.waiting[0].pass();
  await turn();
  await turn();
  t.equal(store.waiting[4].ops, 2, 'its hits are not counted');
  for (const batch of store.waiting.slice(1)) batch.pass();
  await Promise.all(busy);
  t.same(await Promise.all(calls.map(call => call.answer)), ['answered', 'cancelled', 'answered']);
  t.match(decisions.rule('d.a'), { total_hits: 6, within_limit: 6 });
  const calls_ = 'ratelimit.service.call.should_rate_limit.';
  t.equal(decisions.counter(`${calls_}cancelled`), 1);
  t.equal(decisions.counter(`${calls_}service_error`), 0);
});

t.test('a call that ends while the store counts it is a call like any other', async t => {
  const store = new GatedStore();
  const decisions = new Decisions({ store, rules: RULES });
  const call = abandonable(decisions);
  await turn();
  call.reply.gone = true;
  store.waiting[0].pass();
  t.equal(await call.answer, 'answered');
  t.match(decisions.rule('d.a'), { total_hits: 1, within_limit: 1 });
});

t.test('bytes that are no message leave the others of their batch alone', async t => {
  const decisions = new Decisions({ store: embeddedStore(), rules: RULES });
  const first = ask(decisions);
  const garbage = decisions.askBytes(Buffer.from('garbage'), 'protobuf');
  const last = ask(decisions);
  await t.rejects(garbage, { code: 'unparseable' });
  t.same(
    (await Promise.all([first, last])).map(answer => answer.statuses[0].limitRemaining),
    [999, 998],
  );
});

/** A window that the test ends. */
class HandWindow {
  end: (() => void) | null = null;

  open(run: () => void): void {
    this.end = run;
  }

  shut(): void {
    this.end = null;
  }
}

t.test('where a window is set, a batch leaves at its end and not before', async t => {
  const store = new GatedStore();
  const window = new HandWindow();
  const decisions = new Decisions({ store, rules: RULES, window });
  const asked = [ask(decisions), ask(decisions)];
  await turn();
  asked.push(ask(decisions));
  await turn();
  t.equal(store.waiting.length, 0);
  window.end?.();
  t.same(store.sizes, [3]);
  asked.push(ask(decisions));
  await turn();
  store.waiting[0].pass();
  await turn();
  t.equal(store.waiting.length, 1, 'a batch that comes back does not end the window of the next');
  window.end?.();
  store.waiting[1].pass();
  t.equal((await Promise.all(asked)).length, 4);
});

t.test('a batch that is full does not wait for the end of its window', async t => {
  const store = new GatedStore();
  const window = new HandWindow();
  const decisions = new Decisions({ store, rules: RULES, window });
  const asked = Array.from({ length: MAX_BATCH_REQUESTS + 1 }, () => ask(decisions));
  await turn();
  t.same(store.sizes, [MAX_BATCH_REQUESTS]);
  window.end?.();
  t.same(store.sizes, [MAX_BATCH_REQUESTS, 1]);
  for (const batch of store.waiting) batch.pass();
  await Promise.all(asked);
});
