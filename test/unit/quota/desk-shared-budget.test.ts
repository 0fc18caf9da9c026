import t from 'tap';
import { DeskScene } from '../../support/quota/desk-scene.ts';
import { type SharedSecond, shareBudget } from '../../support/quota/shared-budget.ts';

function sceneOf(rule: string, nowMs?: number): DeskScene {
  const rules = `{ domain: api, descriptors: [{ key: user, ${rule} }] }`;
  return new DeskScene({ rules, ...(nowMs !== undefined && { nowMs }) });
}

/** Hits in each window of a length, and in those that are complete. */
function byWindow(seconds: readonly SharedSecond[], windowS: number): { all: number[]; complete: number[] } {
  const windows = new Map<number, { hits: number; seconds: number }>();
  for (const { atS, proxied, called } of seconds) {
    const window = windows.get(Math.floor(atS / windowS)) ?? { hits: 0, seconds: 0 };
    windows.set(Math.floor(atS / windowS), window);
    window.hits += proxied + called;
    window.seconds++;
  }
  const all = [...windows.values()];
  return {
    all: all.map(({ hits }) => hits),
    complete: all.filter(window => window.seconds === windowS).map(({ hits }) => hits),
  };
}

const PROXIES = [120, 40, 10];

for (const [windowS, part] of [
  [10, 0.5],
  [60, 0.85],
])
  t.test(`proxies and callers together never exceed a limit in ${windowS} s, and use much of it`, async t => {
    const most = windowS * 100;
    const limit = `unit: second, unit_multiplier: ${windowS}, requests_per_unit: ${most}`;
    const scene = sceneOf(`rate_limit: { ${limit} }`);
    const seconds = await shareBudget(
      { scene, entries: 'user=ann', proxies: PROXIES, callers: 60 },
      5 * windowS,
    );
    const { all, complete } = byWindow(seconds, windowS);
    for (const hits of all) t.ok(hits <= most, `${hits} of ${most}`);
    for (const hits of complete) t.ok(hits >= most * part, `${hits} of ${most}`);
    t.ok(seconds.some(({ called }) => called > 0) && seconds.some(({ proxied }) => proxied > 0));
  });

t.test('all of several limits hold', async t => {
  const scene = sceneOf(`rate_limits: [
    { unit: day, requests_per_unit: 8000 },
    { name: short, unit: second, unit_multiplier: 10, requests_per_unit: 900 },
    { unit: minute, requests_per_unit: 3000 } ]`);
  const seconds = await shareBudget({ scene, entries: 'user=ann', proxies: PROXIES, callers: 30 }, 200);
  for (const [windowS, most] of [
    [10, 900],
    [60, 3_000],
    [86_400, 8_000],
  ])
    for (const hits of byWindow(seconds, windowS).all)
      t.ok(hits <= most, `${hits} of ${most} in ${windowS} s`);
  const total = byWindow(seconds, 86_400).all[0];
  t.ok(total > 4_500, `${total} in all`);
});

t.test('a month of the calendar holds, and the next one begins at its first second', async t => {
  const beginsMs = Date.parse('2024-03-01T00:00:00Z');
  const scene = sceneOf(
    'rate_limit: { calendar: { period: month }, requests_per_unit: 1500 }',
    beginsMs - 30_000,
  );
  const seconds = await shareBudget({ scene, entries: 'user=ann', proxies: PROXIES, callers: 20 }, 60);
  for (const isNext of [false, true]) {
    const ofMonth = seconds.filter(({ atS }) => atS * 1_000 >= beginsMs === isNext);
    const hits = ofMonth.reduce((sum, { proxied, called }) => sum + proxied + called, 0);
    t.ok(hits <= 1_500 && hits > 1_000, `${hits} of 1,500`);
  }
});

t.test('hits of a limit with a scale are those of its smaller unit', async t => {
  const scene = sceneOf('rate_limit: { unit: minute, requests_per_unit: 3, scale: 1000 }');
  const seconds = await shareBudget({ scene, entries: 'user=ann', proxies: PROXIES, callers: 20 }, 120);
  const { all, complete } = byWindow(seconds, 60);
  for (const hits of all) t.ok(hits <= 3_000, `${hits} of 3,000`);
  for (const hits of complete) t.ok(hits > 2_000, `${hits} of 3,000`);
});

t.test('in a minute, a sliding window admits its limit and what was granted before, at most', async t => {
  const scene = sceneOf('rate_limit: { unit: minute, requests_per_unit: 3000, algorithm: sliding_window }');
  const seconds = await shareBudget({ scene, entries: 'user=ann', proxies: PROXIES, callers: 20 }, 240);
  const starts = seconds.filter(({ atS }) => atS % 60 === 0);
  for (const [i, hits] of byWindow(seconds, 60).complete.entries()) {
    const { outstanding } = starts[i];
    t.ok(hits <= 3_000 + outstanding && hits > 2_000, `${hits} of 3,000 and ${outstanding}`);
  }
});

t.test(
  'in any minute, a token bucket admits what it holds and gets, and what was granted before',
  async t => {
    const scene = sceneOf('rate_limit: { unit: minute, requests_per_unit: 3000, algorithm: token_bucket }');
    const seconds = await shareBudget({ scene, entries: 'user=ann', proxies: PROXIES, callers: 20 }, 240);
    let hits = 0;
    for (const [i, { proxied, called }] of seconds.entries()) {
      hits += proxied + called;
      if (i < 60) continue;
      hits -= seconds[i - 60].proxied + seconds[i - 60].called;
      const { outstanding } = seconds[i - 59];
      if (hits > 6_000 + outstanding) t.fail(`${hits} of 6,000 and ${outstanding}`);
    }
    const total = seconds.reduce((sum, { proxied, called }) => sum + proxied + called, 0);
    t.ok(total > 12_000 && total <= 15_000, `${total} of 15,000 in four minutes`);
  },
);

t.test(
  'a limit of a second: the rate holds over time, and in each second what token buckets save up comes to it',
  async t => {
    const scene = sceneOf('rate_limit: { unit: second, requests_per_unit: 100 }');
    const seconds = await shareBudget({ scene, entries: 'user=ann', proxies: PROXIES, callers: 0 }, 120);
    const total = seconds.reduce((sum, { proxied }) => sum + proxied, 0);
    t.ok(total <= 121 * 100, `${total} in 120 s`);
    t.ok(total > 85 * 120, `${total} in 120 s`);
    for (const { proxied } of seconds) t.ok(proxied <= 200, `${proxied} in a second`);
  },
);

t.test('callers whose local cache has a key as over its limit get what proxies give back', async t => {
  const scene = new DeskScene({
    rules:
      '{ domain: api, descriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: 600 } }] }',
    localCacheBytes: 100_000,
  });
  const proxy = scene.open();
  for (let second = 0; second < 3; second++) {
    await proxy.reports('user=ann', 0, 20);
    await scene.pass(1_000);
  }
  await scene.asks('user=ann', 600 - (await scene.counted('user=ann')));
  t.notOk(await scene.asks('user=ann'));
  for (let second = 0; second < 5; second++) {
    await proxy.reports('user=ann', 0, 0);
    await scene.pass(1_000);
  }
  t.ok(await scene.asks('user=ann'));
});

t.test(
  'in windows of 5 s, the rate holds over time, and proxies admit what their token buckets save up besides',
  async t => {
    const scene = sceneOf('rate_limit: { unit: second, unit_multiplier: 5, requests_per_unit: 500 }');
    const seconds = await shareBudget({ scene, entries: 'user=ann', proxies: PROXIES, callers: 60 }, 120);
    const total = seconds.reduce((sum, { proxied, called }) => sum + proxied + called, 0);
    const savedUp = 1.25 * (120 + 40 + 10);
    t.ok(total <= 24 * 500 + savedUp, `${total} of 12,000 and ${savedUp}`);
    t.ok(total > 0.85 * 24 * 500, `${total} of 12,000`);
    for (const hits of byWindow(seconds, 5).all) t.ok(hits <= 500 + savedUp, `${hits} of 500 and ${savedUp}`);
  },
);
