import type { Test } from 'tap';
import t from 'tap';
import { DecidedStartLimits } from '../../../src/app/start-limits.ts';
import { StartRefunds } from '../../../src/app/start-refunds.ts';
import type { Decider, DecisionReply } from '../../../src/decision/decider.ts';
import type { LimitQuestion } from '../../../src/tasks/scheduler/attempts/start-limits.ts';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { sharedStoreKind } from '../../support/stores.ts';

const RULES = {
  'edge.yaml': `
domain: edge
descriptors:
  - key: upstream
    value: billing
    rate_limit: { unit: minute, requests_per_unit: 10 }
`,
  'tenants.yaml': `
domain: tenants
descriptors:
  - key: tenant
    descriptors:
      - key: upstream
        rate_limit: { unit: minute, requests_per_unit: 10 }
`,
};
const DOMAINS = { ofTenants: ['tenants'], shared: ['edge'] };

async function open(
  t: Test,
  setup: Partial<ConstructorParameters<typeof Decisions>[0]> = {},
  deciderOf = (batcher: Decider): Decider => batcher,
) {
  const decisions = new Decisions({ store: await sharedStoreKind.open(t), rules: RULES, ...setup });
  const refunds = new StartRefunds(() => decisions.rules);
  const limits = new DecidedStartLimits(deciderOf(decisions.batcher), DOMAINS, refunds, decisions.clock);
  // A window of a minute begins.
  decisions.clock.advance(60_000 - (decisions.clock.nowMs() % 60_000));
  return { decisions, limits };
}

function question(tasks: number, domain = 'edge', tenant = 'acme'): LimitQuestion {
  return { tenant, tasks, limit: { domain, descriptor: [{ key: 'upstream', value: 'billing' }] } };
}

/** A call that a proxy asks about. */
async function proxied(decisions: Decisions): Promise<boolean> {
  return (await decisions.ask(request('edge', 'upstream=billing'))).overallCode === 1;
}

for (const holdBack of [false, true]) {
  t.test(
    `tasks and calls of proxies share a limit${holdBack ? ', when hits are held back' : ''}`,
    async t => {
      const { decisions, limits } = await open(t, { options: { holdBack } });
      for (let call = 0; call < 3; call++) t.ok(await proxied(decisions));
      const refundableUntilMs = decisions.clock.nowMs() + 59_000;
      const window = { leftMs: 60_000, refundableUntilMs };
      t.same(await limits.ask(question(5)), { granted: 5, isUsedUp: false, remaining: 2, window });
      t.same(
        await limits.ask(question(5)),
        { granted: 2, isUsedUp: true, remaining: 0, window },
        'a part is granted',
      );
      t.notOk(await proxied(decisions));
      decisions.clock.advance(59_400);
      t.match(await limits.ask(question(1)), {
        granted: 0,
        isUsedUp: true,
        window: { leftMs: 600, refundableUntilMs },
      });
      decisions.clock.advance(600);
      t.match(await limits.ask(question(20)), { granted: 10, isUsedUp: true });
    },
  );
}

t.test('a rule in shadow mode grants everything', async t => {
  const { limits } = await open(t, {
    rules: { 'edge.yaml': `${RULES['edge.yaml']}    shadow_mode: true\n` },
  });
  t.match(await limits.ask(question(4)), { granted: 4, isUsedUp: false, remaining: 6 });
  t.match(await limits.ask(question(20)), { granted: 20, isUsedUp: false, remaining: null });
});

t.test('a question about no task counts nothing', async t => {
  const { decisions, limits } = await open(t);
  for (let ask = 0; ask < 20; ask++) {
    t.match(await limits.ask(question(0)), { granted: 0, isUsedUp: false });
  }
  t.match(await limits.ask(question(10)), { granted: 10, isUsedUp: false });
  t.match(await limits.ask(question(0)), { granted: 0, isUsedUp: true });
  decisions.clock.advance(60_000);
  t.match(await limits.ask(question(0)), { isUsedUp: false });
});

t.test('hits of a month of the calendar can be given back until it ends', async t => {
  const { decisions, limits } = await open(t, { nowMs: Date.parse('2024-01-31T23:00:00Z') - 60_000 });
  const monthly = RULES['edge.yaml'].replace('minute', 'month');
  decisions.load({ 'edge.yaml': monthly }, { mergeDomains: false, calendarMonths: true });
  const refundableUntilMs = Date.parse('2024-01-31T23:59:59Z');
  t.match(await limits.ask(question(1)), { window: { leftMs: 3_600_000, refundableUntilMs } });
});

t.test('unused hits are given back while their window lasts for sure', async t => {
  const { decisions, limits } = await open(t, { localCacheBytes: 65_536 });
  const refundableUntilMs = decisions.clock.nowMs() + 59_000;
  t.match(await limits.ask(question(10)), { granted: 10 });
  limits.giveBack({ ...question(4), refundableUntilMs });
  t.match(await limits.ask(question(10)), { granted: 4, isUsedUp: true });
  decisions.clock.advance(59_001);
  limits.giveBack({ ...question(4), refundableUntilMs });
  t.match(await limits.ask(question(1)), { granted: 0 });
  decisions.clock.advance(999);
  t.match(await limits.ask(question(10)), { granted: 10 });
  limits.giveBack({ ...question(4), refundableUntilMs });
  t.match(await limits.ask(question(1)), { granted: 0 }, 'nothing comes off the next window');
});

t.test('domains that are not shared have a limit for each tenant', async t => {
  const { decisions, limits } = await open(t);
  t.match(await limits.ask(question(20, 'tenants', 'acme')), { granted: 10, isUsedUp: true });
  t.match(await limits.ask(question(20, 'tenants', 'other')), { granted: 10, isUsedUp: true });
  const own = {
    domain: 'tenants',
    descriptor: [{ key: 'tenant', value: 'third' }, ...question(1).limit.descriptor],
  };
  t.match(
    await limits.ask({ tenant: 'acme', tasks: 1, limit: own }),
    { granted: 1, window: null },
    'a tenant cannot name another one',
  );
  const third = {
    domain: 'tenants',
    descriptors: [descriptor('tenant=third,upstream=billing')],
    hitsAddend: 10,
  };
  t.equal((await decisions.ask(third)).overallCode, 1);
});

t.test('a domain that is not listed is not decided about', async t => {
  const { limits } = await open(t);
  await t.rejects(limits.ask(question(1, 'sluice_api')), { message: /TASKS_LIMIT_DOMAINS does not list/ });
  limits.giveBack({ ...question(1, 'sluice_api'), refundableUntilMs: Number.POSITIVE_INFINITY });
});

t.test('without a rule for the descriptor nothing is limited', async t => {
  const { limits } = await open(t, { rules: 'domain: edge\n' });
  t.same(await limits.ask(question(64)), { granted: 64, isUsedUp: false, remaining: null, window: null });
});

t.test('when there is no decision, the question is not answered', async t => {
  const { limits } = await open(t, { rules: null });
  await t.rejects(limits.ask(question(3)), { code: 'no_rules' });
});

t.test('a token bucket: tasks that are not granted can start when the next token is there', async t => {
  const bucket = '{ window: 1m, requests_per_unit: 100, algorithm: token_bucket, burst: 5 }';
  const { decisions, limits } = await open(t, {
    rules: RULES['edge.yaml'].replace('{ unit: minute, requests_per_unit: 10 }', bucket),
  });
  decisions.clock.advance(750);
  const now = decisions.clock.nowMs();
  t.same(await limits.ask(question(7)), {
    granted: 5,
    isUsedUp: true,
    remaining: 0,
    window: { leftMs: 600, refundableUntilMs: now + 1_000 },
  });
  decisions.clock.advance(599);
  t.match(await limits.ask(question(7)), { granted: 0, window: { leftMs: 1 } });
  decisions.clock.advance(1);
  t.match(await limits.ask(question(7)), { granted: 1 });
});

/** Opens the limit `edge` with other terms, and returns functions that ask for tasks and give back some of the last answer. */
async function openWith(t: Test, terms: string) {
  const { decisions, limits } = await open(t, {
    rules: RULES['edge.yaml'].replace('rate_limit: { unit: minute, requests_per_unit: 10 }', terms),
  });
  let refundableUntilMs = 0;
  return {
    clock: decisions.clock,
    granted: async (tasks: number) => {
      const { granted, window } = await limits.ask(question(tasks));
      refundableUntilMs = window!.refundableUntilMs;
      return granted;
    },
    giveBack: (tasks: number) => limits.giveBack({ ...question(tasks), refundableUntilMs }),
  };
}

t.test('unused hits are given back to a token bucket whose next token comes within a second', async t => {
  const { clock, granted, giveBack } = await openWith(
    t,
    'rate_limit: { unit: second, requests_per_unit: 10, algorithm: token_bucket, burst: 5 }',
  );
  t.equal(await granted(9), 5);
  clock.advance(50);
  giveBack(4);
  t.equal(await granted(9), 4);
  clock.advance(1_001);
  giveBack(3);
  t.equal(await granted(9), 5, 'the bucket has become full');
});

t.test('unused hits are not given back to a token bucket that others have used in the meantime', async t => {
  for (const [terms, spanMs] of [
    ['rate_limit: { unit: second, requests_per_unit: 10, algorithm: token_bucket, burst: 5 }', 1_000],
    ['rate_limit: { unit: minute, requests_per_unit: 10, algorithm: token_bucket, burst: 5 }', 6_000],
  ] as const) {
    for (const [ms, left] of [
      [spanMs, 1],
      [spanMs + 1, 0],
    ]) {
      const { decisions, limits } = await open(t, {
        rules: RULES['edge.yaml'].replace('rate_limit: { unit: minute, requests_per_unit: 10 }', terms),
      });
      const { granted, window } = await limits.ask(question(1));
      t.equal(granted, 1);
      decisions.clock.advance(ms);
      t.match(await limits.ask(question(9)), { granted: 5 });
      limits.giveBack({ ...question(1), refundableUntilMs: window!.refundableUntilMs });
      t.match(await limits.ask(question(9)), { granted: left });
    }
  }
});

t.test('unused hits are given back to a sliding window until its current window ends', async t => {
  const { clock, granted, giveBack } = await openWith(
    t,
    'rate_limit: { window: 10s, requests_per_unit: 10, algorithm: sliding_window }',
  );
  t.equal(await granted(10), 10);
  // The next hit fits a second after this one. The window lasts nine seconds more.
  clock.advance(11_000);
  t.equal(await granted(1), 1);
  clock.advance(500);
  giveBack(1);
  t.equal(await granted(1), 1);
  clock.advance(7_501);
  giveBack(1);
  t.equal(await granted(10), 8, 'less than a second before its end, hits are kept');
});

t.test('unused hits of several limits are given back until the first of their windows ends', async t => {
  const { clock, granted, giveBack } = await openWith(
    t,
    'rate_limits: [{ unit: day, requests_per_unit: 5 }, { unit: minute, requests_per_unit: 100 }]',
  );
  t.equal(await granted(4), 4);
  giveBack(2);
  t.equal(await granted(2), 2);
  clock.advance(59_001);
  giveBack(2);
  t.equal(await granted(5), 1);
});

t.test(
  'without a decision within ten seconds, the question fails, and what is granted later is given back',
  async t => {
    const late: (() => void)[] = [];
    let isLate = true;
    const { decisions, limits } = await open(t, {}, batcher => ({
      decide(request, format, reply) {
        const answered: DecisionReply['answered'] = (response, overLimit) => {
          const copy = Uint8Array.from(response);
          if (isLate) late.push(() => reply.answered(copy, overLimit));
          else reply.answered(copy, overLimit);
        };
        batcher.decide(request, format, { gone: false, answered, refused: fault => reply.refused(fault) });
      },
    }));
    const asked = limits.ask(question(5));
    t.ok(await proxied(decisions), 'after the tasks');
    decisions.clock.advance(10_000);
    await t.rejects(asked, { code: 'store_failed', message: /did not answer within 10 s/ });
    isLate = false;
    t.match(await limits.ask(question(0)), { remaining: 4 });
    for (const answer of late) answer();
    t.match(await limits.ask(question(0)), { remaining: 9 });
  },
);
