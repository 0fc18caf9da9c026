import t from 'tap';
import { Allotment, type Allotted, type Wish, wishOf } from '../../../src/quota/allotment.ts';
import { newGrant } from '../../../src/quota/grant.ts';
import { type PrepaidWindow, roomIn } from '../../../src/quota/prepaid-limit.ts';
import { QuotaBucket } from '../../../src/quota/quota-bucket.ts';
import { QuotaStream } from '../../../src/quota/quota-stream.ts';
import { Subscriber } from '../../../src/quota/subscriber.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const NOW_MS = 1_700_000_000_000;

/** A bucket of a limit whose window has been going on for 10 s, or as long as it can. */
function bucketOf(lengthMs: number, grantable: number): { bucket: QuotaBucket; window: PrepaidWindow } {
  const bucket = new QuotaBucket('bucket', 'api', []);
  const fromMs = NOW_MS - Math.min(10_000, lengthMs / 2);
  const facts = { total: grantable, grantable, fromMs, toMs: fromMs + lengthMs, lengthMs };
  bucket.use(1, ['counter'], [facts]);
  bucket.look([facts], 10, NOW_MS);
  return { bucket, window: bucket.window(bucket.limits[0], facts, NOW_MS) };
}

/** A proxy of the bucket that was granted tokens some time ago, and gets requests at a rate. */
function proxyOf(
  bucket: QuotaBucket,
  tokens: number,
  sentMs: number,
  rate: number,
  intervalS = 1,
): Subscriber {
  const subscriber = new Subscriber(new QuotaStream('', () => {}), new Uint8Array(0), sentMs);
  bucket.subscribers.add(subscriber);
  bucket.tell(subscriber, 'token_bucket', [newGrant(tokens, intervalS, sentMs, 10)]);
  subscriber.demand = rate;
  subscriber.usage.intervalMs = 5_000;
  return subscriber;
}

/** Divides what is paid, and tells the proxies what they get. */
function divide(bucket: QuotaBucket, wishes: readonly Wish[]): Allotted[] {
  const given: Allotted[] = [];
  new Allotment(bucket, NOW_MS).divide(wishes, (allotted, { subscriber, grants }) => {
    given.push(allotted);
    if (allotted !== 'kept')
      bucket.tell(subscriber, allotted === 'denied' ? 'deny_all' : 'token_bucket', grants);
  });
  return given;
}

t.test('grants are sent only if all that proxies can admit is paid with them', async t => {
  const random = new SeededRandom(1);
  const seen = new Set<string>();
  for (let round = 0; round < 2_000; round++) {
    const { bucket, window } = bucketOf(random.pick([5_000, 60_000, 86_400_000]), 1_000_000);
    const proxies = Array.from({ length: 1 + random.below(6) }, () =>
      proxyOf(bucket, 1 + random.below(100), NOW_MS - random.below(12_000), random.below(200)),
    );
    window.spent = random.below(1_000);
    window.paid = Math.max(0, Math.round(window.spent + window.unreported + (random.next() - 0.4) * 3_000));
    const before = roomIn(window);
    const bounds = proxies.map(proxy => proxy.most(window));
    const given = divide(
      bucket,
      proxies.map(proxy => wishOf(bucket, proxy, NOW_MS)),
    );
    for (const each of given) seen.add(`${each} ${before < 0 ? 'short' : 'enough'}`);
    const haveMore = proxies.some((proxy, i) => proxy.most(window) > bounds[i] + 1e-6);
    t.ok(roomIn(window) >= -1e-5 || !haveMore, `${before} before, ${roomIn(window)} after`);
    if (!t.passing()) return;
  }
  t.same([...seen].sort(), [
    'denied enough',
    'denied short',
    'granted enough',
    'granted short',
    'kept enough',
    'kept short',
    'renewed enough',
    'renewed short',
  ]);
});

t.test(
  'a grant is not prolonged while what proxies can admit is not paid, also if it gets no whole fill more',
  async t => {
    const { bucket, window } = bucketOf(60_000, 1_000);
    const proxy = proxyOf(bucket, 1, NOW_MS - 6_500, 0, 5);
    bucket.intervalS = 5;
    const wish = wishOf(bucket, proxy, NOW_MS);
    t.ok(wish.isRenewal);
    t.equal(proxy.most(window, wish.grants) - proxy.most(window), 1);
    window.paid = window.unreported - 1;
    t.same(divide(bucket, [wish]), ['kept']);
  },
);

t.test('proxies that want little are served first, and the others get equal parts of the rest', async t => {
  const { bucket, window } = bucketOf(60_000, 100_000);
  const proxies = [10, 500, 700, 20].map(rate => proxyOf(bucket, 1, NOW_MS - 1_000, rate));
  window.paid = window.unreported + 6_000;
  const wishes = proxies.map(proxy => wishOf(bucket, proxy, NOW_MS));
  divide(bucket, wishes);
  const tokens = proxies.map(({ grants }) => grants.at(-1)!.tokens);
  t.same([tokens[0], tokens[3]], [wishes[0].tokens, wishes[3].tokens]);
  t.equal(tokens[1], tokens[2]);
  t.ok(tokens[1] > 100 && roomIn(window) >= 0 && roomIn(window) < 30, `${tokens}, ${roomIn(window)} left`);
});
