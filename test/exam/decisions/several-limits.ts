import type { Test } from 'tap';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { words } from '../../support/words.ts';
import { deciding, grown, OK, type OpenStore, OVER_LIMIT } from './examinee.ts';
import { bucket, type EntryText, type LimitText, limit, ruleFile, sliding } from './rule-file.ts';
import { WatchedStore } from './watched-store.ts';

/** Three limits: the first is used up first, then the second. */
const BURST: LimitText = { name: 'burst', unit: 'second', requests_per_unit: 2 };
const HOUR: LimitText = { name: 'hour', unit: 'hour', requests_per_unit: 3 };
const TRIAL: LimitText = { ...sliding(100), name: 'trial', shadow_mode: true };

/** Entries with several limits. */
export function examineSeveralLimits(t: Test, open: OpenStore): void {
  const limiting = async (...entries: EntryText[]): Promise<Decisions> => await deciding(open, ...entries);
  examineBinding(t, limiting);
  examineCounting(t, open, limiting);
  examineModes(t, limiting);
  examineReplaces(t, limiting);
  examineHoldingBack(t, open);
  examineNames(t, limiting);
}

type Limiting = (...entries: EntryText[]) => Promise<Decisions>;

/** The name of the limit that the status of a descriptor shows, its code and what remains. */
async function ask(
  decisions: Decisions,
  hitsAddend = 1,
  text = 'k=v',
): Promise<readonly [string, number, number]> {
  const { statuses } = await decisions.ask(request('d', descriptor(text, { hitsAddend })));
  const { currentLimit, code, limitRemaining } = statuses[0];
  return [currentLimit?.name ?? '', code, limitRemaining];
}

function examineBinding(t: Test, limiting: Limiting): void {
  t.test('the status shows the limit with the smallest share left, then the exceeded one', async t => {
    const decisions = await limiting({ key: 'k', rate_limits: [BURST, HOUR, TRIAL] });
    t.strictSame(await ask(decisions), ['burst', OK, 1]);
    decisions.clock.advance(1_000);
    t.strictSame(await ask(decisions), ['hour', OK, 1]);
    decisions.clock.advance(1_000);
    t.strictSame(await ask(decisions), ['hour', OK, 0]);
    decisions.clock.advance(1_000);
    t.strictSame(await ask(decisions), ['hour', OVER_LIMIT, 0]);
    t.strictSame(await ask(decisions), ['hour', OVER_LIMIT, 0], 'the burst limit is used up as well');
    t.strictSame(
      await ask(decisions),
      ['hour', OVER_LIMIT, 0],
      'of two exceeded limits, the one that resets last',
    );
  });

  t.test('of limits with the same share, the first one is shown', async t => {
    const decisions = await limiting({ key: 'k', rate_limits: [HOUR, { ...HOUR, name: 'same' }] });
    t.strictSame(await ask(decisions), ['hour', OK, 2]);
  });

  t.test('headers report the limit that binds', async t => {
    const decisions = await limiting({ key: 'k', rate_limits: [BURST, HOUR] });
    const [burst] = [await decisions.askJson(request('d', 'k=v'))];
    t.match(JSON.parse(burst.text), {
      statuses: [{ currentLimit: { name: 'burst' }, limitRemaining: 1, durationUntilReset: '1s' }],
    });
  });
}

function examineCounting(t: Test, open: OpenStore, limiting: Limiting): void {
  t.test('all limits are counted in one call, each under a key of its own', async t => {
    const store = new WatchedStore(await open());
    const same = { window: '1h', requests_per_unit: 5 };
    const rules = ruleFile({
      key: 'k',
      rate_limits: [BURST, { ...same, name: 'a' }, { ...same, name: 'b' }, bucket(60, 5), TRIAL],
    });
    await new Decisions({ store, rules }).ask(request('d', 'k=v'));
    t.strictSame(store.calls, [
      words(
        `d_k_v_1700000000~1s d_k_v_1699999200~1h.a d_k_v_1699999200~1h.b d_k_v_~1m.bucket d_k_v_~5m.sliding`,
      ),
    ]);
  });

  t.test('hits of each descriptor, refunds and limits of the request apply to all limits', async t => {
    const decisions = await limiting({
      key: 'k',
      rate_limits: [HOUR, { ...bucket(60, 10), name: 'bucket' }],
    });
    t.strictSame(await ask(decisions, 0), ['hour', OK, 3]);
    t.strictSame(await ask(decisions, 2), ['hour', OK, 1]);
    const { statuses } = await decisions.ask(refund('d', 2, 'k=v'));
    t.match(statuses, [{ code: OK, currentLimit: { name: 'hour' }, limitRemaining: 3 }]);
    t.same(decisions.rule('d.k.bucket'), { total_hits: 2, within_limit: 2, total_negative_hits: 2 });
    const own = descriptor('k=v', { limit: { requestsPerUnit: 9, unit: 3 } });
    const brought = await decisions.ask(request('d', own));
    t.match(brought.statuses, [{ currentLimit: { name: '', requestsPerUnit: 9 }, limitRemaining: 8 }]);
    t.same(decisions.rule('d.k.hour')['total_hits'], 2);
  });

  t.test('a batch is answered like its requests one after the other', async t => {
    const entry: EntryText = { key: 'k', rate_limits: [BURST, HOUR, { ...bucket(60, 2), name: 'bucket' }] };
    const together = await limiting(entry);
    const apart = await limiting(entry);
    const hits = [1, 0, 2, 1, 1, 0];
    const found = await Promise.all(hits.map(each => ask(together, each)));
    const expected = [];
    for (const each of hits) expected.push(await ask(apart, each, 'k=apart'));
    t.strictSame(found, expected);
    for (const name of ['burst', 'hour', 'bucket'])
      t.same(together.rule(`d.k.${name}`), apart.rule(`d.k.${name}`));
  });

  t.test('many requests with several limits, more than a batch has rows for at first', async t => {
    const decisions = await limiting({
      key: 'k',
      rate_limits: [BURST, limit(1_000, { name: 'hour' }), TRIAL],
    });
    const texts = Array.from({ length: 40 }, (_, i) => `k=v${i}`);
    const answers = await Promise.all(Array.from({ length: 3 }, () => decisions.ask(request('d', ...texts))));
    for (const [i, { statuses }] of answers.entries()) {
      t.ok(statuses.every(({ code }) => code === (i < 2 ? OK : OVER_LIMIT)));
      t.ok(statuses.every(({ currentLimit }) => currentLimit?.name === 'burst'));
    }
    t.equal(decisions.rule('d.k.hour')['total_hits'], 120);
  });
}

function examineModes(t: Test, limiting: Limiting): void {
  const over = (name: string, more: Partial<LimitText> = {}): LimitText => limit(0, { name, ...more });
  const wide = limit(1_000, { name: 'wide' });
  const cases: readonly (readonly [limits: LimitText[], binding: string, status: number, overall: number])[] =
    [
      [[over('shadow', { shadow_mode: true }), wide], 'shadow', OK, OK],
      [
        [over('shadow', { shadow_mode: true, unit: 'day' }), over('enforced')],
        'enforced',
        OVER_LIMIT,
        OVER_LIMIT,
      ],
      [[over('quota', { quota_mode: true }), wide], 'quota', OVER_LIMIT, OVER_LIMIT],
      [[over('quota', { quota_mode: true }), over('enforced')], 'enforced', OVER_LIMIT, OVER_LIMIT],
      [
        [over('shadow', { shadow_mode: true }), over('quota', { quota_mode: true })],
        'quota',
        OVER_LIMIT,
        OVER_LIMIT,
      ],
      [[wide, limit(1_000, { name: 'quota', quota_mode: true })], 'wide', OK, OK],
    ];
  for (const [limits, binding, status, overall] of cases) {
    t.test(`${limits.map(({ name }) => name).join(' and ')}: ${binding} binds`, async t => {
      const decisions = await limiting({ key: 'k', rate_limits: limits });
      const { statuses, overallCode } = await decisions.ask(request('d', 'k=v'));
      t.match(statuses, [{ code: status, currentLimit: { name: binding } }]);
      t.equal(overallCode, overall);
    });
  }

  t.test('a quota entry is used up when any of its limits is, the request when all entries are', async t => {
    const quota = limit(1_000, { name: 'quota', quota_mode: true });
    const used = { ...over('used'), quota_mode: true };
    const decisions = await limiting(
      { key: 'a', rate_limits: [quota, used] },
      { key: 'b', rate_limits: [quota, wide] },
      { key: 'c', rate_limits: [quota, over('enforced')] },
    );
    t.equal((await decisions.ask(request('d', 'a=1'))).overallCode, OVER_LIMIT);
    t.equal((await decisions.ask(request('d', 'a=1', 'b=1'))).overallCode, OK, '`b` has quota left');
    t.equal(
      (await decisions.ask(request('d', 'b=1', 'c=1'))).overallCode,
      OVER_LIMIT,
      'an enforced limit is exceeded',
    );
  });

  t.test('modes of the entry apply to all limits', async t => {
    const decisions = await limiting({ key: 'k', shadow_mode: true, rate_limits: [over('a'), over('b')] });
    t.strictSame(await ask(decisions), ['a', OK, 0]);
    t.same(decisions.rule('d.k.a'), { total_hits: 1, over_limit: 1, shadow_mode: 1 });
    t.same(decisions.rule('d.k.b'), { total_hits: 1, over_limit: 1, shadow_mode: 1 });
  });
}

function examineReplaces(t: Test, limiting: Limiting): void {
  const replacing = (...names: string[]): EntryText => ({
    key: 'staff',
    rate_limits: [
      limit(9, { name: 'staff', replaces: names.map(name => ({ name })) }),
      limit(99, { name: 'other' }),
    ],
  });

  t.test('one of the limits is replaced by name, the others stay', async t => {
    const decisions = await limiting({ key: 'k', rate_limits: [BURST, HOUR] }, replacing('hour'));
    const { statuses } = await decisions.ask({ ...request('d', 'k=v', 'staff=1'), hitsAddend: 2 });
    t.match(statuses, [
      { currentLimit: { name: 'burst' }, limitRemaining: 0 },
      { currentLimit: { name: 'staff' } },
    ]);
    t.same(decisions.rule('d.k.hour'), {}, 'it does not count');
    t.same(decisions.rule('d.k.burst')['total_hits'], 2);
  });

  t.test('with all of its limits replaced, an entry limits nothing', async t => {
    const decisions = await limiting({ key: 'k', rate_limits: [BURST, HOUR] }, replacing('hour', 'burst'));
    const { statuses } = await decisions.ask(request('d', 'k=v', 'staff=1'));
    t.match(statuses[0], { code: OK, currentLimit: null, limitRemaining: 0 });
  });

  t.test('a limit of several replaces that of another entry', async t => {
    const decisions = await limiting(
      { key: 'k', rate_limit: limit(5, { name: 'plain' }) },
      replacing('plain'),
    );
    const { statuses } = await decisions.ask(request('d', 'k=v', 'staff=1'));
    t.match(statuses[0], { currentLimit: null });
  });
}

function examineHoldingBack(t: Test, open: OpenStore): void {
  t.test('if one limit is full, the hits of all others are held back', async t => {
    const rules = ruleFile({
      key: 'k',
      rate_limits: [
        limit(2, { name: 'fixed' }),
        { ...bucket(60, 100), name: 'bucket' },
        { ...sliding(100), name: 'sliding' },
      ],
    });
    const decisions = new Decisions({ store: await open(), rules, options: { holdBack: true } });
    t.strictSame(await ask(decisions, 2), ['fixed', OK, 0]);
    for (let i = 0; i < 5; i++) t.strictSame(await ask(decisions), ['fixed', OVER_LIMIT, 0]);
    decisions.load(ruleFile({ key: 'k', rate_limit: bucket(60, 100) }));
    t.strictSame(await ask(decisions, 0), ['', OK, 98], 'the bucket has lost two tokens');
    decisions.load(ruleFile({ key: 'k', rate_limit: sliding(100) }));
    t.strictSame(await ask(decisions, 0), ['', OK, 98]);
  });

  for (const trial of [limit(1, { unit_multiplier: 5 }), sliding(1), bucket(1, 1)]) {
    t.test(`an exceeded limit in shadow mode holds nothing back: ${JSON.stringify(trial)}`, async t => {
      const shadow = { ...trial, name: 'trial', shadow_mode: true };
      const rules = ruleFile({ key: 'k', rate_limits: [shadow, limit(5, { name: 'enforced' })] });
      for (const localCacheBytes of [0, 1]) {
        const options = { holdBack: true };
        const decisions = new Decisions({ store: await open(), rules, options, localCacheBytes });
        for (let i = 0; i < 5; i++) t.strictSame(await ask(decisions), ['trial', OK, 0]);
        t.strictSame(await ask(decisions), ['enforced', OVER_LIMIT, 0]);
        t.match(decisions.rule('d.k.enforced'), { total_hits: 6, within_limit: 5, over_limit: 1 });
      }
    });
  }

  t.test('a bucket that is full holds back a plain limit of another descriptor', async t => {
    const rules = ruleFile({ key: 'k', rate_limit: bucket(60, 1) }, { key: 'plain', rate_limit: limit(10) });
    const decisions = new Decisions({ store: await open(), rules, options: { holdBack: true } });
    for (const remaining of [9, 9, 9]) {
      const { statuses } = await decisions.ask(request('d', 'k=v', 'plain=1'));
      t.equal(statuses[1].limitRemaining, remaining);
    }
  });
}

function examineNames(t: Test, limiting: Limiting): void {
  t.test('statistics have the name of the limit, or else its window, as a further level', async t => {
    const limits = [
      { unit: 'second', requests_per_unit: 2 },
      HOUR,
      sliding(5),
      { window: '5m', requests_per_unit: 5 },
    ];
    const decisions = await limiting(
      { key: 'k', rate_limits: limits },
      { key: 'detailed', detailed_metric: true, rate_limits: limits },
      { key: 'share', value: 'x*', share_threshold: true, value_to_metric: true, rate_limits: limits },
    );
    const growth = await grown(decisions, () =>
      decisions.ask(request('d', 'k=v', 'detailed=1.2', 'share=xyz')),
    );
    const names = Object.keys(growth)
      .filter(name => name.endsWith('total_hits'))
      .sort();
    const levels = ['1s', '5m', '5m_fixed_window', 'hour'];
    t.same(
      names,
      ['detailed_1.2', 'k', 'share_x'].flatMap(entry =>
        levels.map(level => `rate_limit.d.${entry}.${level}.total_hits`),
      ),
    );
  });

  t.test('a reload keeps the totals of limits whose name or window stays', async t => {
    const decisions = await limiting({ key: 'k', rate_limits: [BURST, HOUR] });
    await ask(decisions);
    decisions.load(ruleFile({ key: 'k', rate_limits: [TRIAL, { ...HOUR, requests_per_unit: 7 }] }));
    await ask(decisions);
    t.equal(decisions.rule('d.k.hour')['total_hits'], 2);
    t.equal(decisions.rule('d.k.burst')['total_hits'], 1);
  });
}
