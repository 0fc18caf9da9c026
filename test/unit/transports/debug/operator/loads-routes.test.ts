import type { Test } from 'tap';
import { compileRules } from '../../../../../src/rules/compile.ts';
import { CompiledRules } from '../../../../../src/rules/compiled-rules.ts';
import { MAX_LISTED, MAX_LOADS, RuleLoads } from '../../../../../src/rules/words/rule-loads.ts';
import { loadsRoutes } from '../../../../../src/transports/debug/operator/loads-routes.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { operatorApi } from '../../../../support/operator-api.ts';
import { compiled, load } from '../../../rules/parse/rule-text.ts';
import { onEachEngine } from '../../http/on-each-engine.ts';
import { askingOperator, startedDebugServer } from '../debugging.ts';

/** Rules of the domain `d`, by key: the limit as YAML. */
function rules(limits: Readonly<Record<string, string>>): CompiledRules {
  const entries = Object.entries(limits).map(([key, limit]) => `{key: ${key}, rate_limit: {${limit}}}`);
  return new CompiledRules(compileRules(load(`domain: d\ndescriptors: [${entries.join(', ')}]`)));
}

async function served(t: Test) {
  const clock = new ManualClock(1_700_000_000_000);
  const loads = new RuleLoads(clock);
  const operator = operatorApi({ routes: loadsRoutes(loads), clock });
  const ask = askingOperator(await startedDebugServer(t, clock, { operator }));
  return { loads, get: async () => (await ask('/loads')).json.loads, clock };
}

const FIVE = 'unit: minute, requests_per_unit: 5';

onEachEngine('a load is told with the limits of which proxies get another part', async t => {
  const { loads, get } = await served(t);
  const [before, after] = ['quota: {share: 80%}', 'quota: {}'].map(quota =>
    compiled(
      `domain: d\ndescriptors: [{key: a, rate_limit: {${FIVE}}, ${quota}}, {key: b, rate_limit: {${FIVE}}}]`,
    ),
  );
  await loads.loaded({ rules: after, digest: 'b2' }, before);
  t.match((await get())[0].difference, {
    changed_count: 1,
    changed: [
      {
        path: 'd.a',
        before: 'at most 5 in each minute; proxies get at most 80% of it, for 10s each time',
        after: 'at most 5 in each minute',
      },
    ],
  });
});

onEachEngine('a load is told with what what it added, removed and changed', async t => {
  const { loads, get } = await served(t);
  t.same(await get(), []);
  const first = rules({
    a: FIVE,
    b: FIVE,
    c: FIVE,
    e: 'window: 5m, requests_per_unit: 5',
    f: `${FIVE}, penalty: {for: 1m}`,
    g: `${FIVE}, classes: {key: tier, a: 100%, b: 60%}`,
    h: `${FIVE}, after_limit: {admit: 10%}`,
    i: `${FIVE}, scale: 10`,
    j: `${FIVE}, reserve: {for: 1m, estimate: 2}`,
  });
  await loads.loaded({ rules: first, digest: 'a1' }, null);
  const next = rules({
    b: 'unit: minute, requests_per_unit: 6',
    c: FIVE,
    d: FIVE,
    e: 'window: 5m, requests_per_unit: 5, algorithm: sliding_window',
    f: `${FIVE}, penalty: {for: 2m}`,
    g: `${FIVE}, classes: {key: tier, a: 100%, b: 80%}`,
    h: `${FIVE}, after_limit: {admit: 20%}`,
    i: `${FIVE}, scale: 20`,
    j: `${FIVE}, reserve: {for: 1m, estimate: 4}`,
  });
  await loads.loaded({ rules: next, digest: 'b2' }, first);
  const [latest, earlier] = await get();
  t.match(earlier, { outcome: 'active', domains: 1, limits: 9, digest: 'a1', difference: null });
  t.match(latest, {
    time: '2023-11-14T22:13:20.000Z',
    outcome: 'active',
    reasons: [],
    faults: [],
    difference: {
      added_count: 1,
      removed_count: 1,
      changed_count: 7,
      added: ['d.d'],
      removed: ['d.a'],
      changed: [
        { path: 'd.b', before: 'at most 5 in each minute', after: 'at most 6 in each minute' },
        { path: 'd.e', before: /^at most 5/, after: /and about as many in any/ },
        { path: 'd.f', before: /is penalized for 1m$/, after: /is penalized for 2m$/ },
        {
          path: 'd.g',
          before: /; by tier: a up to 5, b up to 3, others up to 3$/,
          after: /b up to 4, others up to 4$/,
        },
        { path: 'd.h', before: /; of the hits beyond it, 10% pass$/, after: /20% pass$/ },
        { path: 'd.i', before: /; each one is worth 10 hits$/, after: /worth 20 hits$/ },
        { path: 'd.j', before: /; each call without hits holds 2 for 1m/, after: /holds 4 for 1m/ },
      ],
    },
  });
});

onEachEngine('limits that differ only beyond 32 bits are told as changed', async t => {
  const { loads, get } = await served(t);
  const bucket = 'unit: minute, requests_per_unit: 60000, algorithm: token_bucket, burst: ';
  const first = rules({ a: FIVE, b: `${bucket}5` });
  const next = rules({ a: 'unit: minute, requests_per_unit: 4294967301', b: `${bucket}4294967301` });
  await loads.loaded({ rules: next, digest: 'b2' }, first);
  const [{ difference }] = await get();
  t.match(difference.changed, [
    { path: 'd.a', before: 'at most 5 in each minute', after: 'at most 4294967301 in each minute' },
    { path: 'd.b', before: /bursts of at most 5,/, after: /bursts of at most 4294967301,/ },
  ]);
});

onEachEngine('faults are told with their places', async t => {
  const { loads, get } = await served(t);
  const fault = { file: 'a.yaml', line: 3, column: 5, path: 'd.user', message: 'the limit has no unit' };
  loads.notLoaded('refused', ['a.yaml:3:5: d.user: the limit has no unit'], [fault]);
  loads.notLoaded('failed', ['out of memory']);
  const [failed, refused] = await get();
  t.match(failed, { outcome: 'failed', reasons: ['out of memory'], faults: [], domains: null });
  t.match(refused, { outcome: 'refused', faults: [fault], digest: null, difference: null });
});

onEachEngine('lists and the number of loads are bounded', async t => {
  const { loads, get } = await served(t);
  const many = rules(Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`k${i}`, FIVE])));
  await loads.loaded({ rules: many, digest: 'c3' }, rules({ a: FIVE }));
  const [{ difference }] = await get();
  t.equal(difference.added_count, 2_000);
  t.equal(difference.added.length, MAX_LISTED);
  for (let i = 0; i < MAX_LOADS; i++) loads.notLoaded('refused', Array(1_000).fill('a fault'));
  const all = await get();
  t.equal(all.length, MAX_LOADS);
  t.ok(
    all.every(
      ({ outcome, reasons }: { outcome: string; reasons: string[] }) =>
        outcome === 'refused' && reasons.length <= 20,
    ),
  );
});
