import t from 'tap';
import { ANSWER } from '../../../src/rules/domain-answers.ts';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { embeddedStore } from '../../support/stores.ts';

const RULES = `
domain: d
descriptors:
  - key: user
    holder: id
    rate_limit: {concurrency: {limit: 5, for: 10m}, name: slots}
  - key: team
    holder: id
    rate_limits:
      - {unit: day, requests_per_unit: 7, reserve: {for: 90s, overdraft: allow, estimate: 2}}
      - {unit: day, requests_per_unit: 9, name: once}
  - key: cost
    rate_limit: {unit: day, requests_per_unit: 9, scale: 1000}
`;

function deciding(options = {}): Decisions {
  return new Decisions({ store: embeddedStore(), rules: RULES, options });
}

t.test('a limit on concurrency has no unit in answers', async t => {
  const decisions = deciding();
  const { statuses } = await decisions.ask(request('d', 'user=a,id=1'));
  t.match(statuses, [{ currentLimit: { requestsPerUnit: 5, unit: 0, name: 'slots' }, limitRemaining: 4 }]);
  const { text } = await decisions.askJson(request('d', 'user=a,id=2'));
  t.strictSame(JSON.parse(text).statuses[0].currentLimit, { name: 'slots', requestsPerUnit: 5 });
});

t.test('there are headers for each unit, and none for concurrency', async t => {
  const { responseHeadersToAdd } = await deciding({ unitHeaders: true }).ask(
    request('d', 'user=a,id=1', 'cost=a'),
  );
  t.strictSame(
    responseHeadersToAdd.map(({ key }) => key),
    ['RateLimit-Limit-Days', 'RateLimit-Remaining-Days'],
  );
});

t.test('the policy of a limit on concurrency says its quota unit instead of a window', async t => {
  const decisions = deciding({ answers: ANSWER.ratelimitHeaders });
  const { responseHeadersToAdd } = await decisions.ask(request('d', 'user=a,id=1'));
  t.match(responseHeadersToAdd, [
    { key: 'RateLimit-Policy', value: '"slots";q=5;qu="concurrent-requests"' },
    { key: 'RateLimit', value: /^"slots";r=4;t=\d+$/ },
  ]);
});

t.test('an explanation says what is held', async t => {
  const decisions = deciding();
  await decisions.ask(request('d', 'user=a,id=1', descriptor('team=a,id=1', { hitsAddend: 3 })));
  await decisions.ask(request('d', descriptor('team=a', { hitsAddend: 2 })));
  const { descriptors } = await decisions.explain(request('d', 'user=a,id=2', 'team=a,id=2'));
  t.match(descriptors[0], { level: '1 of 5 slots are held', window: undefined, count: { now: 1, after: 2 } });
  t.match(descriptors[1].limits, [
    { level: '2 hits are spent in this window, and 3 are held', window: { start: /T00:00/ } },
    { level: '5 hits are spent in this window, and 0 are held' },
  ]);
});

t.test('an explanation says how leases work, and what a request is worth', async t => {
  const decisions = deciding();
  const explained = async (text: string) => (await decisions.explain(request('d', text))).descriptors[0];
  const common = { forSeconds: 600, holder: 'id', zeroHits: 'extend', overdraft: 'refuse_next' };
  t.match(await explained('user=a,id=1'), {
    levels: [{ matched: 'by key alone' }, { entry: 'id=1', matched: 'as holder' }],
    why: '`user` matches `user=a` by key alone, then `id=1` is the holder',
    limit: {
      requestsPerUnit: 5,
      unit: 'UNKNOWN',
      window: 'concurrency',
      lease: { mode: 'concurrency', ...common },
    },
  });
  const { limits } = await explained('team=a,id=1');
  const held = { ...common, forSeconds: 90, estimate: 2 };
  t.match(limits, [
    { limit: { window: '1d', lease: { mode: 'reserve', ...held, overdraft: 'allow' } } },
    { limit: { window: '1d', lease: { mode: 'once', ...held } } },
  ]);
  t.match(await explained('cost=a'), { limit: { requestsPerUnit: 9, scale: 1_000, lease: undefined } });
});
