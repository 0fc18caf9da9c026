import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { CounterStore } from '../../../../src/counters/store.ts';
import { RulesPublisher } from '../../../../src/decision/generations/rules-publisher.ts';
import { RulesSubscriber } from '../../../../src/decision/generations/rules-subscriber.ts';
import { RuleGeneration, RuleStatistics } from '../../../../src/decision/statistics/rule-statistics.ts';
import { addTotal, totalOf } from '../../../../src/decision/statistics/shared-totals.ts';
import { Decisions, request } from '../../../support/decisions.ts';
import { each } from '../../../support/each.ts';
import { embeddedStore } from '../../../support/stores.ts';
import { until } from '../../../support/until.ts';
import { compiled } from '../../rules/parse/rule-text.ts';

/** The rule `a` with this limit. */
function generation(limit: number): RuleGeneration {
  const text = `domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: ${limit}}}]`;
  return new RuleGeneration(compiled(text));
}

function publisherFor(t: Test): RulesPublisher {
  const publisher = new RulesPublisher();
  t.teardown(() => {
    for (const threadId of [1, 2]) publisher.detach(threadId);
  });
  return publisher;
}

t.test('a batch that starts after rules were published uses them at once', async t => {
  const publisher = publisherFor(t);
  const subscriber = new RulesSubscriber(publisher.attach(1));
  t.equal(subscriber.current(), null);
  const first = generation(1);
  publisher.publish(first);
  t.equal(subscriber.current()?.number, first.number);
  addTotal(subscriber.current()!.statistics, 1, 5);
  t.equal(totalOf(first.statistics, 1), 5, 'with the same totals');
  publisher.publish(generation(2));
  const third = generation(3);
  publisher.publish(third);
  t.equal(subscriber.current()?.number, third.number);
  t.equal(subscriber.current(), subscriber.current());
});

t.test('a thread that is attached later has the current rules at once', async t => {
  const publisher = publisherFor(t);
  const first = generation(1);
  publisher.publish(first);
  const subscriber = new RulesSubscriber(publisher.attach(1));
  t.equal(subscriber.current()?.number, first.number);
});

t.test('a thread without batches releases old rules', async t => {
  const publisher = publisherFor(t);
  const rules = [generation(1), generation(2), generation(3)];
  publisher.publish(rules[0]);
  new RulesSubscriber(publisher.attach(1));
  new RulesSubscriber(publisher.attach(2));
  publisher.publish(rules[1]);
  publisher.publish(rules[2]);
  t.same(each(rules, 'isIdle'), [false, false, false]);
  await until(() => rules[0].isIdle && rules[1].isIdle);
  t.notOk(rules[2].isIdle);
});

t.test('replaced rules stay in use until the last batch of each thread has ended', async t => {
  const publisher = publisherFor(t);
  const old = generation(1);
  publisher.publish(old);
  const subscribers = [1, 2].map(threadId => new RulesSubscriber(publisher.attach(threadId)));
  const [slow] = subscribers.map(subscriber => subscriber.current()!);
  slow.begin();
  const next = generation(2);
  publisher.publish(next);
  for (const subscriber of subscribers) t.equal(subscriber.current()?.number, next.number);
  await nextTurn();
  t.notOk(old.isIdle);
  slow.end();
  await until(() => old.isIdle);
});

t.test('a thread that has ended uses no rules, whatever it was doing', async t => {
  const publisher = publisherFor(t);
  const old = generation(1);
  publisher.publish(old);
  const subscriber = new RulesSubscriber(publisher.attach(1));
  subscriber.current()!.begin();
  const next = generation(2);
  publisher.publish(next);
  subscriber.current();
  publisher.detach(1);
  t.ok(old.isIdle);
  t.ok(next.isIdle);
  publisher.detach(1);
  publisher.publish(generation(3));
  t.ok(next.isIdle, 'and is not counted again');
});

t.test('hits that a thread counts in replaced rules are reported', async t => {
  const publisher = publisherFor(t);
  const statistics = new RuleStatistics();
  const publish = (rules: RuleGeneration): void => {
    statistics.publish(rules);
    publisher.publish(rules);
  };
  const subscriber = new RulesSubscriber(publisher.attach(1));
  const held = Promise.withResolvers<void>();
  const counters = embeddedStore();
  const store: CounterStore = {
    name: 'slow',
    increment(batch) {
      counters.increment(batch);
      return held.promise;
    },
    incrementHoldingBack: batch => counters.incrementHoldingBack(batch),
    start: async () => {},
    stop: async () => {},
  };
  const decisions = new Decisions({ store, rules: null, generations: subscriber });
  publish(generation(10));
  const first = decisions.ask(request('d', 'a'));
  await nextTurn();
  publish(generation(20));
  const second = decisions.ask(request('d', 'a'));
  await nextTurn();
  for (const _pause of statistics.carryOver());
  held.resolve();
  t.equal((await first).statuses[0].currentLimit?.requestsPerUnit, 10);
  t.equal((await second).statuses[0].currentLimit?.requestsPerUnit, 20);
  t.match(Object.fromEntries(statistics.totals()), { 'ratelimit.service.rate_limit.d.a.total_hits': 2 });
});
