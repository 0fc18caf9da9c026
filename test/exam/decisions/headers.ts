import type { Test } from 'tap';
import type { EngineOptions } from '../../../src/decision/engine.ts';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { each } from '../../support/each.ts';
import type { OpenStore } from './examinee.ts';
import { limit, ruleFile } from './rule-file.ts';

const NAMES = { limit: 'RateLimit-Limit', remaining: 'RateLimit-Remaining', reset: 'RateLimit-Reset' };

/** Limits of different sizes, so that a header tells which descriptor it reports. */
const RULES = ruleFile(
  { key: 'ok100', rate_limit: limit(100) },
  { key: 'ok50', rate_limit: limit(50, { unit: 'day' }) },
  { key: 'also50', rate_limit: limit(50, { unit: 'week' }) },
  { key: 'over0', rate_limit: limit(0) },
  { key: 'last1', rate_limit: limit(1, { unit: 'minute' }) },
  { key: 'quotaover0', quota_mode: true, rate_limit: limit(0, { unit: 'day' }) },
  { key: 'shadowover0', shadow_mode: true, rate_limit: limit(0, { unit: 'month' }) },
  { key: 'free', rate_limit: { unlimited: true } },
  { key: 'most', rate_limit: limit(4_294_967_295) },
);

/** The three headers (spec 4.5). */
export function examineHeaders(t: Test, open: OpenStore): void {
  const asking = async (options: Partial<EngineOptions> = {}): Promise<Decisions> =>
    new Decisions({ store: await open(), rules: RULES, options: { headerNames: NAMES, ...options } });
  examineValues(t, open, asking);
  examineChoice(t, asking);
  examineUnits(t, open);
}

type Asking = (options?: Partial<EngineOptions>) => Promise<Decisions>;

function examineValues(t: Test, open: OpenStore, asking: Asking): void {
  t.test('the headers are the limit, what remains and the seconds until reset, in this order', async t => {
    const rules = ruleFile({ key: 'k', rate_limit: limit(10, { unit: 'minute' }) });
    const headerNames = { limit: 'X-L', remaining: 'X-R', reset: 'X-T' };
    const decisions = new Decisions({
      store: await open(),
      rules,
      options: { headerNames },
      nowMs: 2_222_000,
    });
    const headers = async (hitsAddend: number) =>
      (await decisions.ask({ ...request('d', 'k=v'), hitsAddend })).responseHeadersToAdd.map(
        ({ key, value }) => `${key}: ${value}`,
      );
    t.strictSame(await headers(3), ['X-L: 10', 'X-R: 7', 'X-T: 58']);
    t.strictSame(await headers(8), ['X-L: 10', 'X-R: 0', 'X-T: 58']);
  });

  t.test('without the setting there are no headers', async t => {
    const decisions = await asking({ headerNames: null });
    t.strictSame((await decisions.ask(request('d', 'over0=1'))).responseHeadersToAdd, []);
  });

  t.test('a limit of the request’s own is reported too', async t => {
    const decisions = await asking();
    const own = descriptor('x=y', { limit: { requestsPerUnit: 6, unit: 1 } });
    const response = await decisions.ask(request('d', own));
    t.strictSame(each(response.responseHeadersToAdd, 'value'), ['6', '5', '1']);
  });
}

function examineChoice(t: Test, asking: Asking): void {
  const report = (sentence: string, cases: Readonly<Record<string, string | null>>, modes = {}): void => {
    t.test(sentence, async t => {
      for (const [keys, expected] of Object.entries(cases)) {
        const decisions = await asking({ modes: { shadow: false, quota: false, ...modes } });
        const texts = keys.split(' ').map((key, i) => `${key}=${i}`);
        const { responseHeadersToAdd } = await decisions.ask(request('d', ...texts));
        const values = responseHeadersToAdd.map(({ value }) => value).join(' ');
        t.equal(values === '' ? null : values, expected, keys);
      }
    });
  };

  report('the first descriptor with the least remaining is reported', {
    'ok100 ok50': '50 49 6400',
    'ok50 ok100': '50 49 6400',
    'ok50 also50': '50 49 6400',
    'also50 ok50': '50 49 92800',
    'ok100 none ok50 free': '50 49 6400',
    'last1 shadowover0': '1 0 40',
    'shadowover0 last1': '0 0 352000',
    'ok100 quotaover0 shadowover0': '0 0 6400',
    most: '4294967295 4294967294 2800',
  });

  report('of several regular descriptors over their limit the last is reported', {
    'over0 ok100': '0 0 2800',
    'ok100 over0': '0 0 2800',
    'over0 last1': '0 0 2800',
    'last1 over0': '0 0 2800',
    'over0 quotaover0': '0 0 2800',
    'quotaover0 over0': '0 0 2800',
    'shadowover0 quotaover0 over0': '0 0 2800',
  });

  report('no headers are added when no limit applies', { free: null, none: null, 'none free': null });

  report(
    'in global quota mode the first with the least remaining is reported, over or not',
    { 'quotaover0 over0': '0 0 6400', 'over0 quotaover0': '0 0 2800', 'ok100 over0': '0 0 2800' },
    { quota: true },
  );

  report(
    'global shadow mode does not change what is reported',
    { 'over0 ok100': '0 0 2800' },
    { shadow: true },
  );

  t.test('the last of two regular descriptors over their limits is told apart by its limit', async t => {
    const decisions = await asking();
    const response = await decisions.ask({
      ...request('d', 'ok50=a', 'ok100=a', 'last1=a'),
      hitsAddend: 200,
    });
    t.strictSame(each(response.responseHeadersToAdd, 'value'), ['1', '0', '40']);
    const reversed = await decisions.ask({
      ...request('d', 'last1=b', 'ok100=b', 'ok50=b'),
      hitsAddend: 200,
    });
    t.strictSame(each(reversed.responseHeadersToAdd, 'value'), ['50', '0', '6400']);
  });

  t.test('a limit of which everything remains, and that is the largest, is no choice', async t => {
    const decisions = await asking();
    const only = request('d', descriptor('most=x', { hitsAddend: 0 }));
    t.strictSame((await decisions.ask(only)).responseHeadersToAdd, []);
  });
}

/** The headers for each unit. */
function examineUnits(t: Test, open: OpenStore): void {
  const rules = ruleFile(
    { key: 'second', rate_limit: limit(10, { unit: 'second' }) },
    { key: 'burst', rate_limit: limit(5, { unit: 'second' }) },
    { key: 'minute', rate_limit: limit(1_000, { unit: 'minute' }) },
    { key: 'day', rate_limit: limit(100, { unit: 'day' }) },
    { key: 'full', rate_limit: limit(0, { unit: 'day' }) },
    { key: 'free', rate_limit: { unlimited: true } },
    { key: 'old', rate_limit: limit(1, { name: 'old' }) },
    { key: 'new', rate_limit: limit(2, { unit: 'week', replaces: [{ name: 'old' }] }) },
    { key: 'several', rate_limits: [limit(7, { unit: 'year' }), { window: '5m', requests_per_unit: 6 }] },
  );
  const asking = async (options: Partial<EngineOptions> = {}): Promise<Decisions> =>
    new Decisions({ store: await open(), rules, options: { unitHeaders: true, ...options } });
  const pairs = (headers: readonly { readonly key: string; readonly value: string }[]): string[] =>
    headers.map(({ key, value }) => `${key}: ${value}`);

  t.test('the headers for each unit precede the three headers', async t => {
    const decisions = await asking({ headerNames: NAMES });
    const { responseHeadersToAdd } = await decisions.ask(
      request('d', 'second=a', 'minute=a', 'free=a', 'none=a'),
    );
    t.strictSame(pairs(responseHeadersToAdd), [
      'RateLimit-Limit-Seconds: 10',
      'RateLimit-Remaining-Seconds: 9',
      'RateLimit-Limit-Minutes: 1000',
      'RateLimit-Remaining-Minutes: 999',
      'RateLimit-Limit: 10',
      'RateLimit-Remaining: 9',
      'RateLimit-Reset: 1',
    ]);
  });

  t.test('of the limits of a unit, the one with the fewest remaining requests is reported', async t => {
    const decisions = await asking();
    const report = async (...descriptors: string[]): Promise<string[]> => {
      const { responseHeadersToAdd } = await decisions.ask(request('d', ...descriptors));
      return responseHeadersToAdd.map(({ key, value }) => `${key.replace('RateLimit-', '')} ${value}`);
    };
    t.strictSame(await report('day=a', 'second=a', 'burst=a', 'full=a'), [
      'Limit-Days 0',
      'Remaining-Days 0',
      'Limit-Seconds 5',
      'Remaining-Seconds 4',
    ]);
    t.strictSame(
      await report('several=a'),
      ['Limit-Years 7', 'Remaining-Years 6', 'Limit-Minutes 6', 'Remaining-Minutes 5'],
      'each limit of a descriptor, under the unit of its status',
    );
    t.strictSame(
      await report('old=a', 'new=a'),
      ['Limit-Weeks 2', 'Remaining-Weeks 1'],
      'not replaced limits',
    );
    t.strictSame(await report('free=a', 'none=a'), [], 'no limit applies');
  });

  t.test('a limit of the request’s own has headers too, also in JSON', async t => {
    const decisions = await asking();
    const own = descriptor('x=y', { limit: { requestsPerUnit: 6, unit: 5 } });
    const { text } = await decisions.askJson(request('d', own));
    t.strictSame(JSON.parse(text).responseHeadersToAdd, [
      { key: 'RateLimit-Limit-Months', value: '6' },
      { key: 'RateLimit-Remaining-Months', value: '5' },
    ]);
  });

  t.test('a refusal that is kept for a second has them again', async t => {
    const decisions = await asking({ headerNames: NAMES });
    const ask = async () => pairs((await decisions.ask(request('d', 'full=a'))).responseHeadersToAdd);
    const first = await ask();
    t.equal(first.length, 5);
    t.strictSame(await ask(), first);
  });
}
