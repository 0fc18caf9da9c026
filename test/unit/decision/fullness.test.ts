import t, { type Test } from 'tap';
import { fullestKey } from '../../../src/decision/statistics/fullest-keys.ts';
import { type LimitText, limit, ruleFile } from '../../exam/decisions/rule-file.ts';
import { type DecisionSetup, Decisions, request } from '../../support/decisions.ts';
import { record, sharedRecords } from '../../support/steering.ts';
import { sharedStoreKind } from '../../support/stores.ts';

/** Decisions about the rules of one key, and the share of its fullest value; null if none is known. */
async function examinee(t: Test, rate: LimitText, setup: Partial<DecisionSetup> = {}) {
  const rules = ruleFile({ key: 'user', rate_limit: rate });
  const decisions = new Decisions({ store: await sharedStoreKind.open(t), rules, ...setup });
  const ask = async (value: string, times: number): Promise<void> => {
    for (let i = 0; i < times; i++) await decisions.ask(request('d', `user=${value}`));
  };
  const found = () =>
    fullestKey(decisions.statistics.active!.generation, 0, Math.floor(decisions.clock.nowMs() / 1000));
  const share = (): number | null => {
    const key = found();
    return key === null ? null : Math.round(key.share * 100) / 100;
  };
  return { decisions, ask, found, share };
}

t.test('it is the key with the largest share, until the window ends', async t => {
  const { decisions, ask, share } = await examinee(t, limit(10));
  t.equal(share(), null, 'nothing was counted');
  await ask('ann', 3);
  t.equal(share(), 0.3);
  await ask('bob', 7);
  await ask('ann', 2);
  t.equal(share(), 0.7, 'not the last one');
  decisions.clock.advance(30 * 60_000);
  t.equal(share(), 0.7, 'the count stays');
  await ask('bob', 5);
  t.equal(share(), 1.2, 'a limit that is exceeded');
  decisions.clock.advance(60 * 60_000);
  t.equal(share(), null);
  await ask('carl', 1);
  t.equal(share(), 0.1);
});

t.test('a share of a shorter window counts for a minute', async t => {
  const { decisions, ask, share } = await examinee(t, { unit: 'second', requests_per_unit: 4 });
  await ask('ann', 3);
  decisions.clock.advance(20_000);
  await ask('ann', 1);
  t.equal(share(), 0.75, 'the peak of the last minute');
  decisions.clock.advance(41_000);
  t.equal(share(), null);
});

t.test('sliding windows and token buckets are full at 1, and fall', async t => {
  for (const rate of [
    limit(4, { algorithm: 'sliding_window' }),
    limit(1, { algorithm: 'token_bucket', burst: 4 }),
  ]) {
    const { decisions, ask, share } = await examinee(t, rate);
    await ask('ann', 2);
    t.equal(share(), 0.5);
    await ask('ann', 9);
    t.equal(share(), 1);
    decisions.clock.advance(61_000);
    t.equal(share(), null);
  }
});

t.test('each limit of a rule has a share of its own', async t => {
  const rules = ruleFile({ key: 'user', rate_limits: [limit(4), { unit: 'day', requests_per_unit: 8 }] });
  const decisions = new Decisions({ store: await sharedStoreKind.open(t), rules });
  for (let i = 0; i < 3; i++) await decisions.ask(request('d', 'user=ann'));
  const { generation } = decisions.statistics.active!;
  const nowS = decisions.clock.nowMs() / 1000;
  t.same(
    [0, 1].map(limit => fullestKey(generation, limit, nowS)?.share),
    [0.75, 0.375],
  );
});

t.test('a key that the local cache has as over its limit is full', async t => {
  const { decisions, ask, share } = await examinee(t, limit(2), { localCacheBytes: 100_000 });
  await ask('ann', 3);
  decisions.load(ruleFile({ key: 'user', rate_limit: limit(2) }));
  t.equal(share(), null, 'other rules begin anew');
  await ask('ann', 1);
  t.equal(share(), 1);
});

t.test('the share of a key with another limit is that of its limit', async t => {
  const records = sharedRecords(record('override', 'user=ann', { requests_per_unit: 20 }));
  const { ask, found } = await examinee(t, limit(5), { steering: records.buffer });
  await ask('ann', 10);
  t.same(found(), { share: 0.5, isOverridden: true });
  await ask('bob', 3);
  t.match(found(), { isOverridden: false });
});

t.test('unlimited keys, refunds and a limit of 0', async t => {
  const unlimited = await examinee(t, { unlimited: true });
  await unlimited.ask('ann', 3);
  t.equal(unlimited.share(), null);
  const none = await examinee(t, limit(0));
  await none.ask('ann', 3);
  t.equal(none.share(), 1);
});
