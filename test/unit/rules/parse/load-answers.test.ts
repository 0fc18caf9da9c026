import t from 'tap';
import { compileRules } from '../../../../src/rules/compile.ts';
import { ANSWER, answersOf } from '../../../../src/rules/domain-answers.ts';
import { dumpRules } from '../../../../src/rules/words/dump.ts';
import { compiled, load, refusal } from './rule-text.ts';

const file = (answers: string, domain = 'd'): string =>
  `domain: ${domain}\n${answers}\ndescriptors: [{key: k, rate_limit: {unit: hour, requests_per_unit: 1}}]\n`;

t.test('`answers` at the top of a file enables and disables what answers contain', async t => {
  const [{ answers }] = load(
    file('answers: {retry_after: true, ratelimit_headers: yes, problem_body: false, matched_rule: ~}'),
  ).domains;
  t.same(answers, { enabled: ANSWER.retryAfter | ANSWER.ratelimitHeaders, disabled: ANSWER.problemBody });
  t.same(load(file('answers: {}')).domains[0].answers, { enabled: 0, disabled: 0 });
  for (const none of ['', 'answers:', 'answers: null'])
    t.equal(load(file(none)).domains[0].answers, undefined, none);
});

t.test('what the domain says wins over the settings, bit by bit', async t => {
  const rules = compiled(file('answers: {retry_after: true, problem_body: false}'));
  const name = Buffer.from('d');
  const word = rules.domainAnswers(name, 0, 1);
  const all = Object.values(ANSWER).reduce((bits: number, bit) => bits | bit, 0);
  t.equal(answersOf(0, word), ANSWER.retryAfter);
  t.equal(answersOf(all, word), all & ~ANSWER.problemBody);
  t.equal(rules.domainAnswers(Buffer.from('x'), 0, 1), 0, 'an unknown domain says nothing');
});

t.test('mistakes are named with their place', async t => {
  const cases = {
    'answers: [retry_after]': '2:10: d: `answers` must be a map, not a list: indent its keys below it',
    'answers: {retry_after: 5}': '2:24: d: `retry_after` must be true or false, without quotes, not 5',
    'answers: {retry: true}':
      '2:11: d: unknown key `retry`; accepted here: retry_after, ratelimit_headers, problem_body, matched_rule',
    'answers: {key: true}':
      '2:11: d: `key` belongs in an entry, not here; accepted here: retry_after, ratelimit_headers, problem_body, matched_rule',
    'retry_after: true':
      '2:1: d: `retry_after` belongs in `answers` at the top of the file, not here; accepted here: domain, descriptors, answers, requests',
  };
  for (const [line, message] of Object.entries(cases))
    t.equal(refusal(file(line)), `rules.yaml:${message}`, line);
  t.match(
    refusal('domain: d\ndescriptors: [{key: k, answers: {retry_after: true}}]'),
    /`answers` belongs in the file, at its top, not here/,
  );
});

t.test('of several files of a domain, one may have `answers`', async t => {
  const rules = {
    'a.yaml': 'domain: d\nanswers: {retry_after: true}\ndescriptors: [{key: a}]',
    'b.yaml': 'domain: d\ndescriptors: [{key: b}]',
  };
  t.match(load(rules, { mergeDomains: true }).domains[0].answers, { enabled: ANSWER.retryAfter });
  const twice = { ...rules, 'b.yaml': 'domain: d\nanswers: {retry_after: true}\ndescriptors: [{key: b}]' };
  t.throws(() => load(twice, { mergeDomains: true }), {
    message: 'b.yaml:2:10: d: the domain already has `answers` in a.yaml: write them in one of the files',
  });
});

t.test('the dump of the rules has a line for each domain with `answers`', async t => {
  const lines = [...dumpRules(compiled(file('answers: {retry_after: true, problem_body: false}')))];
  t.equal(lines[0], 'd: answers: {retry_after: true, problem_body: false}\n');
  t.equal(lines.length, 2);
  t.equal([...dumpRules(compiled(file('')))].length, 1);
});

t.test('rules are compiled as before if no answer needs more', async t => {
  const bytes = (text: string, answers = 0) =>
    Buffer.from(new Uint8Array(compileRules(load(text), { answers })));
  const plain = bytes(file(''));
  t.ok(plain.equals(bytes(file('answers: {}'))), 'an empty block');
  t.ok(plain.equals(bytes(file(''), ANSWER.retryAfter | ANSWER.matchedRule)), 'settings that name no policy');
  t.ok(plain.length < bytes(file(''), ANSWER.problemBody).length, 'the names of policies are added');
});
