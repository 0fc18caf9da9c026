import t from 'tap';
import {
  DELAY_MS,
  ended,
  type Grant,
  isRenewable,
  mostFrom,
  newGrant,
  renewed,
  type Span,
  stillUsed,
} from '../../../src/quota/grant.ts';
import { ModelBucket, type ProxyKind, type ReadAction } from '../../support/quota/model-proxy.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const STEP_MS = 5;
const LENGTH_MS = 20_000;
const START_MS = 1_000_000;

/** What a desk has sent a proxy, and when the proxy has admitted requests with it. */
interface Run {
  readonly kind: ProxyKind;
  readonly grants: readonly Grant[];
  readonly admittedMs: readonly number[];
  /** When reports arrived. */
  readonly arrivedMs: readonly number[];
}

/**
 * A proxy that gets a request every 5 ms for 20 s, and is sent grants at random times. Messages arrive in their order, within
 * the delay that is reckoned with. If the stream breaks, those that are on their way get lost, and no others are sent.
 */
function run(random: SeededRandom): Run {
  const kind = random.pick<ProxyKind>(['envoy', 'old envoy', 'stepwise']);
  const bucket = new ModelBucket([['user', 'ann']], kind, 'deny');
  const intervalS = random.pick([1, 1, 2, 5]);
  const reportMs = random.pick([200, 1_000, 3_000]);
  const breaksMs = START_MS + random.below(2 * LENGTH_MS);
  const arriving: { readonly atMs: number; readonly action: ReadAction }[] = [];
  const admittedMs: number[] = [];
  const arrivedMs: number[] = [];
  let grants: readonly Grant[] = [];
  let lastMs = 0;
  for (let nowMs = START_MS; nowMs < START_MS + LENGTH_MS; nowMs += STEP_MS) {
    if (nowMs < breaksMs && random.below(200) === 0) {
      const next = nextGrants(grants, intervalS, nowMs, random);
      grants = next.grants;
      lastMs = Math.max(lastMs, nowMs + random.below(DELAY_MS));
      if (lastMs < breaksMs) arriving.push({ atMs: lastMs, action: next.action });
    }
    while (arriving.length > 0 && arriving[0].atMs <= nowMs) bucket.apply(arriving.shift()!.action, nowMs);
    if (bucket.request(nowMs).isAllowed) admittedMs.push(nowMs);
    const reportedMs = nowMs + random.below(DELAY_MS);
    if (nowMs % reportMs === 0 && reportedMs < breaksMs) arrivedMs.push(reportedMs);
  }
  return { kind, grants, admittedMs, arrivedMs };
}

/** The grants of a proxy with the next one, and how the proxy is told of it. */
function nextGrants(
  grants: readonly Grant[],
  intervalS: number,
  nowMs: number,
  random: SeededRandom,
): { readonly grants: readonly Grant[]; readonly action: ReadAction } {
  const ttlS = random.pick([2, 5, 10]);
  const last = grants.at(-1);
  const shared = { bucket: 'user=ann', intervalS, ttlS };
  if (last !== undefined && last.tokens > 0 && isRenewable(last, nowMs) && random.next() < 0.5) {
    const more = renewed(last, nowMs, ttlS);
    return {
      grants: [...grants.slice(0, -1), more],
      action: { ...shared, kind: 'token_bucket', tokens: more.tokens },
    };
  }
  if (last !== undefined && random.next() < 0.2)
    return { grants: ended(grants, nowMs, ttlS), action: { ...shared, kind: 'deny_all', tokens: 0 } };
  const grant = newGrant(1 + random.below(random.pick([5, 100])), intervalS, nowMs, ttlS);
  return { grants: [...grants, grant], action: { ...shared, kind: 'token_bucket', tokens: grant.tokens } };
}

function admittedIn({ admittedMs }: Run, { fromMs, toMs }: Pick<Span, 'fromMs' | 'toMs'>): number {
  return admittedMs.filter(ms => ms >= fromMs && ms < toMs).length;
}

function spanOf(random: SeededRandom): Pick<Span, 'fromMs' | 'toMs'> {
  const fromMs = START_MS - 1_000 + random.below(LENGTH_MS);
  return { fromMs, toMs: fromMs + random.below(random.pick([2_000, LENGTH_MS])) };
}

const RUNS = Array.from({ length: 150 }, (_, seed) => run(new SeededRandom(seed)));

t.test('`all` bounds what a proxy admits in a span, whether or not messages get lost', async t => {
  const random = new SeededRandom(1);
  let closest = 0;
  for (const each of RUNS)
    for (let i = 0; i < 50; i++) {
      const span = spanOf(random);
      const most = mostFrom(each.grants, { ...span, reckoning: 'all' });
      const admitted = admittedIn(each, span);
      if (admitted > most) t.fail(`${each.kind}: ${admitted} of ${most}`);
      if (admitted > 10) closest = Math.max(closest, admitted / most);
    }
  t.ok(closest > 0.6, `${closest} of the bound is reached`);
});

t.test('`all` bounds what is admitted since a report with the grants that may still be used', async t => {
  const random = new SeededRandom(2);
  let fewer = 0;
  for (const each of RUNS)
    for (const arrivedMs of each.arrivedMs) {
      const span = spanOf(random);
      const since = { ...span, fromMs: Math.max(span.fromMs, arrivedMs - DELAY_MS) };
      const grants = stillUsed(each.grants, arrivedMs);
      const most = mostFrom(grants, { ...since, reckoning: 'all' });
      const admitted = admittedIn(each, since);
      if (admitted > most) t.fail(`${each.kind}: ${admitted} of ${most}`);
      if (grants.length < each.grants.length) fewer++;
    }
  t.ok(fewer > 100);
});

t.test(
  'a proxy admits at most `flow` and two fills of each grant: one saved up, one that is just due',
  async t => {
    const random = new SeededRandom(3);
    let more = 0;
    for (const each of RUNS)
      for (let i = 0; i < 50; i++) {
        const span = spanOf(random);
        const flow = mostFrom(each.grants, { ...span, reckoning: 'flow' });
        const fills = each.grants.reduce((sum, { tokens }) => sum + 2 * tokens, 0);
        const admitted = admittedIn(each, span);
        if (admitted > flow + fills) t.fail(`${each.kind}: ${admitted} of ${flow} and ${fills}`);
        if (admitted > flow) more++;
      }
    t.ok(more > 100, 'the flow alone is no bound');
  },
);

t.test('a grant of 10 tokens a second', async t => {
  const grant = newGrant(10, 1, 0, 10);
  const most = (fromMs: number, toMs: number, reckoning: Span['reckoning'] = 'all') =>
    mostFrom([grant], { fromMs, toMs, reckoning });
  t.equal(most(2_000, 2_001), 20, 'one fill is saved up, and one may be due');
  t.equal(most(2_000, 4_999), 40, 'two intervals more');
  t.equal(most(-5_000, 60_000), 130, '10 s after its arrival, which may be a second late');
  t.equal(most(11_000, 60_000), 0, 'it has ended');
  t.equal(most(2_000, 4_500, 'flow'), 25);
});

t.test('a smaller grant replaces one of 10 tokens a second', async t => {
  const grants = [newGrant(10, 1, 0, 10), newGrant(2, 1, 4_000, 10)];
  const most = (of: readonly Grant[]) => mostFrom(of, { fromMs: 4_000, toMs: 60_000, reckoning: 'all' });
  t.equal(most(grants), 30 + 26 + 6 * 8, 'the first one may be used to its end');
  t.equal(
    most(stillUsed(grants, 5_999)),
    most(grants),
    'a report may be older than the arrival of the second',
  );
  t.equal(most(stillUsed(grants, 6_000)), 26, 'a report shows that the second one has arrived');
});

t.test('a proxy without a grant is not denied anything that it could lose', async t => {
  t.same(ended([], 0, 10), []);
  const denied = ended([newGrant(10, 1, 0, 10)], 1_000, 10);
  t.equal(ended(denied, 2_000, 10), denied);
});
