import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { DecidedApiLimits } from '../../../src/app/api-limits.ts';
import { type ApiCall, OPERATOR } from '../../../src/tasks/rest/http/parts.ts';
import { Decisions } from '../../support/decisions.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { sharedStoreKind } from '../../support/stores.ts';

const SHIPPED = readFileSync(join(repositoryRoot(), 'ops/quickstart/config/sluice_api.yaml'), 'utf8');

async function front(t: Test, rules: string | null) {
  const decisions = new Decisions({ store: await sharedStoreKind.open(t), rules });
  return {
    decisions,
    limits: new DecidedApiLimits(decisions.batcher, () => decisions.rules, decisions.clock),
  };
}

const WRITE: ApiCall = { tenant: 'acme', kind: 'write', user: 'usr_1' };
const READ: ApiCall = { tenant: 'acme', kind: 'read', user: 'usr_1' };

/** How many of so many calls at once are let through. */
async function letThrough(limits: DecidedApiLimits, call: ApiCall, count: number): Promise<number> {
  const verdicts = await Promise.all(Array.from({ length: count }, () => limits.ask(call)));
  return verdicts.filter(({ allowed }) => allowed).length;
}

t.test('the shipped rules: a second has five seconds worth, a minute a minute worth', async t => {
  const { decisions, limits } = await front(t, SHIPPED);
  t.equal(await letThrough(limits, WRITE, 1_100), 1_000);
  t.equal(await letThrough(limits, READ, 2_100), 2_000, 'reads have limits of their own');
  t.equal(await letThrough(limits, { ...WRITE, tenant: 'other' }, 5), 5, 'and so has each tenant');
  let total = 1_100;
  for (let second = 1; second < 13; second++) {
    decisions.clock.advance(1_000);
    total += await letThrough(limits, WRITE, 1_000);
  }
  t.equal(total, 12_000, 'what was counted in vain counts for the minute');
});

t.test('a verdict tells of the limit that is nearest to its end', async t => {
  const { limits } = await front(t, SHIPPED);
  const first = await limits.ask(WRITE);
  t.same(first, {
    allowed: true,
    nearest: { limit: 1_000, remaining: 999, windowSeconds: 1, resetSeconds: 1 },
  });
  await letThrough(limits, WRITE, 999);
  t.match(await limits.ask(WRITE), {
    allowed: false,
    nearest: { limit: 1_000, remaining: 0, windowSeconds: 1, resetSeconds: 1 },
  });
});

t.test('a question counts nothing, and tells how much is left', async t => {
  const { limits } = await front(t, SHIPPED);
  await letThrough(limits, WRITE, 250);
  for (let i = 0; i < 3; i++) {
    t.match(await limits.ask({ ...WRITE, onlyAsks: true }), {
      allowed: true,
      nearest: { limit: 1_000, remaining: 750, windowSeconds: 1 },
    });
  }
});

t.test('of limits that are exceeded the one that lasts longest counts', async t => {
  const rules = `
domain: sluice_api
descriptors:
  - key: tenant
    descriptors:
      - key: method
        value: write
        rate_limit: { unit: hour, requests_per_unit: 1 }
        descriptors:
          - key: span
            value: burst
            rate_limit: { unit: second, requests_per_unit: 1 }
`;
  const { limits } = await front(t, rules);
  await limits.ask(WRITE);
  const { allowed, nearest } = await limits.ask(WRITE);
  t.notOk(allowed);
  t.match(nearest, { windowSeconds: 3_600, remaining: 0 });
});

t.test('a window that an answer cannot tell is left out, and part of a second is a whole one', async t => {
  const rules = `
domain: sluice_api
descriptors:
  - key: tenant
    descriptors:
      - key: method
        value: write
        rate_limit: { unit: minute, requests_per_unit: 240, algorithm: token_bucket, burst: 1 }
`;
  const { limits } = await front(t, rules);
  const nearest = { limit: 240, remaining: 0, windowSeconds: null, resetSeconds: 1 };
  t.ok(limits.active);
  t.same(await limits.ask(WRITE), { allowed: true, nearest });
  t.same(await limits.ask(WRITE), { allowed: false, nearest });
});

t.test('calls without a token use up nothing of the tenant', async t => {
  const { limits } = await front(t, SHIPPED);
  t.equal(await letThrough(limits, { ...WRITE, user: '' }, 300), 100);
  t.equal(await letThrough(limits, WRITE, 1_000), 1_000);
});

t.test('accounts are made under a limit of their own, which does not limit the operator', async t => {
  const { limits } = await front(t, SHIPPED);
  t.equal(await letThrough(limits, { tenant: 'accounts', kind: 'write', user: '' }, 70), 60);
  t.equal(await letThrough(limits, { tenant: 'accounts', kind: 'read', user: '' }, 70), 30, '100 in all');
  t.equal(await letThrough(limits, { tenant: 'accounts', kind: 'write', user: OPERATOR }, 200), 200);
});

t.test('one user can be limited', async t => {
  const rules = `
domain: sluice_api
descriptors:
  - key: tenant
    value: acme
    descriptors:
      - key: user
        value: usr_1
        rate_limit: { unit: minute, requests_per_unit: 3 }
`;
  const { limits } = await front(t, rules);
  t.equal(await letThrough(limits, WRITE, 5), 3);
  t.equal(await letThrough(limits, { ...WRITE, user: 'usr_2' }, 5), 5);
});

t.test('without rules for the domain everything is let through, and nothing is said of limits', async t => {
  const { limits, decisions } = await front(t, 'domain: other\n');
  t.notOk(limits.active, 'so nobody need ask');
  t.same(await limits.ask(WRITE), { allowed: true, nearest: null });
  decisions.load(SHIPPED);
  t.ok(limits.active, 'the next rules limit calls');
});

t.test('when there is no decision, the question is not answered', async t => {
  const { limits } = await front(t, null);
  t.ok(limits.active);
  await t.rejects(limits.ask(WRITE), { code: 'no_rules' });
});

t.test('without a decision within ten seconds, the question fails and nothing is counted', async t => {
  const held: (() => void)[] = [];
  const decisions = new Decisions({
    store: await sharedStoreKind.open(t),
    rules: SHIPPED,
    window: { open: run => held.push(run), shut: () => {} },
  });
  const limits = new DecidedApiLimits(decisions.batcher, () => decisions.rules, decisions.clock);
  const first = limits.ask(WRITE);
  decisions.clock.advance(9_000);
  const second = limits.ask(WRITE);
  decisions.clock.advance(1_000);
  await t.rejects(first, { code: 'store_failed', message: /did not answer within 10 s/ });
  for (const run of held) run();
  t.match(await second, { nearest: { remaining: 999 } }, 'the first was not counted');
});
