import t, { type Test } from 'tap';
import type { Fault } from '../../../../src/base/fault.ts';
import { LARGE_REQUEST_BYTES, MAX_BATCH_REQUESTS } from '../../../../src/decision/batching/batcher.ts';
import { CALLER_SHARE, MAX_QUEUED_BYTES } from '../../../../src/decision/batching/queue-room.ts';
import { encodeRateLimitRequest } from '../../../../src/messages/client-codec.ts';
import { Decisions, request } from '../../../support/decisions.ts';
import { GatedStore } from '../../../support/gated-store.ts';
import { embeddedStore } from '../../../support/stores.ts';

const RULES =
  'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: minute, requests_per_unit: 1000000}\n';
const SMALL = encodeRateLimitRequest(request('d', 'a=x'));
const LARGE = encodeRateLimitRequest(request('d', `a=${'x'.repeat(LARGE_REQUEST_BYTES)}`));

const turn = () => new Promise(resolve => setImmediate(resolve));

class PassingStore extends GatedStore {
  async passOne(): Promise<void> {
    this.waiting.shift()?.pass();
    await turn();
  }

  async passAll(): Promise<void> {
    while (this.waiting.length > 0) await this.passOne();
  }
}

/** A connection that asks, and what its requests came to. */
class Asking {
  readonly outcomes: string[] = [];
  readonly refusals: string[] = [];
  readonly #decisions: Decisions;

  constructor(decisions: Decisions) {
    this.#decisions = decisions;
  }

  ask(count: number, bytes: Uint8Array = SMALL): void {
    for (let i = 0; i < count; i++) {
      this.#decisions.batcher.decide(bytes, 'protobuf', {
        caller: this,
        gone: false,
        answered: () => this.outcomes.push('answered'),
        refused: (fault: Fault) => {
          this.outcomes.push(fault.code);
          this.refusals.push(fault.message);
        },
      });
    }
  }

  get answered(): number {
    return this.outcomes.filter(outcome => outcome === 'answered').length;
  }
}

/** A service whose store holds all batches that may be in flight, and all of them are a flooder's. */
async function flooded(t: Test, maxQueued = 100_000) {
  const store = new PassingStore();
  const decisions = new Decisions({ store, rules: RULES, maxQueued });
  const flooder = new Asking(decisions);
  flooder.ask(6 * MAX_BATCH_REQUESTS);
  await turn();
  t.equal(store.waiting.length, 4, 'no further batch may leave');
  return { store, decisions, flooder };
}

t.test('a caller that asks for little is in the next batch, however much another has waiting', async t => {
  const { store, decisions, flooder } = await flooded(t);
  const honest = new Asking(decisions);
  for (let call = 1; call <= 3; call++) {
    honest.ask(1);
    await turn();
    // What was in flight and what was filling before it came.
    for (let batch = 0; batch < 6; batch++) await store.passOne();
    t.equal(honest.answered, call);
    flooder.ask(6 * MAX_BATCH_REQUESTS);
    await turn();
  }
  await store.passAll();
  t.equal(flooder.answered, 24 * MAX_BATCH_REQUESTS);
  t.equal(decisions.batcher.pending, 0);
});

t.test('callers with requests waiting get the same part of each batch', async t => {
  const { store, decisions } = await flooded(t);
  const others = Array.from({ length: 4 }, () => new Asking(decisions));
  for (const other of others) other.ask(2 * MAX_BATCH_REQUESTS);
  await turn();
  for (let batch = 0; batch < 9; batch++) await store.passOne();
  const counts = others.map(other => other.answered);
  t.ok(Math.min(...counts) > 0, counts.join());
  // The one that came first found the places that are kept in a batch for those who have nothing waiting.
  t.ok(Math.max(...counts) - Math.min(...counts) <= 66, counts.join());
  await store.passAll();
  for (const other of others) t.equal(other.answered, 2 * MAX_BATCH_REQUESTS);
});

t.test('large requests are decided alone, one after the other, and do not hold up others', async t => {
  const store = new PassingStore();
  const decisions = new Decisions({ store, rules: RULES });
  const order: string[] = [];
  const ask = (name: string, bytes: Uint8Array) =>
    decisions.batcher.decide(bytes, 'protobuf', {
      caller: order,
      gone: false,
      answered: () => order.push(name),
      refused: () => order.push(`${name} refused`),
    });
  ask('large', LARGE);
  ask('small', SMALL);
  ask('second large', LARGE);
  await turn();
  t.same(store.sizes, [1, 1]);
  ask('one', SMALL);
  ask('two', SMALL);
  await turn();
  t.same(store.sizes, [1, 1, 2]);
  await store.passAll();
  t.same(order.toSorted(), ['large', 'one', 'second large', 'small', 'two']);
  t.equal(order.at(-1), 'second large');
});

t.test('answers of a batch are there before the next batch is decided', async t => {
  const decisions = new Decisions({ store: embeddedStore(), rules: RULES });
  const seen: string[] = [];
  const ask = (name: string, bytes: Uint8Array) =>
    decisions.batcher.decide(bytes, 'protobuf', {
      caller: seen,
      gone: false,
      answered: () => {
        seen.push(name);
        queueMicrotask(() => seen.push(`${name} is written`));
      },
      refused: () => t.fail(),
    });
  ask('small', SMALL);
  ask('large', LARGE);
  ask('second large', LARGE);
  await turn();
  for (let i = 0; i < seen.length; i += 2) t.equal(seen[i + 1], `${seen[i]} is written`);
  t.equal(seen.length, 6);
});

t.test('one caller fills a part of the queue, in requests, and its refusal names the bound', async t => {
  const maxQueued = 8 * MAX_BATCH_REQUESTS;
  const { store, decisions, flooder } = await flooded(t, maxQueued);
  flooder.ask(2 * MAX_BATCH_REQUESTS);
  t.match(flooder.refusals[0], /of this connection are waiting.* quarter of the queue.*MAX_QUEUED_DECISIONS/);
  t.ok(decisions.batcher.pending < maxQueued);
  const other = new Asking(decisions);
  other.ask(100);
  t.same(other.refusals, []);
  await turn();
  await store.passAll();
  t.equal(other.answered, 100);
  t.ok(maxQueued * CALLER_SHARE < flooder.answered);
});

t.test('one caller fills a part of the queue, in bytes, and its refusal names the bound', async t => {
  const { store, decisions } = await flooded(t);
  const huge = encodeRateLimitRequest(request('d', `a=${'x'.repeat(1_000_000)}`));
  const large = new Asking(decisions);
  large.ask(60, huge);
  t.match(large.refusals[0], /bytes of this connection are waiting.*67108864 bytes/);
  t.ok(60 - large.refusals.length <= (MAX_QUEUED_BYTES * CALLER_SHARE) / 1_000_000 + 1);
  const other = new Asking(decisions);
  other.ask(1, huge);
  t.same(other.refusals, []);
  await turn();
  await store.passAll();
  t.equal(other.answered, 1);
});

t.test('when many callers have filled the queue, one with nothing waiting still finds a place', async t => {
  const { store, decisions } = await flooded(t);
  const huge = encodeRateLimitRequest(request('d', `a=${'x'.repeat(1_000_000)}`));
  const flooders = Array.from({ length: 10 }, () => new Asking(decisions));
  for (const each of flooders) each.ask(20, huge);
  t.match(flooders[9].refusals[0], /the queue is full: \d+ of 67108864 bytes are waiting/);
  const honest = new Asking(decisions);
  honest.ask(1);
  t.same(honest.refusals, []);
  await turn();
  await store.passAll();
  t.equal(honest.answered, 1);
});
