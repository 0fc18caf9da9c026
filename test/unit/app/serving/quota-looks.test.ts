import t from 'tap';
import type { ToServingThread } from '../../../../src/app/serving/messages.ts';
import { QuotaLooks } from '../../../../src/app/serving/quota-looks.ts';
import type { BucketView, DeskQuestion, DeskView } from '../../../../src/quota/desk-view.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const QUESTION: DeskQuestion = { domain: null, names: null, most: 1, mostProxies: 1 };

function bucket(name: string, demand: number): BucketView {
  return {
    name,
    domain: 'api',
    entries: [],
    verdict: 'allow_all',
    isUnserved: false,
    limits: [],
    grantS: 0,
    intervalS: 1,
    rate: null,
    cap: null,
    retryMs: null,
    demand,
    allowed: demand,
    denied: 0,
    proxyCount: 0,
    proxies: [],
  };
}

/** A thread with these buckets. It answers at once, or keeps what it was asked if it is busy. */
class FakeThread {
  readonly asked: (readonly string[] | null)[] = [];
  readonly kept: number[] = [];
  isBusy = false;
  readonly #buckets: readonly BucketView[];
  looks: QuotaLooks | null = null;

  constructor(buckets: readonly BucketView[]) {
    this.#buckets = buckets;
  }

  readonly post = (message: ToServingThread): void => {
    if (message.kind !== 'quotas') return;
    this.asked.push(message.question.names);
    if (this.isBusy) this.kept.push(message.number);
    else this.answer(message.number, message.question);
  };

  answer(number: number, { names, most }: DeskQuestion): void {
    const of = this.#buckets.filter(({ name }) => names === null || names.includes(name));
    const demand = of.reduce((sum, each) => sum + each.demand, 0);
    const totals = { buckets: of.length, proxies: 0, demand, allowed: demand, denied: 0 };
    const view: DeskView = { streams: 1, totals, buckets: of.slice(0, most) };
    this.looks!.answered(this, number, [view, '']);
  }
}

function looksAt(...threads: readonly FakeThread[]) {
  const clock = new ManualClock(0);
  const looks = new QuotaLooks(() => threads, clock);
  for (const thread of threads) thread.looks = looks;
  return { looks, clock };
}

t.test('the desks of all threads are seen as one', async t => {
  const { looks } = looksAt(new FakeThread([bucket('a', 2)]), new FakeThread([bucket('a', 3)]));
  t.match(await looks.look(QUESTION), {
    view: { streams: 2, totals: { buckets: 1, demand: 5 }, buckets: [{ name: 'a', demand: 5 }] },
    isComplete: true,
  });
});

t.test(
  'threads are asked again for what they have not listed of the buckets with the most demand',
  async t => {
    const threads = [new FakeThread([bucket('a', 9)]), new FakeThread([bucket('b', 8), bucket('a', 7)])];
    const { looks } = looksAt(...threads);
    const { view } = await looks.look(QUESTION);
    t.match(view.buckets, [{ name: 'a', demand: 16 }]);
    t.match(view.totals, { demand: 24 });
    t.same(threads[0].asked, [null, ['a']]);
  },
);

t.test(
  'a thread that does not answer in time is left out, and the answer says that it is not complete',
  async t => {
    const busy = new FakeThread([bucket('a', 9)]);
    busy.isBusy = true;
    const { looks, clock } = looksAt(busy, new FakeThread([bucket('b', 1)]));
    const looked = looks.look(QUESTION);
    await new Promise(setImmediate);
    clock.advance(1_000);
    t.match(await looked, { view: { buckets: [{ name: 'b' }] }, isComplete: false });
    busy.answer(busy.kept[0], QUESTION);
    busy.isBusy = false;
    t.match(await looks.look(QUESTION), { view: { buckets: [{ name: 'a' }] }, isComplete: true });
  },
);

t.test('a look does not wait for a thread that has ended', async t => {
  const dying = new FakeThread([]);
  dying.isBusy = true;
  const { looks } = looksAt(dying);
  const looked = looks.look(QUESTION);
  looks.ended(dying);
  t.match(await looked, { view: { streams: 0, buckets: [] }, isComplete: false });
});
