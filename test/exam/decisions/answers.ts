import type { Test } from 'tap';
import type { EngineOptions } from '../../../src/decision/engine.ts';
import type { RateLimitRequest, RateLimitResponse } from '../../../src/messages/client-codec.ts';
import { ANSWER } from '../../../src/rules/domain-answers.ts';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { words } from '../../support/words.ts';
import { OK, type OpenStore, OVER_LIMIT } from './examinee.ts';
import { bucket, limit, ruleFile, sliding } from './rule-file.ts';

/** The clock stands at 22:13:20 UTC on 2023-11-14: 40 s before the minute ends, 2 800 s before the hour does. */
const RULES = ruleFile(
  { key: 'minute0', rate_limit: limit(0, { unit: 'minute' }) },
  { key: 'hour0', rate_limit: limit(0, { name: 'hourly' }) },
  { key: 'hour10', rate_limit: limit(10) },
  { key: 'user', value: 'ann', rate_limit: limit(5) },
  { key: 'user', rate_limit: limit(10) },
  { key: 'quotaMinute0', quota_mode: true, rate_limit: limit(0, { unit: 'minute' }) },
  { key: 'quotaHour0', quota_mode: true, rate_limit: limit(0) },
  { key: 'shadow0', shadow_mode: true, rate_limit: limit(0) },
  { key: 'free', rate_limit: { unlimited: true } },
  { key: 'outer', value: 'secret', descriptors: [{ key: 'inner', rate_limit: limit(3) }] },
  {
    key: 'several',
    rate_limits: [
      limit(2, { unit: 'minute', name: 'burst' }),
      limit(100),
      limit(50, { unit: 'day', shadow_mode: true }),
    ],
  },
  { key: 'sliding', rate_limit: sliding(10) },
  { key: 'bucket', rate_limit: bucket(30, 5) },
  { key: 'month', rate_limit: { calendar: { period: 'month', zone: 'UTC' }, requests_per_unit: 7 } },
);

/** Headers, body and metadata that explain an answer. */
export function examineAnswers(t: Test, open: OpenStore): void {
  const asking = async (answers: number, options: Partial<EngineOptions> = {}): Promise<Decisions> =>
    new Decisions({ store: await open(), rules: RULES, options: { answers, ...options } });
  examineRetryAfter(t, asking);
  examineRatelimitHeaders(t, asking);
  examineSelection(t, asking);
  examineProblemBody(t, asking);
  examineMatchedRule(t, asking);
  examineDomains(t, open);
  examineEncodings(t, asking);
}

type Asking = (answers: number, options?: Partial<EngineOptions>) => Promise<Decisions>;

/** The value of a header of a response; null if absent. */
function header({ responseHeadersToAdd }: RateLimitResponse, name: string): string | null {
  return responseHeadersToAdd.find(({ key }) => key === name)?.value ?? null;
}

/** A request with one descriptor for each key. */
function keys(text: string): RateLimitRequest {
  return request('d', ...text.split(' ').map(key => (key.includes('=') ? key : `${key}=x`)));
}

function examineRetryAfter(t: Test, asking: Asking): void {
  const retry = (sentence: string, cases: Readonly<Record<string, string | null>>, modes = {}): void => {
    t.test(sentence, async t => {
      const decisions = await asking(ANSWER.retryAfter, { modes: { shadow: false, quota: false, ...modes } });
      for (const [text, expected] of Object.entries(cases)) {
        t.equal(header(await decisions.ask(keys(text)), 'Retry-After'), expected, text);
      }
    });
  };
  retry('`Retry-After` is the seconds until every exceeded limit resets', {
    minute0: '40',
    'minute0 hour0': '2800',
    'hour0 minute0 hour10': '2800',
    hour10: null,
    free: null,
    none: null,
  });
  retry('requests that shadow mode allows have no `Retry-After`', { shadow0: null, 'shadow0 minute0': '40' });
  retry('nor do those of global shadow mode', { hour0: null }, { shadow: true });
  retry('of quotas, the first one that resets is enough', {
    quotaMinute0: '40',
    'quotaHour0 quotaMinute0': '40',
    'quotaHour0 minute0': '2800',
    'quotaHour0 hour10': '2800',
    'quotaMinute0 hour0': '2800',
  });
  retry('also in global quota mode', { 'hour0 minute0': '40', 'hour0 hour10': null }, { quota: true });

  t.test('`Retry-After` is rounded up and at least 1', async t => {
    const decisions = await asking(ANSWER.retryAfter);
    decisions.clock.advance(39_500);
    t.equal(header(await decisions.ask(keys('minute0')), 'Retry-After'), '1');
    const refused = await decisions.ask({ ...keys('bucket'), hitsAddend: 6 });
    t.equal(refused.overallCode, OVER_LIMIT, 'more hits than the full bucket holds');
    t.equal(header(refused, 'Retry-After'), '60', 'waiting for a token does not help');
    t.equal((await decisions.ask({ ...keys('bucket'), hitsAddend: 5 })).overallCode, OK);
    decisions.clock.advance(1_900);
    t.equal(header(await decisions.ask(keys('bucket')), 'Retry-After'), '1', 'the next token comes in 0.1 s');
  });

  t.test('a refund is never refused, a request of 0 hits may be', async t => {
    const decisions = await asking(ANSWER.retryAfter);
    t.equal(header(await decisions.ask(refund('d', 1, 'hour0=x')), 'Retry-After'), null);
    const none = request('d', descriptor('user=bob', { hitsAddend: 0 }));
    t.equal(header(await decisions.ask(none), 'Retry-After'), null);
    await decisions.ask({ ...keys('user=bob'), hitsAddend: 11 });
    const again = await decisions.ask(none);
    t.equal(header(again, 'Retry-After'), again.overallCode === OVER_LIMIT ? '2800' : null);
  });

  t.test('a front that answers refused callers itself is told the seconds', async t => {
    const decisions = await asking(ANSWER.retryAfter);
    t.match(await decisions.askJson(keys('hour0')), { overLimit: true, retryAfterS: 2_800 });
    t.match(await decisions.askJson(keys('hour10')), { overLimit: false, retryAfterS: 0 });
    const without = await asking(ANSWER.problemBody);
    t.match(await without.askJson(keys('hour0')), { overLimit: true, retryAfterS: 0 });
  });

  t.test('a limit that the local cache knows to be exceeded says the same', async t => {
    const decisions = await asking(ANSWER.retryAfter | ANSWER.problemBody);
    const [first, second] = [await decisions.ask(keys('hour0')), await decisions.ask(keys('hour0'))];
    t.strictSame(second.responseHeadersToAdd, first.responseHeadersToAdd);
    t.equal(second.rawBody, first.rawBody);
  });
}

/** The two headers of the draft. */
async function fields(decisions: Decisions, asked: RateLimitRequest): Promise<readonly (string | null)[]> {
  const response = await decisions.ask(asked);
  return [header(response, 'RateLimit-Policy'), header(response, 'RateLimit')];
}

function examineRatelimitHeaders(t: Test, asking: Asking): void {
  t.test('policies are named after their limits, or after the keys of their rules', async t => {
    const decisions = await asking(ANSWER.ratelimitHeaders);
    const policies = async (text: string) => (await fields(decisions, keys(text)))[0];
    t.equal(await policies('hour0'), '"hourly";q=0;w=3600');
    t.equal(await policies('user=ann'), '"d.user";q=5;w=3600');
    const [outer] = await fields(decisions, request('d', 'outer=secret,inner=private'));
    t.equal(outer, '"d.outer.inner";q=3;w=3600', 'without values');
    const own = descriptor('x=private', { limit: { requestsPerUnit: 6, unit: 1 } });
    t.strictSame(
      await fields(decisions, request('d', own)),
      ['"d.x";q=6;w=1', '"d.x";r=5;t=1'],
      'a limit of the request has the keys of its descriptor',
    );
  });

  t.test('the quota and the window follow from how a limit counts', async t => {
    const decisions = await asking(ANSWER.ratelimitHeaders);
    t.strictSame(await fields(decisions, keys('hour10')), [
      '"d.hour10";q=10;w=3600',
      '"d.hour10";r=9;t=2800',
    ]);
    t.strictSame(await fields(decisions, keys('sliding')), [
      '"d.sliding";q=10;w=300',
      '"d.sliding";r=9;t=100',
    ]);
    t.strictSame(
      await fields(decisions, keys('bucket')),
      ['"d.bucket";q=5;w=10', '"d.bucket";r=4;t=2'],
      'the burst, and the time in which an empty bucket becomes full',
    );
    t.strictSame(
      await fields(decisions, keys('month')),
      [`"d.month";q=7;w=${30 * 86_400}`, '"d.month";r=6;t=1388800'],
      'the length of this month',
    );
    decisions.clock.advance(17 * 86_400_000);
    t.strictSame((await fields(decisions, keys('month')))[0], `"d.month";q=7;w=${31 * 86_400}`);
  });

  t.test('each limit of an entry is a policy, except those in shadow mode', async t => {
    const decisions = await asking(ANSWER.ratelimitHeaders);
    t.strictSame(await fields(decisions, keys('several')), [
      '"burst";q=2;w=60, "d.several.1h";q=100;w=3600',
      '"burst";r=1;t=40, "d.several.1h";r=99;t=2800',
    ]);
  });
}

function examineSelection(t: Test, asking: Asking): void {
  t.test('exceeded limits come first, then the others in the order of the request', async t => {
    const decisions = await asking(ANSWER.ratelimitHeaders);
    const [, limits] = await fields(decisions, keys('hour10 free none hour0 sliding shadow0'));
    t.equal(limits, '"hourly";r=0;t=2800, "d.hour10";r=9;t=2800, "d.sliding";r=9;t=100');
  });

  t.test('of policies with the same name, the tighter one is shown', async t => {
    const decisions = await asking(ANSWER.ratelimitHeaders);
    t.strictSame(await fields(decisions, keys('user=bob user=ann')), [
      '"d.user";q=5;w=3600',
      '"d.user";r=4;t=2800',
    ]);
    await decisions.ask({ ...keys('user=eve'), hitsAddend: 11 });
    t.strictSame(
      await fields(decisions, keys('user=ann user=eve')),
      ['"d.user";q=10;w=3600', '"d.user";r=0;t=2800'],
      'the exceeded one rather than another',
    );
  });

  t.test('an answer shows at most eight policies', async t => {
    const decisions = await asking(ANSWER.ratelimitHeaders);
    const descriptors = Array.from({ length: 40 }, (_, i) =>
      descriptor(`k${i}=x`, { limit: { requestsPerUnit: 6, unit: 1 } }),
    );
    const all = request('d', ...descriptors, descriptor('hour0=x'));
    const [policies, limits] = await fields(decisions, all);
    t.equal(policies?.split(', ').length, 8);
    t.match(limits, /^"hourly";r=0;t=2800, "d\.k0";r=5;t=1, /);
  });

  t.test('without a limit there are no headers, nor in global shadow mode', async t => {
    const decisions = await asking(ANSWER.ratelimitHeaders);
    t.strictSame((await decisions.ask(keys('free none shadow0'))).responseHeadersToAdd, []);
    const shadow = await asking(ANSWER.ratelimitHeaders, { modes: { shadow: true, quota: false } });
    t.strictSame((await shadow.ask(keys('hour10 hour0'))).responseHeadersToAdd, []);
  });

  t.test('the three older headers stay as they are, before the others', async t => {
    const headerNames = { limit: 'L', remaining: 'R', reset: 'T' };
    const decisions = await asking(ANSWER.ratelimitHeaders | ANSWER.retryAfter, { headerNames });
    const { responseHeadersToAdd } = await decisions.ask(keys('hour10 hour0'));
    t.strictSame(
      responseHeadersToAdd
        .map(({ key, value }) => `${key}: ${value}`)
        .filter(text => /^[LRT]:|^Retry/.test(text)),
      ['L: 0', 'R: 0', 'T: 2800', 'Retry-After: 2800'],
    );
  });
}

function examineProblemBody(t: Test, asking: Asking): void {
  t.test('a refusal has a problem as its body, which names the exceeded limits', async t => {
    const decisions = await asking(ANSWER.problemBody);
    const response = await decisions.ask(keys('hour0 hour10 minute0'));
    t.strictSame(JSON.parse(response.rawBody), {
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota exceeded',
      status: 429,
      'violated-policies': ['hourly', 'd.minute0'],
      'retry-after': 2_800,
    });
    t.strictSame(response.responseHeadersToAdd, [{ key: 'Content-Type', value: 'application/problem+json' }]);
  });

  t.test('quotas are named only if all of them are exceeded', async t => {
    const decisions = await asking(ANSWER.problemBody);
    const violated = async (text: string): Promise<unknown> =>
      JSON.parse((await decisions.ask(keys(text))).rawBody)['violated-policies'];
    t.strictSame(await violated('quotaHour0 quotaMinute0'), ['d.quotaHour0', 'd.quotaMinute0']);
    t.strictSame(await violated('quotaHour0 hour0'), ['d.quotaHour0', 'hourly']);
    const global = await asking(ANSWER.problemBody, { modes: { shadow: false, quota: true } });
    t.strictSame((await global.ask(keys('hour0 hour10'))).rawBody, '', 'one quota is left');
  });

  t.test('allowed requests have no body', async t => {
    const decisions = await asking(ANSWER.problemBody);
    for (const text of ['hour10', 'free', 'none', 'shadow0']) {
      const { rawBody, responseHeadersToAdd } = await decisions.ask(keys(text));
      t.strictSame([rawBody, responseHeadersToAdd], ['', []], text);
    }
  });
}

function examineMatchedRule(t: Test, asking: Asking): void {
  const matched = async (decisions: Decisions, asked: RateLimitRequest) =>
    (await decisions.ask(asked)).dynamicMetadata;

  t.test('the metadata name the rule that decides', async t => {
    const decisions = await asking(ANSWER.matchedRule);
    const rules: readonly (readonly [string, object | null])[] = [
      ['hour10 hour0', { code: 'OVER_LIMIT', name: 'hourly', rule: 'd.hour0', window: '1h' }],
      ['user=ann hour10', { code: 'OK', rule: 'd.user_ann', window: '1h' }],
      ['shadow0', { code: 'OVER_LIMIT', rule: 'd.shadow0', shadow_mode: true, window: '1h' }],
      ['sliding', { code: 'OK', rule: 'd.sliding', window: '5m' }],
      ['month', { code: 'OK', rule: 'd.month', window: 'month UTC' }],
      ['several', { code: 'OK', name: 'burst', rule: 'd.several.burst', window: '1m' }],
      ['free none', null],
    ];
    for (const [text, expected] of rules) {
      t.strictSame(await matched(decisions, keys(text)), expected && { matched_rule: expected }, text);
    }
  });

  t.test('global shadow mode is told', async t => {
    const decisions = await asking(ANSWER.matchedRule, { modes: { shadow: true, quota: false } });
    t.match(await matched(decisions, keys('hour0')), {
      matched_rule: { code: 'OVER_LIMIT', shadow_mode: true },
    });
  });

  t.test('a limit of the request has no rule: it is known by its keys', async t => {
    const decisions = await asking(ANSWER.matchedRule);
    const own = descriptor('x=private', { limit: { requestsPerUnit: 6, unit: 2 } });
    t.strictSame(await matched(decisions, request('d', own)), {
      matched_rule: { code: 'OK', override: true, rule: 'd.x', window: '1m' },
    });
  });

  t.test('it is added to the other dynamic metadata', async t => {
    const decisions = await asking(ANSWER.matchedRule, { dynamicMetadata: true });
    t.strictSame(await matched(decisions, keys('user=bob')), {
      domain: 'd',
      descriptors: [{ entries: ['user=bob'] }],
      matched_rule: { code: 'OK', rule: 'd.user', window: '1h' },
    });
  });
}

function examineDomains(t: Test, open: OpenStore): void {
  t.test('the domain decides, then the setting', async t => {
    const file = (domain: string, answers: object) =>
      JSON.stringify({ domain, answers, descriptors: [RULE] });
    const RULE = { key: 'k', rate_limit: limit(0) };
    const rules = {
      'on.yaml': file('on', { retry_after: true, problem_body: true }),
      'off.yaml': file('off', { retry_after: false }),
      'unset.yaml': JSON.stringify({ domain: 'unset', descriptors: [RULE] }),
    };
    const names = async (answers: number, domain: string): Promise<string> => {
      const decisions = new Decisions({ store: await open(), rules, options: { answers } });
      const { responseHeadersToAdd } = await decisions.ask(request(domain, 'k=v'));
      return responseHeadersToAdd.map(({ key }) => key).join(' ');
    };
    t.equal(await names(0, 'on'), 'Retry-After Content-Type');
    t.equal(
      await names(ANSWER.ratelimitHeaders, 'on'),
      'RateLimit-Policy RateLimit Retry-After Content-Type',
    );
    t.equal(await names(ANSWER.retryAfter | ANSWER.problemBody, 'off'), 'Content-Type');
    t.equal(await names(0, 'unset'), '');
    t.equal(await names(ANSWER.retryAfter, 'unset'), 'Retry-After');
  });

  t.test('new rules are in effect with their answers', async t => {
    const decisions = new Decisions({
      store: await open(),
      rules: RULES,
      options: { answers: ANSWER.problemBody },
    });
    await decisions.ask(keys('hour0'));
    decisions.load(ruleFile({ key: 'other', rate_limit: limit(1) }, { key: 'hour0', rate_limit: limit(0) }));
    const { rawBody } = await decisions.ask(keys('hour0'));
    t.strictSame(JSON.parse(rawBody)['violated-policies'], ['d.hour0']);
  });
}

function examineEncodings(t: Test, asking: Asking): void {
  const all = ANSWER.retryAfter | ANSWER.ratelimitHeaders | ANSWER.problemBody | ANSWER.matchedRule;
  for (const dynamicMetadata of [false, true]) {
    t.test(`both encodings say the same ${dynamicMetadata ? 'with' : 'without'} other metadata`, async t => {
      const headerNames = { limit: 'L', remaining: 'R', reset: 'T' };
      const decisions = await asking(all, { dynamicMetadata, headerNames });
      for (const text of ['hour0', 'hour0', 'hour0 minute0', 'shadow0', 'free', 'none']) {
        const binary = await decisions.ask(keys(text));
        const json = JSON.parse((await decisions.askJson(keys(text))).text);
        const { responseHeadersToAdd = [], rawBody = '' } = json;
        t.strictSame(responseHeadersToAdd, binary.responseHeadersToAdd, text);
        t.equal(Buffer.from(rawBody, 'base64').toString(), binary.rawBody, text);
        t.strictSame(json.dynamicMetadata ?? null, binary.dynamicMetadata, text);
      }
    });
  }

  t.test('fields are in the order of their declaration', async t => {
    const decisions = await asking(all);
    const { text } = await decisions.askJson(keys('hour0'));
    t.match(
      Object.keys(JSON.parse(text)),
      words(`overallCode statuses responseHeadersToAdd rawBody dynamicMetadata`),
    );
  });
}
