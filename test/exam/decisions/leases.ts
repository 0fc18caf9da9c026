import type { Test } from 'tap';
import { LEASE_ACTIONS } from '../../../src/messages/lease-message.ts';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { record, sharedRecords } from '../../support/steering.ts';
import { deciding, type OpenStore, OVER_LIMIT, shown } from './examinee.ts';
import { type EntryText, limit, ruleFile } from './rule-file.ts';

const RESERVE = { for: '10m' };
const SLOTS: EntryText = { key: 'k', holder: 'id', rate_limit: { concurrency: { limit: 2, for: '10m' } } };
const BUDGET: EntryText = { key: 'k', holder: 'id', rate_limit: limit(100, { reserve: RESERVE }) };

/** Limits with leases, as callers see them. */
export function examineLeases(t: Test, open: OpenStore): void {
  examineCalls(t, open);
  examineRequests(t, open);
  examineOneEntry(t, open);
  examineModes(t, open);
  examineSteering(t, open);
  examineStatistics(t, open);
}

/** Asks with one descriptor, such as `k=v,id=1`: `OK 6`. */
async function ask(decisions: Decisions, text: string, hitsAddend = 1): Promise<string> {
  const { statuses } = await decisions.ask(request('d', descriptor(text, { hitsAddend })));
  return shown(statuses)[0];
}

/** Gives hits back. */
async function giveBack(decisions: Decisions, text: string, hits = 1): Promise<string> {
  return shown((await decisions.ask(refund('d', hits, text))).statuses)[0];
}

/** Asks with one descriptor that says what it wants of the lease of a holder. */
async function lease(
  decisions: Decisions,
  id: string,
  name: keyof typeof LEASE_ACTIONS,
  hitsAddend: number,
): Promise<string> {
  const own = { hitsAddend, lease: { id, action: LEASE_ACTIONS[name] } };
  return shown((await decisions.ask(request('d', descriptor('k=v', own)))).statuses)[0];
}

function examineCalls(t: Test, open: OpenStore): void {
  t.test('the first call of a holder holds its hits, and the second one spends what was used', async t => {
    const decisions = await deciding(open, BUDGET);
    t.equal(await ask(decisions, 'k=v,id=1', 60), 'OK 40');
    t.equal(await ask(decisions, 'k=v,id=2', 60), 'OVER_LIMIT 40');
    t.equal(await ask(decisions, 'k=v,id=2', 40), 'OK 0');
    t.equal(await ask(decisions, 'k=v,id=1', 10), 'OK 50', 'less than estimated');
    t.equal(await ask(decisions, 'k=v,id=2', 95), 'OK 0', 'more than estimated');
    t.equal(await ask(decisions, 'k=v,id=3', 1), 'OVER_LIMIT 0', 'the rest is spent');
    t.equal(await ask(decisions, 'k=other,id=1', 100), 'OK 0', 'other keys are not affected');
  });

  t.test('a refund says which part of the hits was not used', async t => {
    const decisions = await deciding(open, BUDGET);
    await ask(decisions, 'k=v,id=1', 60);
    t.equal(await giveBack(decisions, 'k=v,id=1', 45), 'OK 85');
    t.equal(await giveBack(decisions, 'k=v,id=1', 45), 'OK 85', 'the second time, it does nothing');
    t.equal(await giveBack(decisions, 'k=v,id=unknown', 10), 'OK 85');
  });

  t.test('callers can say what they want, with an id instead of an entry', async t => {
    const decisions = await deciding(open, BUDGET);
    t.equal(await lease(decisions, 'a', 'reserve', 30), 'OK 70');
    t.equal(await lease(decisions, 'a', 'reserve', 30), 'OK 40', 'a second time: both are held');
    t.equal(await lease(decisions, 'a', 'extend', 0), 'OK 40');
    t.equal(await lease(decisions, 'a', 'settle', 5), 'OK 95');
    t.equal(await lease(decisions, 'a', 'settle', 5), 'OK 95');
    t.equal(await lease(decisions, 'b', 'reserve', 50), 'OK 45');
    t.equal(await lease(decisions, 'b', 'release', 0), 'OK 95');
    t.equal(await lease(decisions, 'c', 'settle', 20), 'OK 75', 'hits without a lease are spent');
    t.equal(await ask(decisions, 'k=v,id=a', 75), 'OK 0', 'ids are names of holders');
  });

  t.test('an entry can say what a proxy wants', async t => {
    const decisions = await deciding(open, BUDGET);
    t.equal(await ask(decisions, 'k=v,id=1', 60), 'OK 40');
    t.equal(await ask(decisions, 'k=v,id=1,lease_action=settle', 10), 'OK 90');
    t.equal(
      await ask(decisions, 'k=v,lease_action=settle,id=1', 10),
      'OK 90',
      'the second time, it does nothing',
    );
    t.equal(await ask(decisions, 'k=v,id=lost,lease_action=settle', 20), 'OK 70', 'nobody asked before');
    t.equal(await ask(decisions, 'k=v,id=2,lease_action=reserve', 30), 'OK 40');
    t.equal(await ask(decisions, 'k=v,id=2,lease_action=release', 30), 'OK 70');
    t.equal(await ask(decisions, 'k=v,id=3,lease_action=other', 70), 'OK 0', 'an unknown value says nothing');
    t.equal(await ask(decisions, 'k=v,lease_action=settle', 1), 'OVER_LIMIT 0', 'whose lease is not known');
  });

  t.test('a holder is named by an entry after that of the rule', async t => {
    const decisions = await deciding(open, SLOTS);
    await ask(decisions, 'k=v,id=1');
    await ask(decisions, 'k=v,id=2');
    t.equal(await ask(decisions, 'k=v,id=3'), 'OVER_LIMIT 0');
    await giveBack(decisions, 'k=v,id=3');
    t.equal(await ask(decisions, 'k=v,id=3'), 'OVER_LIMIT 0', 'a refused request has nothing to give back');
    await giveBack(decisions, 'k=v');
    t.equal(await ask(decisions, 'k=v'), 'OVER_LIMIT 0', 'nor has one without a holder');
    await giveBack(decisions, 'k=v,id=1');
    t.equal(await ask(decisions, 'k=v,id=3'), 'OK 0');
    const { statuses } = await decisions.ask(request('d', 'id=3,k=v'));
    t.equal(statuses[0].currentLimit, null);
  });

  t.test('a refused request is told when the first lease ends', async t => {
    const decisions = await deciding(open, SLOTS);
    await ask(decisions, 'k=v,id=1');
    decisions.clock.advance(100_000);
    await ask(decisions, 'k=v,id=2');
    const { statuses } = await decisions.ask(request('d', 'k=v,id=3'));
    const waitS = statuses[0].durationUntilReset ?? 0;
    t.equal(statuses[0].code, OVER_LIMIT);
    t.ok(waitS > 499 && waitS <= 600, `${waitS} s`);
  });
}

function examineRequests(t: Test, open: OpenStore): void {
  const others: readonly EntryText[] = [
    { key: 'plain', rate_limit: limit(9) },
    { key: 'bucket', rate_limit: limit(9, { algorithm: 'token_bucket' }) },
    { key: 'budget', holder: 'id', rate_limit: limit(9, { reserve: RESERVE }) },
  ];

  t.test('all limits of a request with leases count, or none', async t => {
    const decisions = await deciding(open, SLOTS, ...others);
    const texts = (id: number) => ['plain=1', 'bucket=1', `budget=1,id=${id}`, `k=v,id=${id}`];
    const asked = async (id: number) => shown((await decisions.ask(request('d', ...texts(id)))).statuses);
    t.strictSame(await asked(1), ['OK 8', 'OK 8', 'OK 8', 'OK 1']);
    t.strictSame(await asked(2), ['OK 7', 'OK 7', 'OK 7', 'OK 0']);
    t.strictSame(await asked(3), ['OK 7', 'OK 7', 'OK 7', 'OVER_LIMIT 0']);
    t.equal(await ask(decisions, 'plain=1', 7), 'OK 0');
    await giveBack(decisions, 'k=v,id=1');
    t.strictSame(await asked(4), ['OVER_LIMIT 0', 'OK 7', 'OK 7', 'OK 1']);
    t.equal(await ask(decisions, 'k=v,id=5'), 'OK 0', 'nobody has the slot');
  });

  t.test(
    'requests without leases count every limit, also when they are decided at the same time',
    async t => {
      const decisions = await deciding(open, SLOTS, ...others);
      const together = [
        request('d', 'k=v,id=1'),
        request('d', descriptor('plain=1', { hitsAddend: 10 }), 'bucket=1'),
        request('d', 'plain=1', 'bucket=1', 'k=v,id=2'),
      ];
      const answers = await Promise.all(together.map(each => decisions.ask(each)));
      t.strictSame(
        answers.map(({ statuses }) => shown(statuses)),
        [['OK 1'], ['OVER_LIMIT 0', 'OK 8'], ['OVER_LIMIT 0', 'OK 8', 'OK 1']],
      );
    },
  );

  t.test('the end of a lease is never held back', async t => {
    const decisions = await deciding(open, SLOTS, ...others);
    await ask(decisions, 'k=v,id=1');
    await ask(decisions, 'plain=1', 9);
    const end = { hitsAddend: 1, isNegativeHits: true };
    await decisions.ask(request('d', 'plain=1', descriptor('k=v,id=1', end)));
    await ask(decisions, 'k=v,id=2');
    t.equal(await ask(decisions, 'k=v,id=3'), 'OK 0');
  });

  t.test('the local cache does not remember that a limit with leases was full', async t => {
    const decisions = await deciding(open, SLOTS);
    for (const id of [1, 2, 3]) await ask(decisions, `k=v,id=${id}`);
    await giveBack(decisions, 'k=v,id=1');
    t.equal(await ask(decisions, 'k=v,id=3'), 'OK 0');
  });
}

function examineOneEntry(t: Test, open: OpenStore): void {
  t.test('several budgets and a limit on concurrency have one lease for each holder', async t => {
    const decisions = await deciding(open, {
      key: 'k',
      holder: 'id',
      rate_limits: [
        limit(100, { name: 'hour', reserve: RESERVE }),
        { unit: 'day', requests_per_unit: 150, name: 'day', reserve: RESERVE },
        limit(1_000, { name: 'counted' }),
        { concurrency: { limit: 2, for: '10m' }, name: 'slots' },
      ],
    });
    const asked = async (id: string, hits: number) => {
      const { statuses } = await decisions.ask(
        request('d', descriptor(`k=v,id=${id}`, { hitsAddend: hits })),
      );
      return `${statuses[0].currentLimit?.name} ${shown(statuses)[0]}`;
    };
    t.equal(await asked('1', 40), 'slots OK 1', 'one slot for 40 hits');
    t.equal(await asked('2', 70), 'hour OVER_LIMIT 60');
    t.equal(await asked('2', 30), 'slots OK 0');
    t.equal(await asked('3', 1), 'slots OVER_LIMIT 0');
    t.equal(await asked('1', 80), 'hour OK 0', 'hits that settle take no slot');
    t.equal(await asked('2', 20), 'hour OK 0');
    t.equal(await asked('3', 50), 'hour OVER_LIMIT 0');
    decisions.clock.advance(3_600_000);
    t.equal(await asked('3', 50), 'day OK 0', 'the hour has passed');
    t.match(decisions.rule('d.k.counted'), { within_limit: 241 }, 'a plain limit does not count settlements');
  });

  t.test('a limit has hits that are worth more than one, and fractions of a unit', async t => {
    const dollars = { ...limit(2, { scale: 1_000_000, reserve: RESERVE }) };
    const decisions = await deciding(open, { key: 'k', holder: 'id', rate_limit: dollars });
    t.equal(await ask(decisions, 'k=v,id=1', 900_000), 'OK 1', '1.10 dollars are left');
    t.equal(await ask(decisions, 'k=v,id=2', 1_100_001), 'OVER_LIMIT 1');
    t.equal(await ask(decisions, 'k=v,id=2', 1_100_000), 'OK 0');
    t.equal(await ask(decisions, 'k=v,id=1', 12_345), 'OK 0');
    t.equal(await ask(decisions, 'k=v,id=3', 887_655), 'OK 0');
    t.equal(await ask(decisions, 'k=v,id=4', 1), 'OVER_LIMIT 0');
  });

  t.test('without holders, calls without hits hold an estimate', async t => {
    const reserve = { for: '10m', estimate: 40 };
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(100, { reserve }) });
    t.equal(await ask(decisions, 'k=v', 0), 'OK 60');
    t.equal(await ask(decisions, 'k=v', 0), 'OK 20');
    t.equal(await ask(decisions, 'k=v', 0), 'OVER_LIMIT 20');
    t.equal(await ask(decisions, 'k=v', 5), 'OK 55');
    t.equal(await ask(decisions, 'k=v', 70), 'OK 25');
    t.equal(await ask(decisions, 'k=v', 3), 'OK 22', 'without a lease, hits are spent');
  });
}

function examineModes(t: Test, open: OpenStore): void {
  t.test('in shadow mode, limits with leases are counted and not enforced', async t => {
    const decisions = await deciding(open, { ...SLOTS, shadow_mode: true });
    t.strictSame(
      [await ask(decisions, 'k=v,id=1'), await ask(decisions, 'k=v,id=2'), await ask(decisions, 'k=v,id=3')],
      ['OK 1', 'OK 0', 'OK 0'],
    );
    t.match(decisions.rule('d.k'), { within_limit: 2, over_limit: 1, shadow_mode: 1 });
    await giveBack(decisions, 'k=v,id=3');
    t.equal(await ask(decisions, 'k=v,id=1', 0), 'OK 0');
  });

  t.test('values of a pattern share slots', async t => {
    const decisions = await deciding(open, { ...SLOTS, value: 'v*', share_threshold: true });
    t.equal(await ask(decisions, 'k=v1,id=1'), 'OK 1');
    t.equal(await ask(decisions, 'k=v2,id=2'), 'OK 0');
    t.equal(await ask(decisions, 'k=v3,id=3'), 'OVER_LIMIT 0');
    await giveBack(decisions, 'k=v1,id=1');
    t.equal(await ask(decisions, 'k=v3,id=3'), 'OK 0');
  });
}

function examineSteering(t: Test, open: OpenStore): void {
  t.test('an override of the operator changes how many slots there are', async t => {
    const steering = sharedRecords(record('override', 'k=v', { requests_per_unit: 3 })).buffer;
    const decisions = new Decisions({ store: await open(), rules: ruleFile(SLOTS), steering });
    for (const id of [1, 2, 3]) t.equal(await ask(decisions, `k=v,id=${id}`), `OK ${3 - id}`);
    t.equal(await ask(decisions, 'k=v,id=4'), 'OVER_LIMIT 0');
  });

  t.test('a ban takes no lease, and ends those that the caller has', async t => {
    const store = await open();
    const decisions = new Decisions({ store, rules: ruleFile(BUDGET) });
    const steering = sharedRecords(record('ban', 'k=v')).buffer;
    const banned = new Decisions({ store, rules: ruleFile(BUDGET), steering });
    await ask(decisions, 'k=v,id=1', 60);
    t.equal(await ask(banned, 'k=v,id=2', 40), 'OVER_LIMIT 0');
    t.equal(await lease(banned, '3', 'reserve', 40), 'OVER_LIMIT 0');
    t.equal(await ask(decisions, 'k=v,id=x', 0), 'OK 40', 'nothing was taken');
    t.equal(await ask(banned, 'k=v,id=1', 25), 'OVER_LIMIT 0');
    t.equal(await ask(decisions, 'k=v,id=x', 0), 'OK 75', 'what was used is spent');
    t.equal(await lease(banned, '4', 'settle', 5), 'OVER_LIMIT 0');
    t.equal(await ask(decisions, 'k=v,id=x', 0), 'OK 70');
  });

  t.test('a pass takes no slot, and frees the one that the caller has', async t => {
    const store = await open();
    const decisions = new Decisions({ store, rules: ruleFile(SLOTS) });
    const steering = sharedRecords(record('pass', 'k=v')).buffer;
    const passed = new Decisions({ store, rules: ruleFile(SLOTS), steering });
    await ask(decisions, 'k=v,id=1');
    t.equal(await ask(passed, 'k=v,id=2'), 'OK 4294967295');
    await giveBack(passed, 'k=v,id=2');
    await giveBack(passed, 'k=v,id=1');
    t.equal(await ask(decisions, 'k=v,id=3'), 'OK 1');
  });
}

function examineStatistics(t: Test, open: OpenStore): void {
  t.test('statistics say what is held, settled, expired and overdrawn', async t => {
    const decisions = await deciding(open, BUDGET);
    await ask(decisions, 'k=v,id=1', 40);
    await ask(decisions, 'k=v,id=2', 30);
    await ask(decisions, 'k=v,id=3', 50);
    await ask(decisions, 'k=v,id=1', 55);
    await ask(decisions, 'k=v,id=2', 10);
    const totals = (row: string) => decisions.rule(`d.k.${row}`).total_hits ?? 0;
    t.match(decisions.rule('d.k'), { total_hits: 185, within_limit: 70, over_limit: 50 });
    t.strictSame(['held', 'settled', 'expired', 'overdrawn'].map(totals), [70, 65, 0, 15]);
  });
}
