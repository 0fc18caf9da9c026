import type { Test } from 'tap';
import type { EngineOptions } from '../../../src/decision/engine.ts';
import type { RateLimitResponse } from '../../../src/messages/client-codec.ts';
import { ANSWER } from '../../../src/rules/domain-answers.ts';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { type OpenStore, shown } from './examinee.ts';
import { limit, ruleFile } from './rule-file.ts';

/** The clock stands 40 s before the minute ends. */
const RULES = ruleFile(
  { key: 'slots', holder: 'id', rate_limit: { concurrency: { limit: 2, for: '5m' }, name: 'running' } },
  { key: 'tokens', holder: 'id', rate_limit: limit(100, { unit: 'minute', reserve: { for: '10m' } }) },
  {
    key: 'money',
    holder: 'id',
    rate_limit: limit(5, { unit: 'minute', scale: 1_000, reserve: { for: '10m' } }),
  },
  {
    key: 'both',
    holder: 'id',
    rate_limits: [
      limit(100, { unit: 'minute', reserve: { for: '5m' } }),
      { concurrency: { limit: 1, for: '5m' } },
    ],
  },
);

/** What answers say about limits with leases. */
export function examineLeaseAnswers(t: Test, open: OpenStore): void {
  const asking = async (answers: number, options: Partial<EngineOptions> = {}): Promise<Decisions> =>
    new Decisions({ store: await open(), rules: RULES, options: { answers, ...options } });
  examineHeaders(t, asking);
  examineRetryAfter(t, asking);
  examineMetadata(t, asking);
}

type Asking = (answers: number, options?: Partial<EngineOptions>) => Promise<Decisions>;

async function ask(decisions: Decisions, text: string, hitsAddend = 1): Promise<RateLimitResponse> {
  return decisions.ask(request('d', descriptor(text, { hitsAddend })));
}

function header({ responseHeadersToAdd }: RateLimitResponse, name: string): string | undefined {
  return responseHeadersToAdd.find(({ key }) => key === name)?.value;
}

/** `RateLimit-Policy` and `RateLimit`. */
function policies(response: RateLimitResponse): (string | undefined)[] {
  return [header(response, 'RateLimit-Policy'), header(response, 'RateLimit')];
}

function examineHeaders(t: Test, asking: Asking): void {
  t.test('the policy of a limit on concurrency has its unit, and no window', async t => {
    const decisions = await asking(ANSWER.ratelimitHeaders);
    t.strictSame(policies(await ask(decisions, 'slots=x,id=1')), [
      '"running";q=2;qu="concurrent-requests"',
      '"running";r=1;t=300',
    ]);
    decisions.clock.advance(10_000);
    t.strictSame(
      policies(await ask(decisions, 'slots=x,id=2')),
      ['"running";q=2;qu="concurrent-requests"', '"running";r=0;t=290'],
      'the first lease ends first',
    );
    await decisions.ask(refund('d', 1, 'slots=x,id=1'));
    await decisions.ask(refund('d', 1, 'slots=x,id=2'));
    t.equal(policies(await ask(decisions, 'slots=x,id=3', 0))[1], '"running";r=2;t=0', 'nothing is held');
  });

  t.test('what is held does not remain', async t => {
    const decisions = await asking(ANSWER.ratelimitHeaders);
    t.strictSame(policies(await ask(decisions, 'tokens=x,id=1', 60)), [
      '"d.tokens";q=100;w=60',
      '"d.tokens";r=40;t=40',
    ]);
    t.equal(policies(await ask(decisions, 'tokens=x,id=1', 25))[1], '"d.tokens";r=75;t=40', 'settled');
  });

  t.test('limits with a scale are told in the unit of the rule', async t => {
    const decisions = await asking(ANSWER.ratelimitHeaders);
    const response = await ask(decisions, 'money=x,id=1', 1_500);
    t.strictSame(policies(response), ['"d.money";q=5;w=60', '"d.money";r=3;t=40']);
    t.strictSame(shown(response.statuses), ['OK 3']);
    t.match(response.statuses[0].currentLimit, { requestsPerUnit: 5, unit: 2 });
  });

  t.test(
    'the status of a limit on concurrency has no unit, and there are no headers for the unit',
    async t => {
      const decisions = await asking(0, { unitHeaders: true });
      const response = await ask(decisions, 'slots=x,id=1');
      t.match(response.statuses[0], {
        currentLimit: { requestsPerUnit: 2, unit: 0, name: 'running' },
        limitRemaining: 1,
      });
      t.strictSame(response.responseHeadersToAdd, []);
      const both = await ask(decisions, 'both=x,id=1', 10);
      t.strictSame(
        both.responseHeadersToAdd.map(({ key, value }) => `${key}: ${value}`),
        ['RateLimit-Limit-Minutes: 100', 'RateLimit-Remaining-Minutes: 90'],
      );
    },
  );
}

function examineRetryAfter(t: Test, asking: Asking): void {
  t.test(
    '`Retry-After` of a full limit on concurrency is the end of the first lease, rounded up',
    async t => {
      const decisions = await asking(ANSWER.retryAfter | ANSWER.problemBody);
      await ask(decisions, 'slots=x,id=1');
      decisions.clock.advance(20_500);
      await ask(decisions, 'slots=x,id=2');
      const refused = await ask(decisions, 'slots=x,id=3');
      t.strictSame(shown(refused.statuses), ['OVER_LIMIT 0']);
      t.equal(header(refused, 'Retry-After'), '280');
      t.match(JSON.parse(refused.rawBody), { 'violated-policies': ['running'], 'retry-after': 280 });
      await decisions.ask(refund('d', 1, 'slots=x,id=1'));
      await ask(decisions, 'slots=x,id=4');
      t.equal(header(await ask(decisions, 'slots=x,id=5'), 'Retry-After'), '300', 'of those that still run');
      decisions.clock.advance(299_900);
      t.equal(header(await ask(decisions, 'slots=x,id=5'), 'Retry-After'), '1', 'at least');
    },
  );

  t.test('a limit that is held waits for the first lease, and one that is spent for its window', async t => {
    const decisions = await asking(ANSWER.retryAfter);
    await ask(decisions, 'both=x,id=1', 10);
    t.equal(header(await ask(decisions, 'both=x,id=2', 10), 'Retry-After'), '300', 'the slot');
    await ask(decisions, 'tokens=x,id=1', 90);
    t.equal(header(await ask(decisions, 'tokens=x,id=2', 20), 'Retry-After'), '40');
    await ask(decisions, 'tokens=x,id=1', 90);
    t.equal(header(await ask(decisions, 'tokens=x,id=2', 20), 'Retry-After'), '40');
  });
}

function examineMetadata(t: Test, asking: Asking): void {
  t.test('the metadata name the budget that decides', async t => {
    const decisions = await asking(ANSWER.matchedRule);
    const matched = async (text: string, hits: number) =>
      (await ask(decisions, text, hits)).dynamicMetadata?.['matched_rule'];
    t.strictSame(await matched('both=x,id=1', 10), {
      code: 'OK',
      rule: 'd.both.concurrency',
      window: 'concurrency',
    });
    t.strictSame(await matched('tokens=x,id=1', 101), { code: 'OVER_LIMIT', rule: 'd.tokens', window: '1m' });
  });

  t.test('the dynamic metadata describe limits on concurrency', async t => {
    const decisions = await asking(0, { dynamicMetadata: true });
    const { dynamicMetadata } = await ask(decisions, 'both=x,id=1', 10);
    t.match(dynamicMetadata, {
      descriptors: [
        {
          limits: [
            { requestsPerUnit: 100, window: '1m', algorithm: 'fixed_window', remaining: 90 },
            { requestsPerUnit: 1, window: 'concurrency', remaining: 0, resetSeconds: 300 },
          ],
        },
      ],
    });
  });
}
