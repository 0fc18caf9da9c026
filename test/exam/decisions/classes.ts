import type { Test } from 'tap';
import { ANSWER } from '../../../src/rules/domain-answers.ts';
import { RULE_STATS } from '../../../src/stats/names.ts';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { record, sharedRecords } from '../../support/steering.ts';
import { deciding, type OpenStore, OVER_LIMIT, shown } from './examinee.ts';
import { bucket, type LimitText, limit, nested, ruleFile, sliding } from './rule-file.ts';
import { WatchedStore } from './watched-store.ts';

const CLASSES = { key: 'tier', critical: '100%', standard: '85%', sheddable: '60%' };

/** Ten hits each, with classes of 10, 8 and 6 hits. The clock stands 20 s into a minute. */
const LIMITS: readonly (readonly [name: string, limit: LimitText])[] = [
  ['a fixed window', limit(10, { unit: 'minute', classes: CLASSES })],
  ['a calendar', { calendar: { period: 'month', zone: 'UTC' }, requests_per_unit: 10, classes: CLASSES }],
  ['a sliding window', sliding(10, { classes: CLASSES })],
  ['a token bucket', bucket(60, 10, { classes: CLASSES })],
];

/** Limits with classes. */
export function examineClasses(t: Test, open: OpenStore): void {
  for (const [name, limits] of LIMITS) examineThresholds(t, open, name, limits);
  examineMatching(t, open);
  examineTimes(t, open);
  examineStatistics(t, open);
  examineOthers(t, open);
  examineCache(t, open);
  examineReloads(t, open);
  examineExplanations(t, open);
  equalsTheModel(t, open);
}

/** Asks with one descriptor, such as `k=v,tier=critical`: `OK 6`. */
async function ask(decisions: Decisions, text: string, hitsAddend = 1): Promise<string> {
  const { statuses } = await decisions.ask(request('d', descriptor(text, { hitsAddend })));
  return shown(statuses)[0];
}

function examineThresholds(t: Test, open: OpenStore, name: string, limits: LimitText): void {
  t.test(`${name} lets each class use its share of the limit`, async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limits });
    for (const [tier, hits, answer] of [
      ['sheddable', 5, 'OK 1'],
      ['sheddable', 2, 'OVER_LIMIT 1'],
      ['sheddable', 1, 'OK 0'],
      ['sheddable', 1, 'OVER_LIMIT 0'],
      ['standard', 0, 'OK 2'],
      ['standard', 2, 'OK 0'],
      ['standard', 1, 'OVER_LIMIT 0'],
      ['critical', 0, 'OK 2'],
      ['sheddable', 0, 'OVER_LIMIT 0'],
      ['critical', 2, 'OK 0'],
      ['critical', 1, 'OVER_LIMIT 0'],
    ] as const) {
      t.equal(await ask(decisions, `k=v,tier=${tier}`, hits), answer, `${tier} ${hits}`);
    }
    t.equal(await ask(decisions, 'k=other,tier=sheddable'), 'OK 5', 'other keys are not affected');
  });

  t.test(`${name} does not let refused requests take from other classes`, async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limits });
    const flood = Array.from({ length: 200 }, () => ask(decisions, 'k=v,tier=sheddable'));
    const answers = await Promise.all(flood);
    t.equal(answers.filter(answer => answer.startsWith('OK')).length, 6);
    t.equal(await ask(decisions, 'k=v,tier=critical', 4), 'OK 0');
  });

  t.test(`${name} shows the limit of the rule to all classes`, async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limits });
    const { statuses } = await decisions.ask(request('d', 'k=v,tier=sheddable'));
    t.equal(statuses[0].currentLimit?.requestsPerUnit, limits.requests_per_unit);
  });
}

function examineMatching(t: Test, open: OpenStore): void {
  const rate_limit = limit(10, { classes: { ...CLASSES, default: '20%' } });

  t.test('other values and no value use the default, or else the lowest share', async t => {
    for (const [limits, left] of [
      [rate_limit, 1],
      [limit(10, { classes: CLASSES }), 5],
    ] as const) {
      const decisions = await deciding(open, { key: 'k', rate_limit: limits });
      for (const [value, text] of ['k=a', 'k=b,tier=', 'k=c,tier=gold', 'k=d,tier=criticall'].entries()) {
        t.equal(await ask(decisions, text), `OK ${left}`, `${value}: ${text}`);
      }
    }
  });

  t.test('the entry is not part of the key, and matches at any value', async t => {
    const decisions = await deciding(open, { key: 'k', value: 'v', rate_limit });
    await ask(decisions, 'k=v,tier=critical', 5);
    t.equal(await ask(decisions, 'k=v,tier=standard', 0), 'OK 3');
    t.equal(await ask(decisions, 'k=v'), 'OVER_LIMIT 0');
    const { statuses } = await decisions.ask(
      request('d', 'k=v,other=critical', 'tier=critical', 'tier=critical,k=v'),
    );
    t.strictSame(
      statuses.map(({ currentLimit }) => currentLimit),
      [null, null, null],
      'it must follow the entry of the rule',
    );
  });

  t.test('entries below the rule match with and without it', async t => {
    const path = { key: 'path', rate_limit: limit(100) };
    const decisions = await deciding(open, { ...nested({ key: 'k', rate_limit }, path) });
    t.equal(await ask(decisions, 'k=v,tier=critical,path=a'), 'OK 99');
    t.equal(await ask(decisions, 'k=v,path=a'), 'OK 98', 'with the same key');
    t.equal(await ask(decisions, 'k=v,tier=critical'), 'OK 9');
  });

  t.test('the class of a rule comes after its own entry, not after one above it', async t => {
    const user = { key: 'user', rate_limit: limit(10, { classes: { ...CLASSES, default: '20%' } }) };
    const decisions = await deciding(open, nested({ key: 'k', rate_limit }, user));
    t.equal(await ask(decisions, 'k=v,tier=critical,user=a'), 'OK 1', 'no class of the rule of the user');
    t.equal(await ask(decisions, 'k=v,user=a,tier=critical'), 'OK 8');
    t.equal(await ask(decisions, 'k=v,tier=sheddable,user=a,tier=critical'), 'OK 7');
    t.equal(await ask(decisions, 'k=v,tier=critical,user=a', 0), 'OVER_LIMIT 0');
    const [found] = (await decisions.explain(request('d', 'k=v,tier=critical,user=a'))).descriptors;
    t.match(found, { class: { name: null, share: '20%' } });
    t.equal(
      found.why,
      '`k` matches `k=v` by key alone, then `tier=critical` is skipped as a class of the rule above, ' +
        'then `user` matches `user=a` by key alone',
    );
  });

  t.test('of the entry twice, the last one is the class', async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit });
    t.equal(await ask(decisions, 'k=v,tier=critical,tier=sheddable'), 'OK 5');
    t.equal(await ask(decisions, 'k=v,tier=sheddable,tier=critical', 0), 'OK 9');
  });

  t.test('limits of one entry have classes of their own, of one key or of several', async t => {
    const rate_limits = [
      limit(10, { name: 'a', classes: { key: 'tier', critical: '100%', sheddable: '50%' } }),
      { window: '5m', requests_per_unit: 10, name: 'b', classes: { key: 'plan', paid: '100%', free: '30%' } },
      limit(9, { name: 'c' }),
    ];
    const decisions = await deciding(open, { key: 'k', rate_limits });
    const asked = async (text: string, hits: number) => {
      const { statuses } = await decisions.ask(request('d', descriptor(text, { hitsAddend: hits })));
      return `${statuses[0].currentLimit?.name} ${shown(statuses)[0]}`;
    };
    t.equal(await asked('k=1,tier=critical,plan=paid', 9), 'c OK 0');
    t.equal(await asked('k=2,tier=critical,plan=free', 4), 'b OVER_LIMIT 3');
    t.equal(await asked('k=3,plan=paid,tier=sheddable', 6), 'a OVER_LIMIT 5');
    t.equal(await asked('k=4,plan=paid', 6), 'a OVER_LIMIT 5');
  });

  t.test('patterns that share a counter have classes', async t => {
    const decisions = await deciding(open, { key: 'k', value: 'v*', share_threshold: true, rate_limit });
    await ask(decisions, 'k=v1,tier=critical', 5);
    t.equal(await ask(decisions, 'k=v2,tier=sheddable', 1), 'OK 0');
  });
}

function examineTimes(t: Test, open: OpenStore): void {
  t.test('a refused request is told when it fits for its class', async t => {
    const resets = async (limits: LimitText) => {
      const decisions = await deciding(open, { key: 'k', rate_limit: limits });
      await ask(decisions, 'k=v,tier=critical', 10);
      const waits: (number | null)[] = [];
      for (const tier of ['critical', 'standard', 'sheddable']) {
        const { statuses } = await decisions.ask(request('d', `k=v,tier=${tier}`));
        t.equal(statuses[0].code, OVER_LIMIT);
        waits.push(statuses[0].durationUntilReset);
        const { clock } = decisions;
        const startMs = clock.nowMs();
        clock.advance(waits.at(-1)! * 1_000 - 1);
        t.equal(await ask(decisions, `k=v,tier=${tier}`, 0), 'OVER_LIMIT 0', `${tier}, a moment earlier`);
        clock.advance(1);
        t.match(await ask(decisions, `k=v,tier=${tier}`, 0), 'OK 1', tier);
        clock.advance(startMs - clock.nowMs());
      }
      return waits;
    };
    // A token flows in each second. The sliding window has 200 s left, and then weighs less by a hit in 30 s.
    t.strictSame(await resets(bucket(60, 10, { classes: CLASSES })), [1, 3, 5]);
    t.strictSame(await resets(sliding(10, { classes: CLASSES })), [130, 190, 250]);
  });

  t.test('a class that may use nothing waits for its window', async t => {
    const classes = { key: 'tier', none: '0%', all: '100%' };
    for (const [limits, waitS] of [
      [limit(10, { unit: 'minute', classes }), 40],
      [sliding(10, { classes }), 300],
      [bucket(60, 10, { classes }), 60],
    ] as const) {
      const decisions = await deciding(open, { key: 'k', rate_limit: limits });
      const { statuses } = await decisions.ask(request('d', 'k=v,tier=none', 'k=v'));
      t.strictSame(shown(statuses), ['OVER_LIMIT 0', 'OVER_LIMIT 0']);
      t.equal(statuses[0].durationUntilReset, waitS);
    }
  });
}

/** The totals of a rule that are not 0. */
function totals(decisions: Decisions, path: string): Record<string, number> {
  const all = new Map(decisions.stats.counters());
  const named = RULE_STATS.map(
    stat => [stat, all.get(`ratelimit.service.rate_limit.${path}.${stat}`) ?? 0] as const,
  );
  return Object.fromEntries(named.filter(([, total]) => total > 0));
}

function examineStatistics(t: Test, open: OpenStore): void {
  t.test('statistics are those of the rule, and of each class', async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(10, { classes: CLASSES }) });
    await ask(decisions, 'k=v,tier=sheddable', 6);
    await ask(decisions, 'k=v,tier=sheddable', 3);
    await ask(decisions, 'k=v,tier=critical', 4);
    await ask(decisions, 'k=v', 1);
    await decisions.ask(refund('d', 2, 'k=v,tier=critical'));
    t.strictSame(totals(decisions, 'd.k'), {
      total_hits: 14,
      within_limit: 10,
      near_limit: 4,
      over_limit: 4,
      total_negative_hits: 2,
    });
    t.strictSame(totals(decisions, 'd.k.tier_sheddable'), {
      total_hits: 9,
      within_limit: 6,
      near_limit: 2,
      over_limit: 3,
    });
    t.strictSame(totals(decisions, 'd.k.tier_critical'), {
      total_hits: 4,
      within_limit: 4,
      near_limit: 2,
      total_negative_hits: 2,
    });
    t.strictSame(
      totals(decisions, 'd.k.tier'),
      { total_hits: 1, over_limit: 1 },
      'of requests without a class',
    );
    t.strictSame(totals(decisions, 'd.k.tier_standard'), {});
  });

  t.test('a reload keeps the statistics of classes', async t => {
    const file = (classes: Record<string, string>) =>
      ruleFile({ key: 'k', rate_limit: limit(10, { classes }) });
    const decisions = new Decisions({ store: await open(), rules: file(CLASSES) });
    await ask(decisions, 'k=v,tier=sheddable', 2);
    decisions.load(file({ key: 'tier', sheddable: '50%', gold: '100%' }));
    await ask(decisions, 'k=v,tier=sheddable', 2);
    t.match(totals(decisions, 'd.k.tier_sheddable'), { total_hits: 4 });
    decisions.load(ruleFile({ key: 'k', rate_limit: limit(10) }));
    t.match(totals(decisions, 'd.k.tier_sheddable'), { total_hits: 4 }, 'also without classes');
  });

  t.test(
    'names with request values are those of the rule, and classes are counted under its path',
    async t => {
      const entry = {
        key: 'k',
        detailed_metric: true,
        rate_limits: [limit(10, { name: 'x.y', classes: CLASSES })],
      };
      const decisions = await deciding(open, entry);
      await ask(decisions, 'k=v,tier=critical', 2);
      t.match(totals(decisions, 'd.k_v.x_y'), { total_hits: 2 });
      t.match(totals(decisions, 'd.k.x_y.tier_critical'), { total_hits: 2 });
    },
  );

  t.test('in shadow mode, classes are counted and not enforced', async t => {
    const decisions = await deciding(open, {
      key: 'k',
      shadow_mode: true,
      rate_limit: limit(10, { classes: CLASSES }),
    });
    t.equal(await ask(decisions, 'k=v,tier=sheddable', 7), 'OK 6');
    t.strictSame(totals(decisions, 'd.k.tier_sheddable'), { total_hits: 7, over_limit: 7, shadow_mode: 7 });
  });
}

function examineOthers(t: Test, open: OpenStore): void {
  const rules = ruleFile({ key: 'k', rate_limit: limit(10, { classes: CLASSES }) });

  t.test('an override of the operator is shared in the same way', async t => {
    const steering = sharedRecords(record('override', 'k=v', { requests_per_unit: 1_000 })).buffer;
    const decisions = new Decisions({ store: await open(), rules, steering });
    t.equal(await ask(decisions, 'k=v,tier=sheddable', 1), 'OK 599');
    t.equal(await ask(decisions, 'k=v,tier=critical', 1), 'OK 998');
  });

  t.test('a record of the operator applies to all classes, or to one', async t => {
    const records = [
      record('ban', 'k=banned'),
      record('override', 'k=banned,tier=critical', { requests_per_unit: 5 }),
      record('override', 'k=v', { requests_per_unit: 5 }),
      record('override', 'k=v,tier=critical', { requests_per_unit: 50 }),
      record('pass', 'k=*,tier=staff'),
    ];
    const decisions = new Decisions({
      store: await open(),
      rules,
      steering: sharedRecords(...records).buffer,
    });
    t.equal(await ask(decisions, 'k=v,tier=standard'), 'OK 3');
    t.equal(await ask(decisions, 'k=v,tier=critical'), 'OK 48');
    t.equal(await ask(decisions, 'k=v'), 'OK 0');
    t.equal(await ask(decisions, 'k=v,tier=staff'), 'OK 4294967295');
    for (const tier of ['critical', 'other']) {
      t.equal(await ask(decisions, `k=banned,tier=${tier}`), 'OVER_LIMIT 0');
    }
    const explained = await decisions.explain(request('d', 'k=banned,tier=critical', 'k=v,tier=standard'));
    t.match(explained.descriptors, [{ steering: { kind: 'ban' } }, { steering: { kind: 'override' } }]);
  });

  t.test(
    'a limit that is full for one class holds back the other descriptors of such requests only',
    async t => {
      const both = ruleFile(
        { key: 'k', rate_limit: limit(10, { classes: CLASSES }) },
        { key: 'other', rate_limit: limit(9) },
      );
      const decisions = new Decisions({ store: await open(), rules: both, options: { holdBack: true } });
      const asked = async (tier: string, hits: number) => {
        const own = descriptor(`k=v,tier=${tier}`, { hitsAddend: hits });
        return shown((await decisions.ask(request('d', own, 'other=1'))).statuses);
      };
      t.strictSame(await asked('sheddable', 6), ['OK 0', 'OK 8']);
      t.strictSame(await asked('sheddable', 1), ['OVER_LIMIT 0', 'OK 8']);
      t.strictSame(await asked('critical', 4), ['OK 0', 'OK 7']);
    },
  );

  t.test('a limit that replaces another one may have classes', async t => {
    const decisions = await deciding(
      open,
      { key: 'k', rate_limit: limit(10, { classes: CLASSES, replaces: [{ name: 'base' }] }) },
      { key: 'base', rate_limit: limit(1, { name: 'base' }) },
    );
    const { statuses } = await decisions.ask(request('d', 'k=v,tier=critical', 'base=1'));
    t.strictSame(shown([statuses[0]]), ['OK 9']);
    t.equal(statuses[1].currentLimit, null);
  });

  t.test('headers show the quota of the rule, what the class has left, and when its hits fit', async t => {
    const decisions = new Decisions({
      store: await open(),
      rules: ruleFile({ key: 'k', rate_limit: bucket(60, 10, { classes: CLASSES }) }),
      options: { answers: ANSWER.ratelimitHeaders | ANSWER.retryAfter | ANSWER.matchedRule },
    });
    const headers = async (tier: string, hits: number) => {
      const own = descriptor(`k=v,tier=${tier}`, { hitsAddend: hits });
      const { responseHeadersToAdd, dynamicMetadata } = await decisions.ask(request('d', own));
      const values = new Map(responseHeadersToAdd.map(({ key, value }) => [key.toLowerCase(), value]));
      const rule = (dynamicMetadata as { matched_rule?: unknown } | null)?.matched_rule;
      return [values.get('ratelimit-policy'), values.get('ratelimit'), values.get('retry-after'), rule];
    };
    const about = { rule: 'd.k', window: '1m' };
    t.strictSame(await headers('critical', 7), [
      '"d.k";q=10;w=10',
      '"d.k";r=3;t=1',
      undefined,
      { class: 'critical', code: 'OK', ...about },
    ]);
    t.strictSame(await headers('sheddable', 1), [
      '"d.k";q=10;w=10',
      '"d.k";r=0;t=2',
      '2',
      { class: 'sheddable', code: 'OVER_LIMIT', ...about },
    ]);
  });

  t.test('each answer names the class of its request, also if only the class differs', async t => {
    const classes = { key: 'tier', a: '100%', b: '50%', z: '0%', zero: '0%' };
    const decisions = new Decisions({
      store: await open(),
      rules: ruleFile({ key: 'k', rate_limit: limit(10, { classes }) }),
      options: { answers: ANSWER.matchedRule },
    });
    const classOf = (metadata: unknown) =>
      (metadata as { matched_rule: { class?: string } }).matched_rule.class;
    for (const tier of ['a', 'b', undefined, 'z', 'zero']) {
      const asked = request('d', tier === undefined ? 'k=v' : `k=v,tier=${tier}`);
      t.equal(classOf((await decisions.ask(asked)).dynamicMetadata), tier);
      t.equal(classOf(JSON.parse((await decisions.askJson(asked)).text).dynamicMetadata), tier);
    }
  });
}

function examineCache(t: Test, open: OpenStore): void {
  t.test('the local cache answers for the class whose threshold is reached, and for no other', async t => {
    for (const [name, limits] of LIMITS) {
      const store = new WatchedStore(await open());
      const rules = ruleFile({ key: 'k', rate_limit: limits });
      const decisions = new Decisions({ store, rules, localCacheBytes: 1 });
      await ask(decisions, 'k=v,tier=sheddable', 6);
      t.equal(await ask(decisions, 'k=v,tier=sheddable'), 'OVER_LIMIT 0');
      const calls = store.calls.length;
      for (let i = 0; i < 3; i++) t.equal(await ask(decisions, 'k=v,tier=sheddable'), 'OVER_LIMIT 0');
      t.equal(store.calls.length, calls, `${name} is answered without the store`);
      t.equal(await ask(decisions, 'k=v,tier=standard'), 'OK 1', name);
      t.equal(await ask(decisions, 'k=v,tier=critical', 3), 'OK 0', name);
      t.equal(await ask(decisions, 'k=v,tier=critical'), 'OVER_LIMIT 0', name);
      t.equal(await ask(decisions, 'k=v,tier=sheddable'), 'OVER_LIMIT 0', name);
      t.match(totals(decisions, 'd.k.tier_sheddable'), { over_limit_with_local_cache: 3 });
    }
  });

  t.test(
    'the local cache refuses until the end of the window and no longer, whenever in a second',
    async t => {
      const store = new WatchedStore(await open());
      const rules = ruleFile({ key: 'k', rate_limit: limit(10, { unit: 'second', classes: CLASSES }) });
      const decisions = new Decisions({ store, rules, localCacheBytes: 1 });
      const { clock } = decisions;
      clock.advance(600);
      await ask(decisions, 'k=v,tier=sheddable', 6);
      clock.advance(20);
      const refused = async () => (await decisions.ask(request('d', 'k=v,tier=sheddable'))).statuses[0];
      const ofStore = await refused();
      t.match(ofStore, { code: OVER_LIMIT, durationUntilReset: 1 });
      clock.advance(379);
      t.strictSame(await refused(), ofStore, 'the last moment of the window, with the answer of the store');
      t.equal(store.calls.length, 2);
      clock.advance(1);
      t.equal(await ask(decisions, 'k=v,tier=sheddable'), 'OK 5', 'the next window');
    },
  );
}

function examineReloads(t: Test, open: OpenStore): void {
  t.test('changing shares, and adding classes to a limit that admits hits, resets no counter', async t => {
    const load = (more: Partial<LimitText>, base: LimitText) =>
      ruleFile({ key: 'k', rate_limit: { ...base, ...more } });
    const changed = { key: 'tier', sheddable: '90%', critical: '100%' };
    for (const [name, { classes: _, ...limits }] of LIMITS) {
      const decisions = new Decisions({ store: await open(), rules: load({ classes: CLASSES }, limits) });
      await ask(decisions, 'k=v,tier=critical', 4);
      decisions.load(load({ classes: changed }, limits));
      t.equal(await ask(decisions, 'k=v,tier=sheddable'), 'OK 4', name);
      decisions.load(load({}, limits));
      const isAdmitted = limits.algorithm !== undefined;
      t.equal(await ask(decisions, 'k=v'), isAdmitted ? 'OK 4' : 'OK 9', name);
    }
  });
}

function examineExplanations(t: Test, open: OpenStore): void {
  t.test('an explanation tells the class and its part of the limit', async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(10, { classes: CLASSES }) });
    await ask(decisions, 'k=v,tier=critical', 7);
    const look = async (text: string) => (await decisions.explain(request('d', text))).descriptors[0];
    const found = await look('k=v,tier=sheddable');
    t.match(found, {
      why: '`k` matches `k=v` by key alone, then `tier=sheddable` is the class',
      class: { name: 'sheddable', share: '60%', most: 6 },
      limit: { classes: { key: 'tier', shares: { critical: '100%', standard: '85%' }, others: '60%' } },
      count: { now: 7, after: 7, refused: true },
      level: '7 hits in this window',
      key: 'd_k_v_~1h.classes',
    });
    t.match(await look('k=v'), { class: { name: null, share: '60%' } });
    t.match(await look('k=v,tier=critical'), { status: { code: 'OK', limitRemaining: 2 } });
    t.match(await look('k=v,tier=critical,x=y'), { why: 'no entry below `d.k` matches `x=y`' });
  });
}

/** The hits of each class that fit, by a plain count in a window. */
function equalsTheModel(t: Test, open: OpenStore): void {
  t.test('random requests are decided as by a count and a threshold for each class', async t => {
    const shares = { critical: 1_000, standard: 850, odd: 333, sheddable: 600, none: 0 };
    const classes = {
      key: 'tier',
      critical: '100%',
      standard: '85%',
      odd: '33.3%',
      sheddable: '60%',
      none: '0%',
    };
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(37, { unit: 'minute', classes }) });
    const random = new SeededRandom(51);
    const counts = new Map<string, number>();
    let window = -1;
    for (let round = 0; round < 150; round++) {
      decisions.clock.advance(random.below(9_000));
      const minute = Math.floor(decisions.clock.nowMs() / 60_000);
      if (minute !== window) counts.clear();
      window = minute;
      const asked = Array.from({ length: 1 + random.below(12) }, () => ({
        key: `k=${random.below(2)}`,
        tier: Object.keys(shares)[random.below(5)] as keyof typeof shares,
        hits: random.below(4) === 0 ? random.below(9) : 1,
      }));
      const expected = asked.map(({ key, tier, hits }) => {
        const count = counts.get(key) ?? 0;
        const most = Math.floor((37 * shares[tier]) / 1_000);
        const fits = count + Math.max(hits, 1) <= most;
        if (fits) counts.set(key, count + hits);
        const left = Math.max(most - (counts.get(key) ?? 0), 0);
        return `${fits ? 'OK' : 'OVER_LIMIT'} ${left}`;
      });
      const found = await Promise.all(
        asked.map(({ key, tier, hits }) => ask(decisions, `${key},tier=${tier}`, hits)),
      );
      t.strictSame(found, expected, `round ${round}`);
    }
  });
}
