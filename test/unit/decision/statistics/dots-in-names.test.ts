import t from 'tap';
import { dumpRules } from '../../../../src/rules/words/dump.ts';
import { Decisions, descriptor, request } from '../../../support/decisions.ts';
import { embeddedStore } from '../../../support/stores.ts';

const RULES = `
domain: d.test
descriptors:
  - key: a.host
    value: foo.bar.example.com
    rate_limit: { unit: hour, requests_per_unit: 2 }
    descriptors:
      - key: user
        rate_limits:
          - { name: per.hour, unit: hour, requests_per_unit: 2 }
          - { name: per.day, unit: day, requests_per_unit: 20 }
  - key: a.host
    value: foo.bar.other.org
    rate_limit: { unit: hour, requests_per_unit: 2 }
  - key: path
    value: /v1.0/*
    detailed_metric: true
    rate_limit: { unit: hour, requests_per_unit: 2 }
  - key: ip
    value_to_metric: true
    rate_limit: { unit: hour, requests_per_unit: 2 }
`;

/** The descriptor of each limit, and the name of its statistics without and with the setting. */
const CASES = [
  [
    descriptor('a.host=foo.bar.example.com'),
    'd.test.a.host_foo.bar.example.com',
    'd.test.a_host_foo_bar_example_com',
  ],
  [
    descriptor('a.host=foo.bar.example.com,user=ann'),
    'd.test.a.host_foo.bar.example.com.user.per_day',
    'd.test.a_host_foo_bar_example_com.user.per_day',
  ],
  [
    descriptor('a.host=foo.bar.other.org'),
    'd.test.a.host_foo.bar.other.org',
    'd.test.a_host_foo_bar_other_org',
  ],
  [descriptor('path=/v1.0/x.html'), 'd.test.path_/v1.0/x.html', 'd.test.path_/v1_0/x_html'],
  [descriptor('ip=1.2.3.4'), 'd.test.ip_1_2_3_4', 'd.test.ip_1_2_3_4'],
  [
    descriptor('any.key=a.b', { limit: { requestsPerUnit: 2, unit: 3 } }),
    'd.test.any.key_a.b',
    'd.test.any_key_a_b',
  ],
] as const;

function decisions(undotsStatistics: boolean): Decisions {
  const store = embeddedStore(4_096);
  const made = new Decisions({ store, rules: null });
  made.load(RULES, { mergeDomains: false, undotsStatistics });
  return made;
}

for (const undots of [false, true]) {
  t.test(`dots in keys and values are ${undots ? 'replaced' : 'kept'} in names of statistics`, async t => {
    const asked = decisions(undots);
    for (const [one, dotted, undotted] of CASES) {
      const named = undots ? undotted : dotted;
      await asked.ask({ ...request('d.test'), descriptors: [one] });
      t.equal(asked.rule(named)['total_hits'], 1, named);
      const explained = JSON.stringify(await asked.explain({ ...request('d.test'), descriptors: [one] }));
      t.match(explained, `"ratelimit.service.rate_limit.${named}"`);
    }
  });
}

t.test('the paths of rules keep their dots', async t => {
  const { rules } = decisions(true);
  t.equal(rules?.path(1), 'd.test.a.host_foo.bar.example.com.user.per.hour');
  t.match([...dumpRules(rules!)].join(''), 'd.test.a.host_foo.bar.other.org: unit=HOUR');
});

t.test('totals keep their name when rules are loaded again', async t => {
  const asked = decisions(true);
  const [[one, , named]] = CASES;
  await asked.ask({ ...request('d.test'), descriptors: [one] });
  asked.load(RULES, { mergeDomains: false, undotsStatistics: true });
  await asked.ask({ ...request('d.test'), descriptors: [one] });
  t.equal(asked.rule(named)['total_hits'], 2);
  asked.load('domain: other\ndescriptors: []', { mergeDomains: false, undotsStatistics: true });
  t.equal(asked.rule(named)['total_hits'], 2, 'also when the rule is gone');
});
