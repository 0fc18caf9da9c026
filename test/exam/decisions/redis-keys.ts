import type { Test } from 'tap';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import type { RedisServer } from '../../support/redis-server.ts';
import { words } from '../../support/words.ts';
import { deciding, type OpenStore } from './examinee.ts';
import { limit, ruleFile } from './rule-file.ts';

/** Seconds that a test may take between an answer and the look at what it left in Redis. */
const SLOWNESS_S = 30;

const HOUR_RULES = ruleFile({ key: 'k', rate_limit: limit(10) });

/** What decisions leave in a real Redis: keys and times to live equal to those of the reference implementation. */
export function examineRedisKeys(t: Test, open: OpenStore, redis: RedisServer): void {
  examineKeys(t, open, redis);
  examineTimesToLive(t, open, redis);
  examineUncountable(t, open, redis);
}

async function storedKeys(redis: RedisServer): Promise<string[]> {
  return ((await redis.command('KEYS', '*')) as string[]).sort();
}

function examineKeys(t: Test, open: OpenStore, redis: RedisServer): void {
  t.test('keys are prefix, domain, entries and the start of the window, joined by underscores', async t => {
    const flat = (key: string, unit: string) => ({ key, rate_limit: limit(10, { unit }) });
    const rules = ruleFile(
      flat('key', 'second'),
      { ...flat('key3', 'hour'), descriptors: [flat('subkey3', 'day')] },
      { key: 'key2', value: 'value2', descriptors: [flat('subkey2', 'minute')] },
      flat('empty', 'minute'),
      { key: 'files', value: 'files/*', share_threshold: true, rate_limit: limit(10, { unit: 'second' }) },
    ).replace('"d"', '"domain"');
    for (const [text, nowS, key, cacheKeyPrefix] of [
      ['key=value', 1_234, 'domain_key_value_1234', ''],
      ['key=value', 1_234, 'prefix:domain_key_value_1234', 'prefix:'],
      ['key=', 1_234, 'domain_key__1234', ''],
      ['key2=value2,subkey2=subvalue2', 1_234, 'domain_key2_value2_subkey2_subvalue2_1200', ''],
      ['key3=value3', 1_000_000, 'domain_key3_value3_997200', ''],
      ['key3=value3,subkey3=subvalue3', 1_000_000, 'domain_key3_value3_subkey3_subvalue3_950400', ''],
      ['empty=', 1_234, 'domain_empty__1200', ''],
      ['files=files/a.pdf', 1_234, 'domain_files_files/*_1234', ''],
      ['key=10.0.0.1:8|x y', 1_234, 'domain_key_10.0.0.1:8|x y_1234', ''],
      ['key=日本\u0000\n', 1_234, 'domain_key_日本\u0000\n_1234', 'ü'],
    ] as const) {
      const options = { cacheKeyPrefix };
      const decisions = new Decisions({ store: await open(), rules, options, nowMs: nowS * 1_000 });
      await decisions.ask({ ...request('domain', text), hitsAddend: 3 });
      const expected = key.startsWith('domain') ? cacheKeyPrefix.replace('prefix:', '') + key : key;
      t.strictSame(await storedKeys(redis), [expected], text);
      t.equal(await redis.command('GET', expected), '3', `${expected} holds the hits`);
    }
  });

  t.test('the start in the key is that of each unit', async t => {
    const units = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year'];
    const rules = ruleFile(...units.map(unit => ({ key: unit, rate_limit: limit(1, { unit }) })));
    const decisions = new Decisions({
      store: await open(),
      rules,
      options: { expirationJitterMaxSeconds: 60 },
    });
    await decisions.ask(request('d', ...units.map(unit => `${unit}=x`)));
    const expected = words(`
      d_day_x_1699920000 d_hour_x_1699999200 d_minute_x_1699999980 d_month_x_1697760000
      d_second_x_1700000000 d_week_x_1699488000 d_year_x_1671408000`);
    t.strictSame(await storedKeys(redis), expected);
  });

  t.test('a limit of the request’s own has the key that a rule for the same entries has', async t => {
    const decisions = await deciding(open);
    const own = descriptor('a=b,c=', { limit: { requestsPerUnit: 5, unit: 7 } });
    const none = { entries: [], limit: { requestsPerUnit: 5, unit: 3 }, hitsAddend: null };
    await decisions.ask(request('d', own, none));
    t.strictSame(await storedKeys(redis), ['d_1699999200', 'd_a_b_c__1699488000']);
  });

  t.test('descriptors without a rule, unlimited and replaced ones leave nothing', async t => {
    const decisions = await deciding(
      open,
      { key: 'free', rate_limit: { unlimited: true, replaces: [{ name: 'old' }] } },
      { key: 'old', rate_limit: limit(10, { name: 'old' }) },
    );
    await decisions.ask(request('d', 'free=1', 'old=1', 'none=1'));
    t.strictSame(await storedKeys(redis), []);
  });
}

function examineTimesToLive(t: Test, open: OpenStore, redis: RedisServer): void {
  const lives = async (t: Test, key: string, seconds: number): Promise<void> => {
    const left = (await redis.command('TTL', key)) as number;
    t.ok(
      left <= seconds && left > seconds - SLOWNESS_S,
      `${key} lives for ${left} s, ${seconds} s when it was set`,
    );
  };

  t.test('without jitter a counter lives for exactly its window, whatever is left of it', async t => {
    const rules = ruleFile(
      { key: 'h', rate_limit: limit(10) },
      { key: 'w', rate_limit: limit(10, { unit: 'week' }) },
      { key: 'y', rate_limit: limit(10, { unit: 'year' }) },
    );
    for (const expirationJitterMaxSeconds of [0, -1_000]) {
      const options = { expirationJitterMaxSeconds };
      const decisions = new Decisions({ store: await open(), rules, options, random: () => 0.999 });
      await decisions.ask(request('d', 'h=1', 'w=1', 'y=1'));
      await lives(t, 'd_h_1_1699999200', 3_600);
      await lives(t, 'd_w_1_1699488000', 604_800);
      await lives(t, 'd_y_1_1671408000', 31_536_000);
    }
  });

  t.test('a limit of a month of the calendar lives until the month ends, and the jitter', async t => {
    const rules = ruleFile({ key: 'm', rate_limit: limit(10, { unit: 'month' }) });
    const options = { expirationJitterMaxSeconds: 1_000 };
    const decisions = new Decisions({ store: await open(), rules: null, options, random: () => 0.5 });
    decisions.load(rules, { mergeDomains: false, calendarMonths: true });
    await decisions.ask(request('d', 'm=1'));
    t.strictSame(await storedKeys(redis), ['d_m_1_1698796800']);
    await lives(t, 'd_m_1_1698796800', 1_388_800 + 500);
  });

  t.test('jitter adds from 0 to one second less than the setting, drawn for each counter', async t => {
    const draws = [0, 0.999_999, 0.5];
    const decisions = new Decisions({
      store: await open(),
      rules: HOUR_RULES,
      options: { expirationJitterMaxSeconds: 1_000 },
      random: () => draws.shift()!,
    });
    await decisions.ask(request('d', 'k=a', 'k=b', 'k=c'));
    await lives(t, 'd_k_a_1699999200', 3_600);
    await lives(t, 'd_k_b_1699999200', 3_600 + 999);
    await lives(t, 'd_k_c_1699999200', 3_600 + 500);
  });

  t.test('a counter has its time to live from its first increment, which no later one shortens', async t => {
    for (const holdBack of [false, true]) {
      const decisions = new Decisions({ store: await open(), rules: HOUR_RULES, options: { holdBack } });
      await decisions.ask({ ...request('d', 'k=v'), descriptors: [descriptor('k=v', { hitsAddend: 0 })] });
      t.equal(await redis.command('GET', 'd_k_v_1699999200'), '0');
      await lives(t, 'd_k_v_1699999200', 3_600);
      await decisions.ask(request('d', 'k=v'));
      await lives(t, 'd_k_v_1699999200', 3_600);
      await redis.command('SET', 'd_k_v_1699999200', 4, 'EX', 7_200);
      const response = await decisions.ask(request('d', 'k=v'));
      t.equal(response.statuses[0].limitRemaining, 5, 'a count that was there goes on');
      const left = (await redis.command('TTL', 'd_k_v_1699999200')) as number;
      t.ok(left > 3_600 - SLOWNESS_S, `it lives for ${left} s`);
    }
  });

  t.test('limits of two units that share a counter keep it for the longer of their windows', async t => {
    const rules = ruleFile({ key: 'k', rate_limit: limit(10, { unit: 'day' }) });
    const nowMs = 19_676 * 86_400_000;
    const hourly = descriptor('k=v', { limit: { requestsPerUnit: 5, unit: 3 } });
    for (const holdBack of [false, true]) {
      const decisions = new Decisions({ store: await open(), rules, options: { holdBack }, nowMs });
      await decisions.ask(request('d', descriptor('k=v'), hourly));
      await lives(t, 'd_k_v_1700006400', 86_400);
    }
  });

  t.test('a counter that is held back is made with 0 and lives on', async t => {
    const rules = ruleFile({ key: 'k', rate_limit: limit(10) }, { key: 'none', rate_limit: limit(0) });
    const decisions = new Decisions({ store: await open(), rules, options: { holdBack: true } });
    await decisions.ask(request('d', 'k=v', 'none=v'));
    t.equal(await redis.command('GET', 'd_k_v_1699999200'), '0');
    t.equal(await redis.command('GET', 'd_none_v_1699999200'), '1');
    await lives(t, 'd_k_v_1699999200', 3_600);
  });
}

function examineUncountable(t: Test, open: OpenStore, redis: RedisServer): void {
  for (const holdBack of [false, true]) {
    const mode = holdBack ? ', holding back' : '';
    t.test(`a key that Redis cannot count refuses its request and no other of the batch${mode}`, async t => {
      const decisions = new Decisions({ store: await open(), rules: HOUR_RULES, options: { holdBack } });
      await redis.command('LPUSH', 'd_k_list_1699999200', 'x');
      const [failed, decided] = await Promise.allSettled([
        decisions.ask(request('d', 'k=list')),
        decisions.ask(request('d', 'k=v')),
      ]);
      t.match(failed, {
        status: 'rejected',
        reason: { code: 'store_failed', message: /could not count the key `d_k_list_1699999200`/ },
      });
      t.match(decided, { status: 'fulfilled', value: { statuses: [{ limitRemaining: 9 }] } });
      t.equal(decisions.counter('ratelimit.service.call.should_rate_limit.redis_error'), 1);
      t.equal(decisions.counter('ratelimit.service.call.should_rate_limit.service_error'), 0);
      t.strictSame(
        decisions.rule('d.k'),
        { total_hits: 2, within_limit: 1 },
        'hits are counted before the store is asked',
      );
    });

    t.test(`a count that would overflow refuses its request and no other of the batch${mode}`, async t => {
      const decisions = new Decisions({ store: await open(), rules: HOUR_RULES, options: { holdBack } });
      await redis.command('SET', 'd_k_full_1699999200', '9223372036854775807');
      const [failed, decided] = await Promise.allSettled([
        decisions.ask(request('d', 'k=full')),
        decisions.ask(request('d', 'k=v')),
      ]);
      t.match(failed, { status: 'rejected', reason: { code: 'store_failed' } });
      t.match(decided, { status: 'fulfilled', value: { statuses: [{ limitRemaining: 9 }] } });
    });
  }
}
