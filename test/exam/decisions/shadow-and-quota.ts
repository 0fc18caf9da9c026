import type { Test } from 'tap';
import type { GlobalModes } from '../../../src/decision/overall-code.ts';
import { Decisions, request } from '../../support/decisions.ts';
import { each } from '../../support/each.ts';
import { deciding, grown, OK, type OpenStore, OVER_LIMIT } from './examinee.ts';
import { limit, ruleFile } from './rule-file.ts';

/** Rules whose names say what they do to every request. */
const RULES = ruleFile(
  { key: 'ok', rate_limit: limit(1_000) },
  { key: 'over', rate_limit: limit(0) },
  { key: 'quota', quota_mode: true, rate_limit: limit(1_000) },
  { key: 'quotaover', quota_mode: true, rate_limit: limit(0) },
  { key: 'shadow', shadow_mode: true, rate_limit: limit(1_000) },
  { key: 'shadowover', shadow_mode: true, rate_limit: limit(0) },
  { key: 'shadowquotaover', shadow_mode: true, quota_mode: true, rate_limit: limit(0) },
  { key: 'free', quota_mode: true, rate_limit: { unlimited: true } },
);

const NO_MODES: GlobalModes = { shadow: false, quota: false };

/** Rules and services in shadow and quota mode. */
export function examineShadowAndQuota(t: Test, open: OpenStore): void {
  examineRuleShadow(t, open);
  examineGlobalShadow(t, open);
  examineCombinations(t, open);
}

function examineRuleShadow(t: Test, open: OpenStore): void {
  t.test('a rule in shadow mode answers OK with nothing remaining, and counts its hits', async t => {
    const decisions = await deciding(open, { key: 's', shadow_mode: true, rate_limit: limit(10) });
    const stats = 'rate_limit.d.s.';
    for (const [hitsAddend, remaining, expected] of [
      [8, 2, { total_hits: 8, within_limit: 8 }],
      [4, 0, { total_hits: 4, near_limit: 2, over_limit: 2, shadow_mode: 2 }],
      [5, 0, { total_hits: 5, over_limit: 5, shadow_mode: 5 }],
    ] as const) {
      const growth = await grown(decisions, async () => {
        const response = await decisions.ask({ ...request('d', 's=x'), hitsAddend });
        t.equal(response.overallCode, OK);
        const [status] = response.statuses;
        t.strictSame([status.code, status.limitRemaining, status.durationUntilReset], [OK, remaining, 2_800]);
        t.strictSame(status.currentLimit, { name: '', requestsPerUnit: 10, unit: 3 });
      });
      t.strictSame(
        growth,
        Object.fromEntries(Object.entries(expected).map(([name, by]) => [stats + name, by])),
      );
    }
  });

  t.test('only the shadow rule of a request is let through', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    const response = await decisions.ask(request('d', 'shadowover=x', 'over=x'));
    t.strictSame([response.overallCode, ...each(response.statuses, 'code')], [OVER_LIMIT, OK, OVER_LIMIT]);
    t.strictSame(decisions.rule('d.over'), { total_hits: 1, over_limit: 1 });
  });

  t.test('`shadow_mode` inside `rate_limit` has no effect', async t => {
    const misplaced = { ...limit(0), shadow_mode: true, quota_mode: true };
    const decisions = await deciding(open, { key: 'k', rate_limit: misplaced });
    t.equal((await decisions.ask(request('d', 'k=x', 'none=x'))).overallCode, OVER_LIMIT);
  });
}

function examineGlobalShadow(t: Test, open: OpenStore): void {
  t.test('global shadow mode changes only the overall code, and counts once a response', async t => {
    const options = { modes: { shadow: true, quota: false } };
    const decisions = new Decisions({ store: await open(), rules: RULES, options });
    const response = await decisions.ask(request('d', 'over=1', 'over=2', 'ok=1'));
    t.strictSame(
      [response.overallCode, ...each(response.statuses, 'code')],
      [OK, OVER_LIMIT, OVER_LIMIT, OK],
    );
    t.equal(decisions.counter('ratelimit.service.global_shadow_mode'), 1);
    t.strictSame(
      decisions.rule('d.over'),
      { total_hits: 2, over_limit: 2 },
      'the rule itself is not in shadow mode',
    );
    const { text, overLimit } = await decisions.askJson(request('d', 'over=1'));
    t.notOk(overLimit, 'and for the front it is not over limit');
    t.match(text, /^\{"overallCode":"OK","statuses":\[\{"code":"OVER_LIMIT"/);
    t.equal(decisions.counter('ratelimit.service.global_shadow_mode'), 2);
  });

  t.test('answers that are OK anyhow are not counted as shadowed', async t => {
    const options = { modes: { shadow: true, quota: false } };
    const decisions = new Decisions({ store: await open(), rules: RULES, options });
    for (const texts of [['ok=1'], ['none=1'], ['shadowover=1'], ['quota=1', 'quotaover=1']])
      await decisions.ask(request('d', ...texts));
    t.equal(decisions.counter('ratelimit.service.global_shadow_mode'), 0);
  });
}

/** Keys of the descriptors, and whether the request as a whole is over its limit. */
type Combination = readonly [keys: string, over: boolean];

function examineCombinations(t: Test, open: OpenStore): void {
  const combine = (sentence: string, modes: GlobalModes, combinations: readonly Combination[]): void => {
    t.test(sentence, async t => {
      const decisions = new Decisions({ store: await open(), rules: RULES, options: { modes } });
      for (const [keys, over] of combinations) {
        const texts = keys.split(' ').map((key, i) => `${key}=${i}`);
        const response = await decisions.ask(request('d', ...texts));
        t.equal(response.overallCode, over ? OVER_LIMIT : OK, keys);
        const codes = texts.map(text => (/^(quota)?over=/.test(text) ? OVER_LIMIT : OK));
        t.strictSame(each(response.statuses, 'code'), codes, `${keys}: the statuses keep their codes`);
        const { overLimit } = await decisions.askJson(request('d', ...texts));
        t.equal(overLimit, over, `${keys}: as the front is told`);
      }
    });
  };

  combine('one regular descriptor over its limit is enough, quotas are over when all of them are', NO_MODES, [
    ['ok', false],
    ['over', true],
    ['ok over ok', true],
    ['over quota', true],
    ['quota over', true],
    ['ok quotaover', true],
    ['quotaover', true],
    ['ok quota', false],
    ['quotaover quotaover', true],
    ['quotaover quota', false],
    ['quota quotaover', false],
    ['quotaover none', true],
    ['quotaover free', true],
    ['quotaover quota over', true],
    ['shadowover', false],
    ['shadowover quotaover', true],
    ['shadowquotaover quotaover', false],
    ['shadow quota', false],
    ['none', false],
    ['free', false],
  ]);

  combine(
    'in global quota mode every descriptor but unlimited ones is a quota',
    { shadow: false, quota: true },
    [
      ['over', true],
      ['over over', true],
      ['over ok', false],
      ['over none', false],
      ['over quotaover', true],
      ['over free', true],
      ['free', false],
      ['none', false],
      ['over shadowover', false],
    ],
  );

  combine('global shadow mode lets all of them pass', { shadow: true, quota: true }, [
    ['over', false],
    ['over over', false],
    ['quotaover free', false],
  ]);
}
