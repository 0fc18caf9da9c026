import t, { type Test } from 'tap';
import { Seats } from '../../../../src/decision/hot-keys/seats.ts';
import { encodeRateLimitRequest } from '../../../../src/messages/client-codec.ts';
import { request } from '../../../support/decisions.ts';
import { WatchedDecisions } from '../../../support/hot-keys.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { embeddedStore } from '../../../support/stores.ts';

const RULES = `
domain: d
descriptors:
  - key: big
    rate_limit: { unit: hour, requests_per_unit: 100 }
  - key: small
    rate_limit: { unit: hour, requests_per_unit: 3 }
`;
const REQUESTS = 40_000;

const IGNORED = {
  gone: false,
  answered: () => {},
  refused: (fault: Error) => {
    throw fault;
  },
};

interface Traffic {
  readonly watched: WatchedDecisions;
  /** Exact hits by key. */
  readonly exact: ReadonlyMap<string, number>;
}

/**
 * Requests with the keys that `next` returns, `batch` at a time, and one in 500 with one of five keys of the small rule.
 * The clock moves by a second with every `perSecond` requests.
 */
async function traffic(next: () => string, perSecond: number): Promise<Traffic> {
  const watched = new WatchedDecisions({ store: embeddedStore(131_072), rules: RULES });
  const { decisions } = watched;
  const exact = new Map<string, number>();
  const encoded = new Map<string, Uint8Array>();
  const batch = 100;
  for (let at = 0; at < REQUESTS; at += batch) {
    if (at > 0 && at % perSecond === 0) decisions.clock.advance(1_000);
    for (let i = at; i < at + batch; i++) {
      const key = i % 500 === 7 ? `small=${Math.floor(i / 500) % 5}` : next();
      exact.set(key, (exact.get(key) ?? 0) + 1);
      const bytes = encoded.get(key) ?? encodeRateLimitRequest(request('d', key));
      encoded.set(key, bytes);
      decisions.batcher.decide(bytes, 'protobuf', IGNORED);
    }
    await decisions.batcher.drained();
  }
  return { watched, exact };
}

/** Checks the keys that are found, and that no key is missing that must be found. */
function checkTop(t: Test, { watched, exact }: Traffic, rule: string, span: 'minute' | 'hour'): void {
  const { keys } = watched.hotKeys.top(watched.limit(`d.${rule}`), span, 4_096);
  const found = new Map(keys.map(hot => [hot.key, hot]));
  const wrong = keys.filter(({ key, hits, error }) => Math.abs(hits - exact.get(key)!) > error);
  t.same(wrong, [], `${rule}, ${span}: hits differ by at most the stated error`);
  const mostError = Math.max(...keys.map(({ error }) => error));
  const missing = [...exact].filter(
    ([key, hits]) => key.startsWith(`${rule}=`) && hits > mostError && !found.has(key),
  );
  t.same(missing, [], `${rule}, ${span}: every key with more hits than the error is found`);
}

/** Values with the frequencies of Zipf's law: the value n has a share proportional to 1 / n. */
function zipf(values: number, random: SeededRandom): () => string {
  const sums: number[] = [];
  for (let n = 1; n <= values; n++) sums.push((sums.at(-1) ?? 0) + 1 / n);
  return () => {
    const at = random.next() * sums[values - 1];
    let low = 0;
    let high = values - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] < at) low = middle + 1;
      else high = middle;
    }
    return `big=${low}`;
  };
}

t.test('skewed traffic: the first keys are exact, and the error of the others is stated', async t => {
  const result = await traffic(zipf(20_000, new SeededRandom(7)), 2_000);
  for (const span of ['minute', 'hour'] as const) {
    checkTop(t, result, 'big', span);
    checkTop(t, result, 'small', span);
  }
  const { watched, exact } = result;
  const top = watched.hotKeys.top(watched.limit('d.big'), 'minute', 20).keys;
  const expected = [...exact].filter(([key]) => key.startsWith('big=')).sort((a, b) => b[1] - a[1]);
  t.same(
    top.slice(0, 10).map(({ key, hits, error }) => [key, hits, error]),
    expected.slice(0, 10).map(([key, hits]) => [key, hits, 0]),
    'exact, because all descriptors are counted at this rate',
  );
  t.equal(top[0].refused, top[0].hits - 100, 'refused hits as well');
});

t.test('flat traffic: no key stands out, and a rule with few hits has all of its keys', async t => {
  const random = new SeededRandom(8);
  const result = await traffic(() => `big=${random.below(50_000)}`, 2_000);
  for (const span of ['minute', 'hour'] as const) {
    checkTop(t, result, 'big', span);
    checkTop(t, result, 'small', span);
  }
  const { watched, exact } = result;
  const { keys } = watched.hotKeys.top(watched.limit('d.small'), 'minute', 9);
  t.same(
    keys.map(({ key, hits, error }) => [key, hits, error]).sort(),
    [...exact]
      .filter(([key]) => key.startsWith('small='))
      .map(([key, hits]) => [key, hits, 0])
      .sort(),
  );
  const mostError = Math.max(
    ...watched.hotKeys.top(watched.limit('d.big'), 'minute', 100).keys.map(key => key.error),
  );
  // Two tables of 128 buckets with 16 entries each; the fullest bucket has less than twice its share.
  t.ok(mostError < (2 * REQUESTS) / (128 * 16) + 16, 'the error is small compared to all hits', {
    mostError,
  });
});

t.test('sampled traffic: estimates differ by at most three standard deviations', async t => {
  const result = await traffic(zipf(5_000, new SeededRandom(9)), REQUESTS);
  const { watched, exact } = result;
  const top = watched.hotKeys.top(watched.limit('d.big'), 'minute', 50).keys;
  t.ok(top[0].error > 0, 'it is sampled');
  const wrong = top.filter(({ key, hits, error }) => Math.abs(hits - exact.get(key)!) > error);
  t.same(wrong, []);
  const [first] = top;
  t.ok(first.error < 0.15 * first.hits, 'the error of the first key is small', { first });
});

t.test('many keys of many rules take no more memory', async t => {
  const seats = Seats.create(64);
  const bytes = seats.buffers.reduce((sum, buffer) => sum + buffer.byteLength, 0);
  t.equal(bytes, 24 * 1024 * 1024, 'four seats, whatever the number of threads');
  const rules = Array.from(
    { length: 5_000 },
    (_, i) => `  - key: k${i}\n    rate_limit: { unit: day, requests_per_unit: 1 }`,
  );
  const watched = new WatchedDecisions(
    { store: embeddedStore(131_072), rules: `domain: d\ndescriptors:\n${rules.join('\n')}` },
    seats,
  );
  for (let i = 0; i < 20_000; i += 100) {
    const asked = Array.from({ length: 100 }, (_, j) => request('d', `k${(i + j) % 5_000}=${i % 7}`));
    await Promise.all(asked.map(each => watched.decisions.ask(each)));
  }
  const found = watched.hotKeys.top(null, 'minute', 100_000).keys;
  t.ok(found.length <= 128 * 16, 'at most the entries of the tables', { found: found.length });
  t.ok(watched.refusals.recent(10_000).length <= 1_024, 'and of the table of refusals');
});
