import type { Test } from 'tap';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { each } from '../../support/each.ts';
import { deciding, grown, OK, type OpenStore, OVER_LIMIT } from './examinee.ts';
import { type EntryText, limit, ruleFile } from './rule-file.ts';
import { WatchedStore } from './watched-store.ts';

/** Rules without a limit, and rules that take the place of others. */
export function examineUnlimitedAndReplaces(t: Test, open: OpenStore): void {
  examineUnlimited(t, open);
  examineReplaces(t, open);
}

function examineUnlimited(t: Test, open: OpenStore): void {
  t.test('unlimited is OK with the largest remaining, counted, and no matter for the store', async t => {
    const store = new WatchedStore(await open());
    const rules = ruleFile({ key: 'free', rate_limit: { unlimited: true, requests_per_unit: 5, name: 'n' } });
    const decisions = new Decisions({ store, rules, localCacheBytes: 1 });
    const growth = await grown(decisions, async () => {
      const response = await decisions.ask({
        ...request('d', descriptor('free=x'), descriptor('free=y', { hitsAddend: 0 })),
        hitsAddend: 7,
      });
      const status = {
        code: OK,
        currentLimit: null,
        limitRemaining: 4_294_967_295,
        durationUntilReset: null,
      };
      t.strictSame(response.statuses, [status, status]);
      t.equal(response.overallCode, OK);
    });
    t.strictSame(growth, { 'rate_limit.d.free.total_hits': 7, 'rate_limit.d.free.within_limit': 7 });
    t.strictSame(store.calls, []);
  });

  t.test('a rule without a number that is not unlimited blocks everything', async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: { unit: 'Week' } });
    const response = await decisions.ask(request('d', 'k=x'));
    t.equal(response.overallCode, OVER_LIMIT);
    t.strictSame(response.statuses[0].currentLimit, { name: '', requestsPerUnit: 0, unit: 7 });
  });

  t.test('shadow mode and quota mode mean nothing to an unlimited rule', async t => {
    const decisions = await deciding(open, {
      key: 'free',
      shadow_mode: true,
      quota_mode: true,
      rate_limit: { unlimited: true },
    });
    await decisions.ask(request('d', 'free=x'));
    t.strictSame(decisions.rule('d.free'), { total_hits: 1, within_limit: 1 });
  });
}

/** A rule of 10 under its own name as key, which replaces others. */
function replacing(name: string, ...others: string[]): EntryText {
  return { key: name, rate_limit: limit(10, { name, replaces: others.map(other => ({ name: other })) }) };
}

function examineReplaces(t: Test, open: OpenStore): void {
  /** Names of the limits that apply to the descriptors, and those that were counted. */
  const asked = async (
    decisions: Decisions,
    ...texts: string[]
  ): Promise<{ applied: (string | null)[]; counted: string[] }> => {
    const applied: (string | null)[] = [];
    const growth = await grown(decisions, async () => {
      const { statuses } = await decisions.ask(request('d', ...texts));
      for (const status of statuses) applied.push(status.currentLimit?.name ?? null);
    });
    const counted = Object.keys(growth).flatMap(
      name => /^rate_limit\.d\.(.*)\.total_hits$/.exec(name)?.[1] ?? [],
    );
    return { applied, counted: counted.sort() };
  };

  t.test('a replaced limit counts as none: no status, no statistics, no hits', async t => {
    const decisions = await deciding(open, replacing('a'), replacing('b', 'a'));
    t.strictSame(await asked(decisions, 'a=1', 'b=1'), { applied: [null, 'b'], counted: ['b'] });
    t.strictSame(
      await asked(decisions, 'b=1', 'a=1'),
      { applied: ['b', null], counted: ['b'] },
      'in either order',
    );
    const { statuses } = await decisions.ask(request('d', 'a=1', 'b=1'));
    t.strictSame(statuses[0], { code: OK, currentLimit: null, limitRemaining: 0, durationUntilReset: null });
    const alone = await decisions.ask(request('d', 'a=1'));
    t.equal(alone.statuses[0].limitRemaining, 9, 'its counter was not touched');
  });

  t.test('a replacing rule works only where it matches, and only in its own request', async t => {
    const decisions = await deciding(open, replacing('a'), replacing('b', 'a'));
    t.strictSame(await asked(decisions, 'a=1', 'b=1,c=2'), { applied: ['a', null], counted: ['a'] });
    const both = await Promise.all([
      decisions.ask(request('d', 'a=1', 'b=1')),
      decisions.ask(request('d', 'a=1')),
      decisions.ask(request('d', 'b=1', 'a=2', 'a=3')),
    ]);
    t.strictSame(
      both.map(({ statuses }) => statuses.map(status => status.currentLimit?.name ?? null)),
      [[null, 'b'], ['a'], ['b', null, null]],
    );
  });

  t.test('two rules that replace each other are both dropped, and so are all of a ring', async t => {
    const decisions = await deciding(
      open,
      replacing('a', 'b'),
      replacing('b', 'a'),
      replacing('r', 's'),
      replacing('s', 't'),
      replacing('t', 'r'),
    );
    t.strictSame(await asked(decisions, 'a=1', 'b=1'), { applied: [null, null], counted: [] });
    t.strictSame(await asked(decisions, 'r=1', 's=1', 't=1'), { applied: [null, null, null], counted: [] });
    t.strictSame(await asked(decisions, 'r=1', 's=1'), { applied: ['r', null], counted: ['r'] });
  });

  t.test('a replaced rule still replaces', async t => {
    const decisions = await deciding(open, replacing('a'), replacing('b', 'a'), replacing('c', 'b'));
    t.strictSame(await asked(decisions, 'a=1', 'b=1', 'c=1'), { applied: [null, null, 'c'], counted: ['c'] });
  });

  t.test('an unlimited rule replaces the named limit, and stays when its own name is replaced', async t => {
    const unlimited = { unlimited: true, name: 'free', replaces: [{ name: 'a' }] };
    const decisions = await deciding(open, replacing('a'), replacing('b', 'free'), {
      key: 'free',
      rate_limit: unlimited,
    });
    t.strictSame(await asked(decisions, 'a=1', 'free=1'), { applied: [null, null], counted: ['free'] });
    const { statuses } = await decisions.ask(request('d', 'free=1', 'b=1'));
    t.strictSame(each(statuses, 'limitRemaining'), [4_294_967_295, 9]);
  });

  t.test('rules without a name are not replaced; equal names are replaced together', async t => {
    const deep = { key: 'x', descriptors: [{ key: 'y', rate_limit: limit(10, { name: 'a' }) }] };
    const decisions = await deciding(
      open,
      replacing('a'),
      deep,
      { key: 'plain', rate_limit: limit(10) },
      replacing('b', 'a', 'gone'),
    );
    t.strictSame(await asked(decisions, 'a=1', 'x=1,y=1', 'plain=1', 'b=1'), {
      applied: [null, null, '', 'b'],
      counted: ['b', 'plain'],
    });
  });

  t.test('a limit of the request’s own neither replaces nor is replaced', async t => {
    const decisions = await deciding(open, replacing('a'), replacing('b', 'a'));
    const own = { limit: { requestsPerUnit: 3, unit: 3 } };
    const { statuses } = await decisions.ask(request('d', descriptor('a=1', own), descriptor('b=1')));
    t.strictSame(
      statuses.map(status => status.currentLimit?.requestsPerUnit),
      [3, 10],
    );
    const swapped = await decisions.ask(request('d', descriptor('a=2'), descriptor('b=2', own)));
    t.strictSame(
      swapped.statuses.map(status => status.currentLimit?.requestsPerUnit),
      [10, 3],
    );
  });

  t.test('the overall code does not see a replaced limit', async t => {
    const blocked = { key: 'a', rate_limit: limit(0, { name: 'a' }) };
    const decisions = await deciding(open, blocked, replacing('b', 'a'));
    t.equal((await decisions.ask(request('d', 'a=1', 'b=1'))).overallCode, OK);
    t.equal((await decisions.ask(request('d', 'a=1'))).overallCode, OVER_LIMIT);
  });
}
