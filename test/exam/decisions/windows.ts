import type { Test } from 'tap';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { each } from '../../support/each.ts';
import { deciding, type OpenStore, OVER_LIMIT } from './examinee.ts';
import { limit, ruleFile } from './rule-file.ts';
import { WatchedStore } from './watched-store.ts';

/** Unit, its number on the wire, its length in seconds, and the seconds that are left of it at 1 700 000 000 s. */
const UNITS = [
  ['second', 1, 1, 1],
  ['minute', 2, 60, 40],
  ['hour', 3, 3_600, 2_800],
  ['day', 4, 86_400, 6_400],
  ['week', 7, 604_800, 92_800],
  ['month', 5, 2_592_000, 352_000],
  ['year', 6, 31_536_000, 2_944_000],
] as const;

/** A rule for each unit, under the unit's name as key. */
const UNIT_RULES = ruleFile(...UNITS.map(([unit]) => ({ key: unit, rate_limit: limit(10, { unit }) })));

/** Where windows begin and end, and which descriptors share a counter. */
export function examineWindows(t: Test, open: OpenStore): void {
  examineResets(t, open);
  examineSharedCounters(t, open);
  examinePatterns(t, open);
}

function examineResets(t: Test, open: OpenStore): void {
  t.test('windows are aligned to the epoch: MONTH is 30 days, YEAR 365, WEEK starts on Thursday', async t => {
    const decisions = new Decisions({ store: await open(), rules: UNIT_RULES, nowMs: 1_700_000_000_999 });
    const { statuses } = await decisions.ask(request('d', ...UNITS.map(([unit]) => `${unit}=x`)));
    for (const [i, [unit, number, , left]] of UNITS.entries()) {
      t.strictSame(statuses[i].currentLimit, { name: '', requestsPerUnit: 10, unit: number }, unit);
      t.equal(statuses[i].durationUntilReset, left, `${unit} ends in ${left} s`);
    }
  });

  t.test('the seconds until reset are told whatever their size', async t => {
    const decisions = new Decisions({ store: await open(), rules: UNIT_RULES });
    const newYearS = 54 * 31_536_000;
    for (const left of [1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152, 31_535_999, 31_536_000]) {
      decisions.clock.moveTo((newYearS - left) * 1_000);
      const { statuses } = await decisions.ask(request('d', 'year=x', 'year=y'));
      t.strictSame(each(statuses, 'durationUntilReset'), [left, left]);
    }
  });

  t.test('the store may forget a counter when its window ends, and not before', async t => {
    const store = new WatchedStore(await open());
    const options = { expirationJitterMaxSeconds: 500 };
    const decisions = new Decisions({ store, rules: UNIT_RULES, options, random: () => 0.5 });
    const longestFirst = UNITS.toReversed();
    await decisions.ask(request('d', ...longestFirst.map(([unit]) => `${unit}=x`)));
    await decisions.ask(request('d', 'second=y'));
    const ends = longestFirst.map(([, , , left]) => 1_700_000_000 + left);
    t.strictSame(store.windowEndsS, [ends, [1_700_000_001]]);
  });

  for (const [unit, , length] of UNITS) {
    t.test(`a window of a ${unit} counts to its last second, and the next begins at 0`, async t => {
      const startMs = Math.ceil(1_700_000_000 / length) * length * 1_000;
      const decisions = new Decisions({ store: await open(), rules: UNIT_RULES, nowMs: startMs });
      const ask = async () => {
        const { statuses } = await decisions.ask({ ...request('d', `${unit}=x`), hitsAddend: 2 });
        return [statuses[0].limitRemaining, statuses[0].durationUntilReset];
      };
      t.strictSame(await ask(), [8, length], 'the first second has the whole window before it');
      decisions.clock.moveTo(startMs + length * 1_000 - 1);
      t.strictSame(await ask(), [6, 1], 'the last second is never 0');
      decisions.clock.moveTo(startMs + length * 1_000);
      t.strictSame(await ask(), [8, length], 'the next window');
      decisions.clock.moveTo(startMs + 7 * length * 1_000);
      t.strictSame(await ask(), [8, length], 'a later window');
    });
  }
}

function examineSharedCounters(t: Test, open: OpenStore): void {
  /** What remains of 10 after each of the descriptors, asked one after the other. */
  const remaining = async (decisions: Decisions, ...texts: string[]): Promise<number[]> => {
    const left: number[] = [];
    for (const text of texts) left.push((await decisions.ask(request('d', text))).statuses[0].limitRemaining);
    return left;
  };

  t.test('`a=b_c` and `a_b=c` share rule and counter', async t => {
    const decisions = await deciding(open, { key: 'a_b', value: 'c', rate_limit: limit(10) });
    t.strictSame(await remaining(decisions, 'a=b_c', 'a_b=c', 'a=b_c'), [9, 8, 7]);
  });

  t.test('each value of a key-only entry has a counter of its own, and so has the empty one', async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(10) });
    t.strictSame(await remaining(decisions, 'k=a', 'k=b', 'k=', 'k=a', 'k', 'k=A'), [9, 9, 9, 8, 8, 9]);
  });

  t.test('limits of two units share a counter while their windows begin in the same second', async t => {
    const rules = ruleFile({ key: 'k', rate_limit: limit(10, { unit: 'day' }) });
    const midnightMs = 19_676 * 86_400_000;
    const decisions = new Decisions({ store: await open(), rules, nowMs: midnightMs });
    const hourly = descriptor('k=v', { limit: { requestsPerUnit: 5, unit: 3 } });
    const ask = async () => {
      const response = await decisions.ask(request('d', descriptor('k=v'), hourly));
      return response.statuses.map(status => [status.limitRemaining, status.durationUntilReset]);
    };
    t.strictSame(
      await ask(),
      [
        [9, 86_400],
        [3, 3_600],
      ],
      'in the first hour of the day the two count together',
    );
    decisions.clock.advance(3_600_000);
    t.strictSame(
      await ask(),
      [
        [7, 82_800],
        [4, 3_600],
      ],
      'later the hour has its own',
    );
  });

  t.test('domains whose names and keys join to one text share a counter', async t => {
    const long = ruleFile({ key: 'k', rate_limit: limit(10) }).replace('"d"', '"d_x"');
    const rules = { 'one.yaml': ruleFile({ key: 'x_k', rate_limit: limit(10) }), 'two.yaml': long };
    const decisions = new Decisions({ store: await open(), rules });
    t.equal((await decisions.ask(request('d', 'x_k=v'))).statuses[0].limitRemaining, 9);
    t.equal((await decisions.ask(request('d_x', 'k=v'))).statuses[0].limitRemaining, 8);
  });

  t.test('services with one prefix share their counters, with another they do not', async t => {
    const store = await open();
    const rules = ruleFile({ key: 'k', rate_limit: limit(10) });
    const withPrefix = (cacheKeyPrefix: string) =>
      new Decisions({ store, rules, options: { cacheKeyPrefix } });
    t.strictSame(await remaining(withPrefix('a:'), 'k=v'), [9]);
    t.strictSame(await remaining(withPrefix('a:'), 'k=v'), [8]);
    t.strictSame(await remaining(withPrefix('b:'), 'k=v'), [9]);
    t.strictSame(await remaining(withPrefix(''), 'k=v'), [9]);
  });

  t.test('a rule reload keeps the counters', async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(10) });
    t.strictSame(await remaining(decisions, 'k=v'), [9]);
    decisions.load(ruleFile({ key: 'other' }, { key: 'k', rate_limit: limit(3) }));
    t.strictSame(await remaining(decisions, 'k=v', 'k=v'), [1, 0]);
    const { statuses } = await decisions.ask(request('d', 'k=v'));
    t.equal(statuses[0].code, OVER_LIMIT);
  });
}

function examinePatterns(t: Test, open: OpenStore): void {
  const shared = { share_threshold: true, rate_limit: limit(10) };
  const left = async (decisions: Decisions, text: string): Promise<number> =>
    (await decisions.ask(request('d', text))).statuses[0].limitRemaining;

  t.test('`share_threshold` counts all values of the pattern together, exact siblings alone', async t => {
    const decisions = await deciding(
      open,
      { key: 'f', value: 'test*', ...shared },
      { key: 'f', value: 'test1', rate_limit: limit(10) },
    );
    const texts = ['f=test2', 'f=test23', 'f=test1', 'f=test', 'f=test1'];
    const found: number[] = [];
    for (const text of texts) found.push(await left(decisions, text));
    t.strictSame(found, [9, 8, 9, 7, 8]);
  });

  t.test('a wildcard without the flag gives each value its own counter', async t => {
    const decisions = await deciding(open, { key: 'f', value: 'test*', rate_limit: limit(10) });
    t.strictSame([await left(decisions, 'f=test1'), await left(decisions, 'f=test2')], [9, 9]);
  });

  t.test('a value that is the pattern itself has the same counter', async t => {
    const decisions = await deciding(open, { key: 'f', value: 'a*', ...shared });
    t.strictSame([await left(decisions, 'f=a1'), await left(decisions, 'f=a*')], [9, 8]);
  });

  t.test('a shared level above the limit is shared too; without the flag it keeps its value', async t => {
    const decisions = await deciding(open, {
      key: 'path',
      value: 'p/*',
      share_threshold: true,
      descriptors: [{ key: 'path', value: 'x*', descriptors: [{ key: 'type', rate_limit: limit(10) }] }],
    });
    const texts = ['path=p/1,path=x1,type=t', 'path=p/2,path=x1,type=t', 'path=p/1,path=x2,type=t'];
    const found: number[] = [];
    for (const text of [...texts, 'path=p/3,path=x1,type=u']) found.push(await left(decisions, text));
    t.strictSame(found, [9, 8, 9, 9]);
  });

  t.test('the pattern replaces a value that is longer than it, and one that is shorter', async t => {
    const entry = { key: 'f', value: '*-suffix', share_threshold: true };
    const decisions = await deciding(open, { ...entry, descriptors: [{ key: 'k', rate_limit: limit(10) }] });
    const found: number[] = [];
    for (const value of ['-suffix', `${'long'.repeat(2_000)}-suffix`, 'ü-suffix'])
      found.push(await left(decisions, `f=${value},k=v`));
    t.strictSame(found, [9, 8, 7]);
  });

  t.test('a level that was not matched as a wildcard keeps its value, whatever its flag says', async t => {
    const last = { key: '*z', share_threshold: true, rate_limit: limit(10) };
    const decisions = await deciding(open, {
      key: 'f',
      value: 'a*',
      share_threshold: true,
      descriptors: [last],
    });
    const found: number[] = [];
    // `*z` is matched by its text: the joined texts do not end in z. The last one is matched as a wildcard.
    for (const text of ['f=a1,*z=u', 'f=a2,*z=v', 'f=a3,*z=u', 'f=a4,x=yz'])
      found.push(await left(decisions, text));
    t.strictSame(found, [9, 9, 8, 9]);
  });
}
