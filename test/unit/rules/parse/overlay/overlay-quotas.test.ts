import t from 'tap';
import { loadRuleSet } from '../../../../../src/rules/parse/load.ts';
import {
  describeRuleFault,
  type QuotaRule,
  type RuleFile,
  type RuleSet,
  RuleSetRefused,
} from '../../../../../src/rules/rule-set.ts';
import { encodeConfig, hourly } from '../../../../support/xds-messages.ts';

/** The overlay `overlay.yaml` with these entries, each one line of the file from line 2. */
function overlay(...entries: readonly string[]): RuleFile {
  const lines = entries.map(entry => `  - ${entry}\n`);
  return { name: 'overlay.yaml', content: Buffer.from(`overlay:\n${lines.join('')}`), format: 'overlay' };
}

/** The rules of `rules.yaml`, of the domain `shop`, each one line of the file from line 3. */
function rules(...entries: readonly string[]): RuleFile {
  const lines = entries.map(entry => `  - ${entry}\n`);
  return { name: 'rules.yaml', content: Buffer.from(`domain: shop\ndescriptors:\n${lines.join('')}`) };
}

function loaded(...files: readonly RuleFile[]): RuleSet {
  return loadRuleSet(files, { mergeDomains: false });
}

/** The quota of the first rule. */
function quotaIn(...files: readonly RuleFile[]): QuotaRule | undefined {
  return loaded(...files).domains[0].entries[0].quota;
}

function refusal(...files: readonly RuleFile[]): string {
  try {
    loaded(...files);
    return '';
  } catch (refused) {
    if (!(refused instanceof RuleSetRefused)) throw refused;
    return refused.faults.map(describeRuleFault).join('\n');
  }
}

const LIMIT = 'rate_limit: {unit: hour, requests_per_unit: 5}';
const PLAIN = rules(`{key: user, ${LIMIT}}`);
const GRANTED = rules(`{key: user, ${LIMIT}, quota: {share: 80%, for: 20s}}`);

t.test('an entry gives a rule a quota, or replaces the one that it has as a whole', async t => {
  const half = overlay('{domain: shop, path: user, quota: {share: 50%}}');
  t.strictSame(quotaIn(half, PLAIN), { share: 5_000, forS: 10 });
  t.strictSame(quotaIn(half, GRANTED), { share: 5_000, forS: 10 });
  t.strictSame(quotaIn(overlay('{domain: shop, path: user, quota: {}}'), GRANTED), {
    share: 10_000,
    forS: 10,
  });
  const kept = { share: 8_000, forS: 20 };
  t.strictSame(quotaIn(overlay('{domain: shop, path: user, shadow_mode: true}'), GRANTED), kept);
  t.strictSame(quotaIn(overlay('{domain: shop, path: user, shadow_mode: true, quota: }'), GRANTED), kept);
});

t.test('an entry for many rules gives none to those that cannot have one', async t => {
  const all = overlay('{domain: "*", path: "*", quota: {for: 1m}}');
  const others = rules(
    '{key: none}',
    '{key: free, rate_limit: {unlimited: true}}',
    '{key: held, rate_limit: {unit: hour, requests_per_unit: 5, reserve: {for: 1m, estimate: 2}}}',
    `{key: user, ${LIMIT}}`,
  );
  t.strictSame(
    loaded(all, others).domains[0].entries.map(({ quota }) => quota?.forS),
    [undefined, undefined, undefined, 60],
  );
  const content = encodeConfig(hourly('shop', 'user', 7));
  const resource: RuleFile = { name: 'shop', content, format: 'resource' };
  t.strictSame(quotaIn(all, resource), { share: 10_000, forS: 60 }, 'of an xDS server');
});

t.test('a limit that an entry makes another kind of limit loses the quota of its rule', async t => {
  const change = (fields: string) => overlay(`{domain: shop, path: user, ${fields}}`);
  t.equal(quotaIn(change('rate_limit: {unlimited: true}'), GRANTED), undefined);
  t.equal(quotaIn(change('rate_limit: {reserve: {for: 1m, estimate: 2}}'), GRANTED), undefined);
  t.equal(
    quotaIn(change('holder: id, rate_limits: [{concurrency: {limit: 1, for: 1m}}]'), GRANTED),
    undefined,
  );
  t.strictSame(quotaIn(change('rate_limit: {window: 5m}'), GRANTED), { share: 8_000, forS: 20 });
});

t.test('a quota that does not fit is refused with the place of the overlay', async t => {
  const leases = overlay(
    '{domain: shop, path: user, quota: {}, rate_limit: {reserve: {for: 1m, estimate: 2}}}',
  );
  t.match(
    refusal(leases, PLAIN),
    /^overlay\.yaml:2:39: shop\.user: an entry with `reserve` or `concurrency` cannot have `quota`, because /,
  );
  const held = rules(
    `{key: user, rate_limit: {unit: hour, requests_per_unit: 5, reserve: {for: 1m, estimate: 2}}}`,
  );
  t.match(
    refusal(overlay('{domain: shop, path: user, quota: {}}'), held),
    /^overlay\.yaml:2:39: shop\.user: an entry with `reserve` or `concurrency` cannot have `quota`, because /,
  );
  const free = rules('{key: user, rate_limit: {unlimited: true}, quota: {}}');
  t.match(
    refusal(overlay('{domain: "*", path: user, shadow_mode: true}'), free),
    /^rules\.yaml:3:55: shop\.user: an unlimited rule has no limit .* \(the rule is changed by the overlay in overlay/,
    'a fault of the rule stays one',
  );
  t.match(
    refusal(overlay('{domain: shop, path: user, quota: {share: 0%}}'), PLAIN),
    /^overlay\.yaml:2:47: shop\.user: 0% is too little to be divided/,
  );
  t.match(
    refusal(
      overlay(
        '{domain: shop, path: user, quota: {share: 5%}}',
        '{domain: shop, path: user, quota: {for: 5s}}',
      ),
      PLAIN,
    ),
    /^overlay\.yaml:3:5: shop\.user: two overlay entries that are equally precise set `quota` of this rule/,
  );
  t.match(
    refusal(overlay('{domain: shop, quota: {}}'), PLAIN),
    'overlay.yaml:2:20: `quota` belongs to rules: write `path: ` and the keys of the rule',
  );
});

t.test('a quota of the overlay is compared with the other rules of the domain', async t => {
  const both = rules(
    `{key: plan, descriptors: [{key: user, ${LIMIT}}]}`,
    `{key: user, descriptors: [{key: plan, ${LIMIT}}]}`,
  );
  t.equal(
    refusal(overlay('{domain: shop, path: user/plan, quota: {}}'), both),
    'overlay.yaml:2:44: shop.user.plan: a bucket with the keys of this rule, "user, plan", could also be one of the rule ' +
      'with "plan, user" in rules.yaml:3, because the entries of buckets have no order: write the keys of both rules in ' +
      'the same order, or remove `quota`',
  );
  const granted = rules(
    `{key: plan, descriptors: [{key: user, quota: {}, ${LIMIT}}]}`,
    `{key: user, descriptors: [{key: plan, ${LIMIT}}]}`,
  );
  t.match(
    refusal(overlay('{domain: shop, path: plan/user, shadow_mode: true}'), granted),
    /^rules\.yaml:3:50: shop\.plan\.user: .* \(the rule is changed by the overlay in overlay\.yaml:2\)$/,
  );
});

t.test('the limit that moves above the entry that names its class takes its quota along', async t => {
  const nested = rules(`{key: user, descriptors: [{key: tier, ${LIMIT}}]}`);
  const classes = 'rate_limit: {classes: {key: tier, gold: 100%, free: 50%}}, quota: {share: 40%}';
  t.strictSame(quotaIn(overlay(`{domain: shop, path: user/tier, ${classes}}`), nested), {
    share: 4_000,
    forS: 10,
  });
});
