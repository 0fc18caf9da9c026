import t from 'tap';
import { loadRuleSet } from '../../../../../src/rules/parse/load.ts';
import { RuleSetRefused } from '../../../../../src/rules/rule-set.ts';

const OVERLAY = 'overlay:\n  - {domain: shop, path: address, group_by: {prefix: 24}}\n';

function loaded(entry: string, overlay = OVERLAY) {
  const files = [
    { name: 'overlay.yaml', content: Buffer.from(overlay), format: 'overlay' as const },
    { name: 'rules.yaml', content: Buffer.from(`domain: shop\ndescriptors: [{${entry}}]\n`) },
  ];
  return loadRuleSet(files, { mergeDomains: false }).domains[0].entries[0];
}

const LIMIT = 'rate_limit: {unit: hour, requests_per_unit: 5}';

t.test('an overlay can say which part of a value counts together', async t => {
  const grouped = { groupBy: { by: 'prefix', ipv4Bits: 24, ipv6Bits: 64 } };
  t.match(loaded(`key: address, ${LIMIT}`), grouped);
  t.match(
    loaded(`key: address, group_by: {segments: 2}, ${LIMIT}`),
    grouped,
    'it replaces the one of the rule',
  );
});

t.test('an overlay cannot group the values of a rule with one value', async t => {
  t.throws(() => loaded(`key: address, value: 10.0.0.1, ${LIMIT}`), RuleSetRefused);
});

t.test('an overlay for many rules leaves out those with one value', async t => {
  const ofAll = OVERLAY.replace('path: address', 'path: "*"');
  t.equal(loaded(`key: address, value: 10.0.0.1, ${LIMIT}`, ofAll).groupBy, undefined);
  t.match(loaded(`key: address, value: "10.*", ${LIMIT}`, ofAll), { groupBy: { by: 'prefix' } });
});
