import { join } from 'node:path';
import t from 'tap';
import { writeRules } from '../../support/rule-files.ts';
import { type Teardown, tempDirectory } from '../../support/temp-directory.ts';
import { run } from './run.ts';

const SHOP =
  'domain: shop\ndescriptors:\n  - key: user\n    rate_limit: {unit: minute, requests_per_unit: 5}\n';

/** Resources as a dump of Envoy Gateway has them: every field of every entry, also those that are not set. */
const DUMP = `name: default/edge/http
domain: default/edge/http
descriptors:
  - key: httproute/default/shop/rule/0/match/0/*
    value: httproute/default/shop/rule/0/match/0/*
    rate_limit: null
    descriptors:
      - key: rule-0-match-0
        value: rule-0-match-0
        rate_limit:
          requests_per_unit: 5
          unit: SECOND
          unlimited: false
          name: ""
          replaces: []
        descriptors: []
        shadow_mode: false
        quota_mode: false
        detailed_metric: false
        value_to_metric: false
        share_threshold: false
    shadow_mode: false
    detailed_metric: false
---
name: default/policy
domain: default/policy
descriptors:
  - key: default/policy/rule/0
    value: default/policy/rule/0
    descriptors:
      - key: rule-0-match--1
        value: rule-0-match--1
        rate_limit: {requests_per_unit: 7, unit: FORTNIGHT}
`;

function files(t: Teardown, texts: Readonly<Record<string, string>>): string {
  return writeRules(tempDirectory(t), texts);
}

t.test('rules are checked with an overlay, whose limits are explained', async t => {
  const directory = files(t, {
    'rules/shop.yaml': SHOP,
    'overlay/a.yaml':
      'overlay: [{domain: shop, path: user, rate_limit: {window: 5m, algorithm: sliding_window}}]\n',
  });
  const { status, stdout } = await run(
    'check',
    join(directory, 'rules'),
    '--overlay',
    join(directory, 'overlay'),
  );
  t.equal(status, 0);
  t.match(
    stdout,
    /^no faults: 1 file, 1 domain, 1 rule, digest [0-9a-f]{16}\nshop\.user: at most 5 in each 5 minutes, and about as many in any/,
  );
});

t.test('faults and warnings of an overlay name its file', async t => {
  const directory = files(t, {
    'rules/shop.yaml': SHOP,
    'overlay/a.yaml': 'overlay:\n  - {domain: shop, path: user, rate_limit: {window: soon}}\n',
    'unused/a.yaml': 'overlay:\n  - {domain: shop, path: usr, shadow_mode: true}\n',
  });
  const faulty = await run('check', join(directory, 'rules'), '--overlay', join(directory, 'overlay'));
  t.equal(faulty.status, 1);
  t.match(faulty.stdout, `${join(directory, 'overlay/a.yaml')}:2:`);
  const unused = await run('check', join(directory, 'rules'), '--overlay', join(directory, 'unused'));
  t.equal(unused.status, 0);
  t.match(unused.stdout, /warning: the overlay entry changes nothing: .*did you mean "user"\?/);
});

t.test('a dump has one resource in each document, whose faults have the lines of the dump', async t => {
  const directory = files(t, { 'dump.yaml': DUMP, 'good.yaml': DUMP.replace('FORTNIGHT', 'MONTH') });
  const good = await run('check', '--xds-dump', join(directory, 'good.yaml'));
  t.match(good, { status: 0, stdout: /^no faults: 1 file, 2 domains, 2 rules, digest \w+\n$/, stderr: /^$/ });
  const dump = join(directory, 'dump.yaml');
  const faulty = await run('check', '--xds-dump', dump);
  t.equal(faulty.status, 1);
  t.match(faulty.stdout, `${dump}:${DUMP.split('\n').findIndex(line => line.includes('FORTNIGHT')) + 1}:`);
});

t.test('documents begin as YAML allows, and comments alone are no document', async t => {
  const directory = files(t, {
    'dump.yaml':
      '# by hand\r\n--- # a\r\ndomain: a\r\ndescriptors: []\r\n---\r\n# nothing\r\n--- {domain: b, descriptors: []}\r\n',
  });
  const { stdout } = await run('check', '--xds-dump', join(directory, 'dump.yaml'));
  t.match(stdout, /^no faults: 1 file, 2 domains, 0 rules, /);
});

t.test('a dump of thousands of resources is read', async t => {
  const resource = (i: number) =>
    `--- # d${i}\ndomain: d${i}\ndescriptors:\n  - key: k\n${'    # more\n'.repeat(20)}`;
  const directory = files(t, { 'dump.yaml': Array.from({ length: 6_000 }, (_, i) => resource(i)).join('') });
  const { stdout } = await run('check', '--xds-dump', join(directory, 'dump.yaml'));
  t.match(stdout, /^no faults: 1 file, 6000 domains, 0 rules, /);
});

t.test('an overlay applies to a dump', async t => {
  const directory = files(t, {
    'dump.yaml': DUMP.replace('FORTNIGHT', 'MONTH'),
    'overlay/a.yaml':
      'overlay: [{domain: "*", path: "*/rule-0-match--1", rate_limit: {calendar: {period: month}}}]\n',
  });
  const { status, stdout } = await run(
    'check',
    '--xds-dump',
    join(directory, 'dump.yaml'),
    '--overlay',
    join(directory, 'overlay'),
  );
  t.equal(status, 0);
  t.match(stdout, /rule-0-match--1_rule-0-match--1: at most 7 in each month, UTC time/);
});
