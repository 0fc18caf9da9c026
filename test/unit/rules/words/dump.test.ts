import t from 'tap';
import { compileRules } from '../../../../src/rules/compile.ts';
import { CompiledRules } from '../../../../src/rules/compiled-rules.ts';
import type { RuleSet } from '../../../../src/rules/rule-set.ts';
import { definitionOf } from '../../../../src/rules/words/definition.ts';
import { dumpRules } from '../../../../src/rules/words/dump.ts';
import { compiledLimitInWords } from '../../../../src/rules/words/limit-words.ts';
import { compiled, load } from '../parse/rule-text.ts';

const dump = (rules: RuleSet): string => [...dumpRules(new CompiledRules(compileRules(rules)))].join('');

t.test('no rules give no text', async t => {
  t.equal(dump({ domains: [] }), '');
  t.equal(dump(load('domain: d\ndescriptors: [{key: k}]')), '');
});

t.test('each entry with a limit is one line, in definition order', async t => {
  const rules = load({
    'b.yaml': `
domain: shop
descriptors:
  - key: region
    value: eu
    shadow_mode: true
    rate_limit: {unit: hour, requests_per_unit: 40}
    descriptors:
      - key: partner
        quota_mode: true
        rate_limit: {unlimited: true}
      - key: level
        descriptors:
          - key: path
            value: /a*:b|127.0.0.1
            rate_limit: {unit: Week, requests_per_unit: 5000000000}
  - key: any
    rate_limit: {unlimited: true, requests_per_unit: 7, unit: none}
`,
    'a.yaml': 'domain: a.b\ndescriptors: [{key: k, rate_limit: {unit: second}}]',
  });
  t.equal(
    dump(rules),
    [
      'shop.region_eu: unit=HOUR requests_per_unit=40, shadow_mode: true, quota_mode: false\n',
      'shop.region_eu.partner: unit=UNKNOWN requests_per_unit=0, shadow_mode: false, quota_mode: true\n',
      'shop.region_eu.level.path_/a*:b|127.0.0.1: unit=WEEK requests_per_unit=5000000000, shadow_mode: false, quota_mode: false\n',
      'shop.any: unit=UNKNOWN requests_per_unit=7, shadow_mode: false, quota_mode: false\n',
      'a.b.k: unit=SECOND requests_per_unit=0, shadow_mode: false, quota_mode: false\n',
    ].join(''),
  );
});

t.test('a limit that is not plain is printed with its true window, algorithm and calendar', async t => {
  const rules = load(`
domain: d
descriptors:
  - key: plain
    rate_limit: {window: 60s, requests_per_unit: 1}
  - key: long
    rate_limit: {unit: minute, unit_multiplier: 5, requests_per_unit: 2}
  - key: several
    quota_mode: true
    rate_limits:
      - {unit: second, requests_per_unit: 3}
      - {name: trial, window: 36h, algorithm: sliding_window, shadow_mode: true, requests_per_unit: 4}
      - {window: 5m, algorithm: token_bucket, burst: 20, requests_per_unit: 5}
      - {calendar: {period: month, zone: Europe/Berlin, starts: 15}, requests_per_unit: 6}
  - key: penalized
    rate_limit: {unit: minute, requests_per_unit: 7, penalty: {after: 3, for: 90s, factor: 2, max: 1h}}
  - key: tiers
    rate_limit: {unit: day, requests_per_unit: 8, classes: {key: tier, critical: 100%, standard: 12.5%}}
  - key: after
    rate_limit: {unit: day, requests_per_unit: 9, after_limit: {admit: 10%}}
  - key: scaled
    rate_limit: {unit: day, requests_per_unit: 10, scale: 1000}
  - key: held
    holder: id
    rate_limits:
      - {unit: minute, requests_per_unit: 11}
      - {unit: day, requests_per_unit: 12, reserve: {for: 10m}}
      - {concurrency: {limit: 13, for: 10m}}
  - key: estimated
    rate_limit: {unit: day, requests_per_unit: 14, reserve: {for: 90s, overdraft: allow, estimate: 3}}
`);
  t.equal(
    dump(rules),
    [
      'd.plain: unit=MINUTE requests_per_unit=1, shadow_mode: false, quota_mode: false\n',
      'd.long: window=5m requests_per_unit=2, shadow_mode: false, quota_mode: false, algorithm: fixed_window\n',
      'd.several.1s: window=1s requests_per_unit=3, shadow_mode: false, quota_mode: true, algorithm: fixed_window\n',
      'd.several.trial: window=36h requests_per_unit=4, shadow_mode: true, quota_mode: true, algorithm: sliding_window\n',
      'd.several.5m: window=5m requests_per_unit=5, shadow_mode: false, quota_mode: true, algorithm: token_bucket, burst: 20\n',
      'd.several.month: calendar=month@15 requests_per_unit=6, shadow_mode: false, quota_mode: true, algorithm: fixed_window, zone: Europe/Berlin\n',
      'd.penalized: window=1m requests_per_unit=7, shadow_mode: false, quota_mode: false, algorithm: fixed_window, penalty: {after: 3, for: 90s, factor: 2, max: 1h}\n',
      'd.tiers: window=1d requests_per_unit=8, shadow_mode: false, quota_mode: false, algorithm: fixed_window, classes: {key: tier, critical: 100%, standard: 12.5%, default: 12.5%}\n',
      'd.after: window=1d requests_per_unit=9, shadow_mode: false, quota_mode: false, algorithm: fixed_window, after_limit: {admit: 10%}\n',
      'd.scaled: window=1d requests_per_unit=10, shadow_mode: false, quota_mode: false, algorithm: fixed_window, scale: 1000\n',
      'd.held.1m: window=1m requests_per_unit=11, shadow_mode: false, quota_mode: false, algorithm: fixed_window, holder: id\n',
      'd.held.1d: window=1d requests_per_unit=12, shadow_mode: false, quota_mode: false, algorithm: fixed_window, holder: id, reserve: {for: 10m, overdraft: refuse_next, zero_hits: extend}\n',
      'd.held.concurrency: unit=UNKNOWN requests_per_unit=13, shadow_mode: false, quota_mode: false, holder: id, concurrency: {for: 10m}\n',
      'd.estimated: window=1d requests_per_unit=14, shadow_mode: false, quota_mode: false, algorithm: fixed_window, reserve: {for: 90s, overdraft: allow, zero_hits: extend, estimate: 3}\n',
    ].join(''),
  );
});

t.test('the part of a limit that proxies get is printed at its end', async t => {
  const quota = 'quota: {share: 12.5%, for: 90s}';
  const limit = '{unit: minute, requests_per_unit: 1}';
  const rules = load(`
domain: d
descriptors:
  - {key: plain, rate_limit: ${limit}, ${quota}}
  - {key: usual, rate_limit: ${limit}, quota: {}}
  - {key: share, rate_limit: {window: 5m, requests_per_unit: 1}, quota: {share: 80%}}
`);
  t.equal(
    dump(rules),
    [
      'd.plain: unit=MINUTE requests_per_unit=1, shadow_mode: false, quota_mode: false, quota: {share: 12.5%, for: 90s}\n',
      'd.usual: unit=MINUTE requests_per_unit=1, shadow_mode: false, quota_mode: false\n',
      'd.share: window=5m requests_per_unit=1, shadow_mode: false, quota_mode: false, algorithm: fixed_window, quota: {share: 80%, for: 10s}\n',
    ].join(''),
  );
});

t.test('a limit per month is printed as it is written, also if months are those of the calendar', async t => {
  const text = `
domain: d
descriptors:
  - key: plain
    rate_limit: {unit: month, requests_per_unit: 1}
  - key: list
    rate_limits:
      - {unit: month, requests_per_unit: 1}
  - key: held
    holder: id
    rate_limit: {unit: month, requests_per_unit: 1, reserve: {for: 1h}}
  - key: scaled
    rate_limit: {unit: month, requests_per_unit: 1, scale: 5}
`;
  const rules = compiled(text, { mergeDomains: false, calendarMonths: true });
  t.equal(
    [...dumpRules(rules)].join(''),
    [
      'd.plain: unit=MONTH requests_per_unit=1, shadow_mode: false, quota_mode: false\n',
      'd.list.30d: calendar=month requests_per_unit=1, shadow_mode: false, quota_mode: false, algorithm: fixed_window, zone: UTC\n',
      'd.held: calendar=month requests_per_unit=1, shadow_mode: false, quota_mode: false, algorithm: fixed_window, zone: UTC, holder: id, reserve: {for: 1h, overdraft: refuse_next, zero_hits: extend}\n',
      'd.scaled: calendar=month requests_per_unit=1, shadow_mode: false, quota_mode: false, algorithm: fixed_window, zone: UTC, scale: 5\n',
    ].join(''),
  );
  for (const limit of [0, 1, 2, 3]) {
    t.match(definitionOf(rules, limit).text, /unit: month/);
    t.match(compiledLimitInWords(rules, limit), /^at most 1 in each month, UTC time/);
  }
});
