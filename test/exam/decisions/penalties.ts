import type { Test } from 'tap';
import type { DescriptorStatus } from '../../../src/messages/client-codec.ts';
import { ANSWER } from '../../../src/rules/domain-answers.ts';
import { type DecisionSetup, Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { record, sharedRecords } from '../../support/steering.ts';
import { deciding, grown, OK, type OpenStore, OVER_LIMIT } from './examinee.ts';
import { bucket, type EntryText, type LimitText, limit, ruleFile, sliding } from './rule-file.ts';
import { WatchedStore } from './watched-store.ts';

/** The clock stands 20 s into a minute. */
const PENALTY = { after: 2, for: '2m', factor: 3, max: '10m' };
const TWO_PER_MINUTE: LimitText = limit(2, { unit: 'minute', penalty: PENALTY });
const MINUTE_MS = 60_000;

/** Limits that penalize keys. */
export function examinePenalties(t: Test, open: OpenStore): void {
  const penalizing: Penalizing = async (limits, entry = {}, setup = {}) => {
    const rules = ruleFile({ key: 'k', rate_limit: limits, ...entry });
    return new Decisions({ store: await open(), rules, ...setup });
  };
  examineTimes(t, penalizing);
  examineOthers(t, open, penalizing);
  examineOperators(t, open, penalizing);
  examineReloads(t, penalizing);
  examineAnswers(t, penalizing);
  examineCache(t, open);
  examineExplanations(t, penalizing);
}

type Penalizing = (
  limit: LimitText,
  entry?: Partial<EntryText>,
  setup?: Partial<DecisionSetup>,
) => Promise<Decisions>;
type Shown = readonly [code: number, remaining: number, resetS: number | null];

async function ask(decisions: Decisions, hitsAddend = 1, text = 'k=v'): Promise<Shown> {
  const descriptors = [descriptor(text, { hitsAddend })];
  return shown((await decisions.ask({ domain: 'd', descriptors, hitsAddend: 0 })).statuses[0]);
}

function shown({ code, limitRemaining, durationUntilReset }: DescriptorStatus): Shown {
  return [code, limitRemaining, durationUntilReset];
}

/** Violates the limit in this minute and the next one, so that the key is penalized for `PENALTY.for`. */
async function penalize(decisions: Decisions): Promise<void> {
  await ask(decisions, 3);
  decisions.clock.advance(MINUTE_MS);
  await ask(decisions, 3);
}

function examineTimes(t: Test, penalizing: Penalizing): void {
  t.test('a key that exceeds its limit in two windows is rejected until the end of its penalty', async t => {
    const decisions = await penalizing(TWO_PER_MINUTE);
    t.strictSame(await ask(decisions, 2), [OK, 0, 40]);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 40], 'a violation');
    decisions.clock.advance(41_000);
    t.strictSame(await ask(decisions, 2), [OK, 0, 59]);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 120], 'the second one');
    decisions.clock.advance(MINUTE_MS);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 60]);
    t.strictSame(await ask(decisions, 1, 'k=other'), [OK, 1, 59], 'other keys are not affected');
    decisions.clock.advance(MINUTE_MS - 1);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 0.001]);
    decisions.clock.advance(1);
    t.strictSame(await ask(decisions), [OK, 1, 59], 'nothing was counted meanwhile');
  });

  t.test('the time line of docs/rules.md is true', async t => {
    const penalty = { after: 3, for: '2m', factor: 2, max: '1h' };
    const decisions = await penalizing(limit(5, { unit: 'minute', penalty }));
    const beganMs = decisions.clock.nowMs() - 20_000;
    const exceedsAt = async (time: string) => {
      const [hours, minutes, seconds] = time.split(':').map(Number);
      decisions.clock.advance(
        beganMs + ((hours - 10) * 3_600 + minutes * 60 + seconds) * 1_000 - decisions.clock.nowMs(),
      );
      const [, , resetS] = await ask(decisions, 6);
      const { penalty } = (await decisions.explain(request('d', 'k=v'))).descriptors[0];
      return [penalty?.violations, penalty?.penalties, penalty?.penalizedUntil === null ? null : resetS];
    };
    for (const [time, ...expected] of [
      ['10:00:40', 1, 0, null],
      ['10:00:50', 1, 0, null],
      ['10:01:30', 2, 0, null],
      ['10:05:20', 0, 1, 120],
      ['10:06:00', 0, 1, 80],
      ['10:08:05', 1, 1, null],
      ['10:09:10', 2, 1, null],
      ['10:10:30', 0, 2, 240],
    ] as const) {
      t.strictSame(await exceedsAt(time), expected, time);
    }
    t.strictSame(await exceedsAt('11:14:29'), [1, 2, null]);
    t.strictSame(await exceedsAt('12:15:00'), [1, 0, null], 'forgotten an hour after the window of 11:14');
  });

  t.test('the statistics count what a penalty rejects as over the limit', async t => {
    const decisions = await penalizing(TWO_PER_MINUTE);
    await penalize(decisions);
    const growth = await grown(decisions, () => ask(decisions, 5));
    t.strictSame(growth, { 'rate_limit.d.k.total_hits': 5, 'rate_limit.d.k.over_limit': 5 });
  });

  t.test('windows of a calendar, sliding windows and token buckets have penalties as well', async t => {
    const own = { penalty: { for: '90s' } };
    const calendar = { calendar: { period: 'month', zone: 'Europe/Berlin' }, requests_per_unit: 2, ...own };
    for (const [limits, waitS, what] of [
      [bucket(2, 2, own), 90, 'the penalty ends when there are tokens again'],
      [sliding(2, own), 250, 'a hit fits only after the penalty'],
      [calendar, 1_385_200, 'the month ends after the penalty'],
    ] as const) {
      const decisions = await penalizing(limits);
      t.equal((await ask(decisions, 2))[0], OK);
      t.strictSame(await ask(decisions), [OVER_LIMIT, 0, waitS], what);
      decisions.clock.advance(89_999);
      t.equal((await ask(decisions))[0], OVER_LIMIT);
    }
  });

  t.test('requests of one batch are answered as one after the other', async t => {
    const together = await penalizing(TWO_PER_MINUTE);
    const apart = await penalizing(TWO_PER_MINUTE);
    for (let window = 0; window < 3; window++) {
      const hits = [1, 0, 3, 1, 1, 0, 2];
      const found = await Promise.all(hits.map(each => ask(together, each)));
      const expected: Shown[] = [];
      for (const each of hits) expected.push(await ask(apart, each, 'k=apart'));
      t.strictSame(found, expected);
      for (const decisions of [together, apart]) decisions.clock.advance(MINUTE_MS);
    }
    t.strictSame(together.rule('d.k'), apart.rule('d.k'));
  });
}

function examineOthers(t: Test, open: OpenStore, penalizing: Penalizing): void {
  t.test('in shadow mode a penalty is kept, and rejects nothing', async t => {
    const decisions = await penalizing(TWO_PER_MINUTE, { shadow_mode: true });
    await penalize(decisions);
    decisions.clock.advance(MINUTE_MS);
    const growth = await grown(decisions, async () => t.strictSame(await ask(decisions), [OK, 0, 60]));
    t.strictSame(growth, {
      'rate_limit.d.k.total_hits': 1,
      'rate_limit.d.k.over_limit': 1,
      'rate_limit.d.k.shadow_mode': 1,
    });
  });

  t.test('a refund gives hits back, and undoes no violation', async t => {
    const decisions = await penalizing(TWO_PER_MINUTE);
    await ask(decisions, 2);
    await ask(decisions);
    t.strictSame(shown((await decisions.ask(refund('d', 2, 'k=v'))).statuses[0]), [OK, 2, 40]);
    decisions.clock.advance(MINUTE_MS);
    t.strictSame(await ask(decisions, 3), [OVER_LIMIT, 0, 120]);
    t.equal((await decisions.ask(refund('d', 2, 'k=v'))).overallCode, OK);
    t.equal((await ask(decisions))[0], OVER_LIMIT);
  });

  t.test('a limit that the request brings has no penalty', async t => {
    const decisions = await penalizing(TWO_PER_MINUTE);
    await penalize(decisions);
    const own = descriptor('k=v', { limit: { requestsPerUnit: 5, unit: 2 } });
    t.equal((await decisions.ask(request('d', own))).overallCode, OK);
  });

  t.test('a replaced limit neither penalizes nor counts violations', async t => {
    const store = await open();
    const replacing = limit(9, { name: 'gold', replaces: [{ name: 'basic' }] });
    const rules = ruleFile(
      { key: 'k', rate_limit: { ...TWO_PER_MINUTE, name: 'basic' } },
      { key: 'tier', rate_limit: replacing },
    );
    const decisions = new Decisions({ store, rules });
    await penalize(decisions);
    t.equal((await decisions.ask(request('d', 'k=v', 'tier=x'))).overallCode, OK);
    t.equal((await ask(decisions))[0], OVER_LIMIT);
  });

  t.test('of several limits, the penalized one binds, and the others still count', async t => {
    const entry = { rate_limits: [TWO_PER_MINUTE, limit(100, { name: 'hourly' })] };
    const decisions = await deciding(open, { key: 'k', ...entry });
    await penalize(decisions);
    t.strictSame(await ask(decisions, 1), [OVER_LIMIT, 0, 120]);
    const [{ limits }] = (await decisions.explain(request('d', 'k=v'))).descriptors;
    t.match(limits, [{ outcome: 'over', binds: true }, { count: { now: 7 } }]);
  });

  t.test('values that share a threshold share a penalty', async t => {
    const decisions = await penalizing(TWO_PER_MINUTE, { value: 'v*', share_threshold: true });
    await penalize(decisions);
    t.strictSame(await ask(decisions, 1, 'k=v2'), [OVER_LIMIT, 0, 120]);
  });

  t.test('a penalty holds back the other hits of the request', async t => {
    const rules = ruleFile({ key: 'k', rate_limit: TWO_PER_MINUTE }, { key: 'o', rate_limit: limit(5) });
    const decisions = new Decisions({ store: await open(), rules, options: { holdBack: true } });
    await penalize(decisions);
    const { statuses } = await decisions.ask(request('d', 'k=v', 'o=x'));
    t.strictSame(statuses.map(shown), [
      [OVER_LIMIT, 0, 120],
      [OK, 5, 2_740],
    ]);
  });
}

function examineOperators(t: Test, open: OpenStore, penalizing: Penalizing): void {
  t.test('a pass allows a penalized key, and a ban comes first', async t => {
    const records = sharedRecords();
    const decisions = await penalizing(TWO_PER_MINUTE, {}, { steering: records.buffer });
    await penalize(decisions);
    records.publish([record('pass', 'k=v')]);
    t.equal((await ask(decisions))[0], OK);
    records.publish([record('ban', 'k=v')]);
    const [code, , resetS] = await ask(decisions);
    t.equal(code, OVER_LIMIT);
    t.not(resetS, 120, 'the end of the ban');
    records.publish([]);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 120], 'the penalty has gone on');
  });

  t.test('rejections by a ban are no violations', async t => {
    const records = sharedRecords(record('ban', 'k=v'));
    const decisions = await penalizing(TWO_PER_MINUTE, {}, { steering: records.buffer });
    await penalize(decisions);
    records.publish([]);
    t.strictSame(await ask(decisions), [OK, 1, 40]);
  });

  t.test('an override changes the limit, and does not end a penalty', async t => {
    const records = sharedRecords(record('override', 'k=v', { requests_per_unit: 3 }));
    const decisions = await penalizing(TWO_PER_MINUTE, {}, { steering: records.buffer });
    await penalize(decisions);
    t.equal((await ask(decisions, 0))[0], OVER_LIMIT, 'three fit into each of the windows, and are used up');
    t.equal((await decisions.explain(request('d', 'k=v'))).descriptors[0].penalty?.violations, 0);
    await ask(decisions, 4);
    decisions.clock.advance(MINUTE_MS);
    t.strictSame(await ask(decisions, 4), [OVER_LIMIT, 0, 120]);
    records.publish([record('override', 'k=v', { requests_per_unit: 1_000 })]);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 120]);
  });

  t.test('a reset of the counter ends the penalty and forgets the ones before', async t => {
    const store = await open();
    const rules = ruleFile({ key: 'k', rate_limit: TWO_PER_MINUTE });
    const decisions = new Decisions({ store, rules });
    await penalize(decisions);
    await decisions.reset(request('d', 'k=v'));
    t.strictSame(await ask(decisions), [OK, 1, 40]);
    await penalize(decisions);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 120], 'the first penalty again');
  });
}

function examineReloads(t: Test, penalizing: Penalizing): void {
  const load = (decisions: Decisions, penalty: LimitText['penalty']) =>
    decisions.load(ruleFile({ key: 'k', rate_limit: { ...TWO_PER_MINUTE, ...(penalty && { penalty }) } }));

  t.test('a reload that changes the penalty keeps counts, violations and penalties', async t => {
    const decisions = await penalizing(TWO_PER_MINUTE);
    await ask(decisions, 2);
    await ask(decisions);
    load(decisions, { ...PENALTY, after: 3 });
    t.equal((await ask(decisions, 0))[0], OVER_LIMIT, 'the count');
    decisions.clock.advance(MINUTE_MS);
    t.equal((await ask(decisions, 3))[2], 40, 'two of three violations');
    load(decisions, PENALTY);
    decisions.clock.advance(MINUTE_MS);
    t.strictSame(await ask(decisions, 3), [OVER_LIMIT, 0, 120]);
    load(decisions, { ...PENALTY, for: '1h', max: '2h' });
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 120], 'a penalty that has begun keeps its end');
    load(decisions, { for: '30s' });
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 31], 'but does not last longer than the maximum');
  });

  t.test('without the penalty in the rules, keys are not penalized any more', async t => {
    const decisions = await penalizing(TWO_PER_MINUTE);
    await penalize(decisions);
    decisions.load(ruleFile({ key: 'k', rate_limit: limit(2, { unit: 'minute' }) }));
    t.strictSame(await ask(decisions), [OK, 1, 40]);
    load(decisions, PENALTY);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 120], 'with it, they are');
  });
}

function examineAnswers(t: Test, penalizing: Penalizing): void {
  t.test('answers say how long a penalty lasts', async t => {
    const answers = ANSWER.retryAfter | ANSWER.ratelimitHeaders | ANSWER.problemBody | ANSWER.matchedRule;
    const options = { answers, dynamicMetadata: true };
    const decisions = await penalizing(TWO_PER_MINUTE, {}, { options });
    const headers = async () => {
      const { responseHeadersToAdd, rawBody, dynamicMetadata } = await decisions.ask(request('d', 'k=v'));
      const { detail } = JSON.parse(Buffer.from(rawBody).toString() || '{}');
      const matched = dynamicMetadata?.['matched_rule'];
      return [...responseHeadersToAdd.map(({ value }) => value), detail ?? null, matched];
    };
    await ask(decisions, 3);
    await ask(decisions, 2);
    const type = 'application/problem+json';
    const over = { code: 'OVER_LIMIT', rule: 'd.k', window: '1m' };
    t.strictSame(await headers(), ['"d.k";q=2;w=60', '"d.k";r=0;t=40', '40', type, null, over]);
    decisions.clock.advance(MINUTE_MS);
    await ask(decisions, 3);
    const detail = 'The limit was exceeded repeatedly. All requests are rejected until the penalty ends.';
    t.strictSame(await headers(), [
      '"d.k";q=2;w=60',
      '"d.k";r=0;t=120',
      '120',
      type,
      detail,
      { ...over, penalized: true },
    ]);
    const { dynamicMetadata } = await decisions.ask(request('d', 'k=v'));
    t.match(dynamicMetadata, { descriptors: [{ limits: [{ penalized: true, resetSeconds: 120 }] }] });
  });
}

function examineCache(t: Test, open: OpenStore): void {
  t.test('the local cache keeps a penalty until its end, and nothing else of the limit', async t => {
    const store = new WatchedStore(await open());
    const rules = ruleFile({ key: 'k', rate_limit: TWO_PER_MINUTE });
    const decisions = new Decisions({
      store,
      rules,
      localCacheBytes: 1,
      options: { answers: ANSWER.matchedRule },
    });
    await ask(decisions, 2);
    for (let i = 0; i < 3; i++) t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 40]);
    t.equal(store.calls.length, 4, 'the store sees every rejection before the penalty');
    decisions.clock.advance(MINUTE_MS);
    t.strictSame(await ask(decisions, 3), [OVER_LIMIT, 0, 120]);
    decisions.clock.advance(100_000);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 20]);
    const { dynamicMetadata } = await decisions.ask(request('d', 'k=v'));
    t.match(dynamicMetadata, { matched_rule: { penalized: true } });
    t.equal(store.calls.length, 5);
    decisions.clock.advance(20_000);
    t.strictSame(await ask(decisions), [OK, 1, 40]);
  });

  t.test('the local cache keeps a penalty also if a hit fits only after it, and knows when', async t => {
    const store = new WatchedStore(await open());
    const rules = ruleFile({ key: 'k', rate_limit: sliding(2, { penalty: { for: '90s' } }) });
    const decisions = new Decisions({ store, rules, localCacheBytes: 1 });
    await ask(decisions, 2);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 250]);
    decisions.clock.advance(89_999);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 160.001]);
    t.equal(store.calls.length, 2, 'the store is not asked during the penalty');
    decisions.clock.advance(1);
    t.equal((await ask(decisions, 0))[2], 160, 'after it, the store says the same');
    t.equal(store.calls.length, 3);
  });

  t.test(
    'of a fixed window that ends after the penalty, the local cache says the same as the store',
    async t => {
      const store = new WatchedStore(await open());
      const rules = ruleFile({
        key: 'k',
        rate_limit: limit(2, { unit: 'minute', penalty: { after: 1, for: '9s' } }),
      });
      const decisions = new Decisions({ store, rules, localCacheBytes: 1 });
      decisions.clock.advance(600);
      await ask(decisions, 2);
      t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 40]);
      decisions.clock.advance(300);
      t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 40]);
      decisions.clock.advance(8_500);
      t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 31]);
      t.equal(store.calls.length, 2, 'the store is not asked during the penalty');
      decisions.clock.advance(600);
      t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 30], 'after it, the store says the same');
      t.equal(store.calls.length, 3);
    },
  );

  t.test('a penalty in the local cache does not last longer than later rules allow', async t => {
    const setup = { store: await open(), rules: ruleFile({ key: 'k', rate_limit: TWO_PER_MINUTE }) };
    const decisions = new Decisions({ ...setup, localCacheBytes: 1 });
    await penalize(decisions);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 120]);
    decisions.load(ruleFile({ key: 'k', rate_limit: { ...TWO_PER_MINUTE, penalty: { for: '30s' } } }));
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 31]);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 31], 'also from the cache');
  });
}

function examineExplanations(t: Test, penalizing: Penalizing): void {
  t.test('an explanation tells violations and penalties, and changes neither', async t => {
    const decisions = await penalizing(TWO_PER_MINUTE);
    const look = async () => {
      const [{ penalty, status, count }] = (await decisions.explain(request('d', 'k=v'))).descriptors;
      return [penalty?.violations, penalty?.penalties, penalty?.penalizedUntil, status['code'], count?.now];
    };
    t.strictSame(await look(), [0, 0, null, 'OK', 0]);
    await ask(decisions, 2);
    await ask(decisions);
    for (let i = 0; i < 2; i++) t.strictSame(await look(), [1, 0, null, 'OVER_LIMIT', 2]);
    decisions.clock.advance(MINUTE_MS);
    await ask(decisions, 3);
    t.strictSame(await look(), [0, 1, '2023-11-14T22:16:20.000Z', 'OVER_LIMIT', 0]);
    const [{ limit }] = (await decisions.explain(request('d', 'k=v'))).descriptors;
    t.strictSame(limit?.penalty, { after: 2, forSeconds: 120, factor: 3, maxSeconds: 600 });
    decisions.clock.advance(2 * MINUTE_MS);
    t.strictSame(await look(), [0, 1, null, 'OK', 0]);
    decisions.clock.advance(10 * MINUTE_MS);
    t.strictSame(await look(), [0, 0, null, 'OK', 0], 'forgotten');
  });
}
