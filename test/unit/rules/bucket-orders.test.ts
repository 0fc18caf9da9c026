import t from 'tap';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { encodeRateLimitRequest } from '../../../src/messages/client-codec.ts';
import { RequestTable } from '../../../src/messages/request-table.ts';
import type { CompiledRules } from '../../../src/rules/compiled-rules.ts';
import { Matcher } from '../../../src/rules/matching/matcher.ts';
import { descriptor } from '../../support/decisions.ts';
import { compiled } from './parse/rule-text.ts';

const LIMIT = 'rate_limit: {unit: hour, requests_per_unit: 5}';
const TIERS = 'rate_limit: {unit: hour, requests_per_unit: 5, classes: {key: tier, gold: 100%}}';

/** The top level of a domain, or -1. */
function levelOf(rules: CompiledRules, domain: string): number {
  const name = Buffer.from(domain);
  return rules.domainLevel(name, 0, name.length);
}

/** The orders of the domain `d` with these entries. */
function ordersOf(entries: string): readonly (readonly string[])[] {
  const rules = compiled(`domain: d\ndescriptors:\n${entries}`);
  return rules.bucketOrders(levelOf(rules, 'd'));
}

/** Entries of one line: each is the keys of a path that ends in a limit. */
function paths(...keys: readonly (readonly string[])[]): string {
  const nested = (path: readonly string[], value: number): string => {
    const [key, ...rest] = path;
    const end = rest.length === 0 ? LIMIT : `descriptors: [${nested(rest, value)}]`;
    return `{key: ${key}, value: v${value}, ${end}}`;
  };
  return keys.map((path, i) => `  - ${nested(path, i)}\n`).join('');
}

t.test(
  'orders are those of the keys of paths that end in a limit, each once, as the rules begin them',
  async t => {
    const rules = compiled({
      'api.yaml': `
domain: api
descriptors:
  - key: user
    ${LIMIT}
  - key: plan
    value: free
    descriptors:
      - key: user
        ${LIMIT}
      - key: user
        value: ann
        ${LIMIT}
  - key: plan
    descriptors:
      - key: region
      - key: user
        rate_limit: {unlimited: true}
  - key: header_match
    value: rule-*
    descriptors:
      - key: path
        rate_limits: [{window: 5m, requests_per_unit: 5}, {window: 1h, requests_per_unit: 9}]
        descriptors:
          - key: method
            ${LIMIT}
`,
      'web.yaml': `domain: wéb\ndescriptors: [{key: schlüssel, ${LIMIT}}]`,
      'none.yaml': 'domain: none\ndescriptors: [{key: k}]',
    });
    t.strictSame(rules.bucketOrders(levelOf(rules, 'api')), [
      ['user'],
      ['plan', 'user'],
      ['header_match', 'path'],
      ['header_match', 'path', 'method'],
    ]);
    t.strictSame(rules.bucketOrders(levelOf(rules, 'wéb')), [['schlüssel']]);
    t.strictSame(rules.bucketOrders(levelOf(rules, 'none')), []);
    t.strictSame(rules.bucketOrders(levelOf(rules, 'unknown')), [], 'of a domain that does not exist');
    const level = levelOf(rules, 'api');
    t.equal(rules.bucketOrders(level), rules.bucketOrders(level), 'they are read once');
  },
);

t.test('a descriptor with its entries in an order reaches a limit', async t => {
  const rules = compiled(`
domain: d
descriptors:
  - key: plan
    descriptors:
      - key: user
        ${TIERS}
        descriptors:
          - key: path
            value: /api/*
            ${LIMIT}
  - key: region
    rate_limits:
      - {window: 2m, requests_per_unit: 5, classes: {key: tier, gold: 100%}}
      - {window: 3m, requests_per_unit: 5, classes: {key: plan, gold: 100%}}
`);
  const level = levelOf(rules, 'd');
  const orders = rules.bucketOrders(level);
  t.equal(orders.length, 7);
  const bucket: Readonly<Record<string, string>> = {
    plan: 'gold',
    user: 'ann',
    tier: 'gold',
    path: '/api/x',
    region: 'eu',
  };
  for (const order of orders) {
    const entries = order.map(key => `${key}=${bucket[key]}`).join(',');
    const table = new RequestTable();
    table.add(encodeRateLimitRequest({ domain: 'd', descriptors: [descriptor(entries)], hitsAddend: 0 }));
    t.not(new Matcher().match(rules, level, table, 0, new ByteWriter()), -1, entries);
  }
});

t.test('a hundred thousand rules with the same keys have one order', async t => {
  const entries = Array.from({ length: 100_000 }, (_, i) => `  - {key: user, value: u${i}, ${LIMIT}}\n`);
  t.strictSame(ordersOf(entries.join('')), [['user']]);
});

t.test('a limit with classes is asked with the key of the class at the end, and without it', async t => {
  t.strictSame(ordersOf(`  - key: user\n    ${TIERS}`), [['user'], ['user', 'tier']]);
  const several = ['tier', 'plan', 'tier'].map(
    (key, i) => `{window: ${i + 2}m, requests_per_unit: 5, classes: {key: ${key}, gold: 100%}}`,
  );
  t.strictSame(ordersOf(`  - key: user\n    rate_limits: [${several.join(', ')}]`), [
    ['user'],
    ['user', 'tier'],
    ['user', 'plan'],
    ['user', 'tier', 'plan'],
  ]);
});

t.test('what holds leases cannot be granted, so it has no order', async t => {
  t.strictSame(
    ordersOf(`
  - key: user
    holder: id
    rate_limit: {unit: hour, requests_per_unit: 5, reserve: {for: 1m}}
  - key: job
    holder: id
    rate_limits: [{unit: hour, requests_per_unit: 5}, {concurrency: {limit: 5, for: 1m}}]
`),
    [],
  );
});

t.test(
  'keys in different orders have none, because a bucket with these keys could be meant by each',
  async t => {
    const text = `domain: d\ndescriptors:\n${paths(['a', 'b'], ['c'], ['b', 'a'], ['a', 'b', 'c'], ['c', 'b', 'a'], ['a'])}`;
    const rules = compiled(text);
    const level = levelOf(rules, 'd');
    t.strictSame(rules.bucketOrders(level), [['c'], ['a']]);
    t.strictSame(rules.bucketsWithoutOrder(level), {
      ambiguous: [
        ['a', 'b'],
        ['a', 'b', 'c'],
      ],
      isCut: false,
    });
    t.strictSame(rules.bucketsWithoutOrder(-1), { ambiguous: [], isCut: false });
    const byClass = `  - key: user\n    ${TIERS}\n  - key: tier\n    descriptors: [{key: user, ${LIMIT}}]`;
    t.strictSame(ordersOf(byClass), [['user']], 'the key of a class is one of them');
  },
);

t.test('a path that has a key twice has no order, because a bucket has each key once', async t => {
  t.strictSame(ordersOf(paths(['a', 'a'], ['a', 'b', 'a'], ['a', 'b'])), [['a', 'b']]);
  const byClass = `  - key: tier\n    ${TIERS}`;
  t.strictSame(ordersOf(byClass), [['tier']], 'the key of a class is the second one');
});

t.test('a domain has at most a thousand orders, and those of later rules are left out', async t => {
  const keys = (count: number): string =>
    `domain: d\ndescriptors:\n${paths(...Array.from({ length: count }, (_, i) => [`k${i}`]))}`;
  const all = compiled(keys(1_000));
  const level = levelOf(all, 'd');
  t.equal(all.bucketOrders(level).length, 1_000);
  t.equal(all.bucketsWithoutOrder(level).isCut, false);
  const cut = compiled(keys(1_001));
  t.strictSame(cut.bucketOrders(level), all.bucketOrders(level));
  t.equal(cut.bucketsWithoutOrder(level).isCut, true);
});
