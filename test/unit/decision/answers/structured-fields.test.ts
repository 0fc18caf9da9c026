import { type List, parseList } from 'structured-headers';
import t, { type Test } from 'tap';
import type { RateLimitResponse } from '../../../../src/messages/client-codec.ts';
import { ANSWER } from '../../../../src/rules/domain-answers.ts';
import { OVER_LIMIT } from '../../../exam/decisions/examinee.ts';
import { randomRequest } from '../../../exam/decisions/random-requests.ts';
import { anyLimits, randomEntries } from '../../../exam/decisions/random-rules.ts';
import { ruleFile } from '../../../exam/decisions/rule-file.ts';
import { Decisions } from '../../../support/decisions.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { sharedStoreKind } from '../../../support/stores.ts';

const ROUNDS = 40;
const REQUESTS = 60;
const ANSWERS = ANSWER.retryAfter | ANSWER.ratelimitHeaders | ANSWER.problemBody;

/** Names that a String of RFC 9651 cannot contain as they are, by the names of random rules. */
const ODD_NAMES: Readonly<Record<string, string>> = {
  n1: 'a "quoted" \\ name',
  n2: 'Größe\n日本 100%',
  n3: 'long '.repeat(80),
};

t.test('headers are structured fields that agree with each other and with the body', async t => {
  const random = new SeededRandom(9);
  let refused = 0;
  let several = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const entries = randomEntries(random, 2, anyLimits);
    const rules = ruleFile(...entries).replace(/"(n[123])"/g, (_, name) => JSON.stringify(ODD_NAMES[name]));
    const options = { answers: ANSWERS, modes: { shadow: false, quota: random.below(6) === 0 } };
    const decisions = new Decisions({ store: await sharedStoreKind.open(t), rules, options });
    for (let i = 0; i < REQUESTS; i++) {
      const response = await decisions.ask(randomRequest(random, entries));
      const policies = check(t, response);
      if (response.overallCode === OVER_LIMIT) refused++;
      if (policies > 1) several++;
      if (random.below(4) === 0) decisions.clock.advance(random.below(90_000));
    }
  }
  t.ok(refused > 100 && several > 100, 'the rules are exceeded, alone and together', { refused, several });
});

/** Checks an answer, and returns the number of its policies. */
function check(t: Test, response: RateLimitResponse): number {
  const fields = new Map(response.responseHeadersToAdd.map(({ key, value }) => [key, value]));
  const policies = items(fields.get('RateLimit-Policy'));
  const limits = items(fields.get('RateLimit'));
  const names = policies.map(({ name }) => name);
  const faults: unknown[] = [];
  const expect = (holds: boolean, what: string): unknown => holds || faults.push(what);
  expect(
    names.length <= 8 && new Set(names).size === names.length,
    'up to eight policies with different names',
  );
  expect(
    names.every(name => typeof name === 'string' && /^[ -~]{1,128}$/.test(name)),
    'names are short Strings',
  );
  expect(
    JSON.stringify(limits.map(({ name }) => name)) === JSON.stringify(names),
    'both headers have the same names',
  );
  for (const [i, { parameters }] of policies.entries()) {
    const [q, w, r, seconds] = [
      parameters['q'],
      parameters['w'],
      limits[i].parameters['r'],
      limits[i].parameters['t'],
    ];
    expect([q, w, r, seconds].every(isCount), 'parameters are Integers');
    expect(Number(w) >= 1, 'a window has a length');
    expect(Number(r) <= Number(q), 'no more than the quota is left');
  }
  const isRefused = response.overallCode === OVER_LIMIT;
  expect(isRefused === fields.has('Retry-After'), '`Retry-After` is on refusals');
  expect(isRefused === (response.rawBody !== ''), 'and so is the body');
  if (isRefused) {
    const problem = JSON.parse(response.rawBody);
    const violated: string[] = problem['violated-policies'];
    expect(/^[1-9][0-9]*$/.test(fields.get('Retry-After') ?? ''), 'delay-seconds');
    expect(String(problem['retry-after']) === fields.get('Retry-After'), 'the body has the same seconds');
    expect(
      violated.length > 0 && names.slice(0, violated.length).join() === violated.join(),
      'violated ones first',
    );
  }
  if (faults.length > 0) t.fail('an answer contradicts itself', { faults, response });
  return names.length;
}

interface Item {
  readonly name: unknown;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** The members of a List of RFC 9651; none if the field is absent. */
function items(field: string | undefined): Item[] {
  const list: List = field === undefined ? [] : parseList(field);
  return list.map(([name, parameters]) => ({ name, parameters: Object.fromEntries(parameters) }));
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}
