import t from 'tap';
import { ByteWriter } from '../../../../src/base/bytes.ts';
import { writeBytes, writeText, writeUint } from '../../../../src/messages/wire.ts';
import { loadRuleSet } from '../../../../src/rules/parse/load.ts';
import { MAX_ENTRY_LEVELS, MAX_YAML_DEPTH } from '../../../../src/rules/parse/yaml/bounds.ts';
import { type RuleFile, type RuleSet, RuleSetRefused } from '../../../../src/rules/rule-set.ts';
import { each } from '../../../support/each.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import {
  type ConfigMessage,
  type DescriptorMessage,
  encodeConfig,
  UNIT,
} from '../../../support/xds-messages.ts';
import { load as loadText, withoutPlaces } from './rule-text.ts';

function resource(content: Uint8Array, name = 'resources[0]'): RuleFile {
  return { name, content, format: 'resource' };
}

function load(configs: readonly ConfigMessage[], mergeDomains = false): RuleSet {
  const files = configs.map((config, i) => resource(encodeConfig(config), `resources[${i}]`));
  return loadRuleSet(files, { mergeDomains });
}

/** The lines of the refusal; none when the resources are accepted. */
function refusal(...files: readonly RuleFile[]): string[] {
  try {
    loadRuleSet(files, { mergeDomains: false });
    return [];
  } catch (refused) {
    if (refused instanceof RuleSetRefused) return refused.message.split('\n');
    throw refused;
  }
}

function refusalOf(...configs: readonly ConfigMessage[]): string[] {
  return refusal(...configs.map((config, i) => resource(encodeConfig(config), `resources[${i}]`)));
}

t.test('a resource gives the rules that a file with the same fields gives', async t => {
  const fromResource = load([
    {
      name: 'shop-limits',
      domain: 'shop',
      descriptors: [
        { key: 'user', rate_limit: { unit: UNIT.minute, requests_per_unit: 4_294_967_295 } },
        {
          key: 'path',
          value: '/api/*',
          shadow_mode: true,
          quota_mode: true,
          detailed_metric: true,
          rate_limit: { unit: UNIT.week, name: 'api', replaces: [{ name: 'a' }, { name: 'b' }] },
          descriptors: [
            { key: 'method', value: '010', rate_limit: { unlimited: true } },
            { key: 'method', value: 'yes' },
          ],
        },
      ],
    },
  ]);
  const fromFile = loadText(`
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 4294967295}
  - key: path
    value: /api/*
    shadow_mode: true
    quota_mode: true
    detailed_metric: true
    rate_limit: {unit: week, name: api, replaces: [{name: a}, {name: b}]}
    descriptors:
      - {key: method, value: "010", rate_limit: {unlimited: true}}
      - {key: method, value: "yes"}
`);
  t.strictSame(withoutPlaces(fromResource), withoutPlaces(fromFile));
});

t.test('each unit is known by its number', async t => {
  for (const [name, unit] of Object.entries(UNIT)) {
    const { domains } = load([{ domain: 'd', descriptors: [{ key: 'k', rate_limit: { unit } }] }]);
    t.equal(domains[0].entries[0].limits[0]?.unit, name);
  }
});

t.test('metadata keep their values and types', async t => {
  const value = (kind: string, content: unknown) => ({ [kind]: content });
  const metadata = {
    fields: {
      text: value('stringValue', 'yes'),
      empty: value('stringValue', ''),
      whole: value('numberValue', 2 ** 53 - 1),
      odd: value('numberValue', -0.1),
      large: value('numberValue', 1e300),
      beyond64Bits: value('numberValue', 2 ** 70),
      on: value('boolValue', true),
      nothing: value('nullValue', 0),
      list: value('listValue', { values: [value('numberValue', 1), value('listValue', { values: [] })] }),
      map: value('structValue', { fields: { __proto__x: value('boolValue', false) } }),
    },
  };
  const { domains } = load([{ domain: 'd', descriptors: [{ key: 'k', metadata }] }]);
  t.strictSame(domains[0].entries[0].metadata, {
    text: 'yes',
    empty: '',
    whole: 2 ** 53 - 1,
    odd: -0.1,
    large: 1e300,
    beyond64Bits: 2 ** 70,
    on: true,
    nothing: null,
    list: [1, []],
    map: { __proto__x: false },
  });
});

t.test('several resources are several domains, and none are none', async t => {
  const { domains } = load([{ domain: 'a' }, { domain: 'b' }]);
  t.same(each(domains, 'name'), ['a', 'b']);
  t.same(load([]).domains, []);
});

t.test('faults name the resource and the path of the entry', async t => {
  const bad: ConfigMessage = {
    name: 'shop-limits',
    domain: 'shop',
    descriptors: [
      { key: 'a', value: 'x', rate_limit: { requests_per_unit: 1 } },
      { key: 'a', descriptors: [{ value: 'x' }, { key: 'b', rate_limit: { unit: 9 } }] },
      { key: 'c', rate_limit: { unlimited: true, unit: UNIT.day } },
      { key: 'a', value: 'x' },
      { key: 'd', rate_limit: { unit: UNIT.day, name: 'n', replaces: [{}, { name: 'n' }] } },
    ],
  };
  const units = 'write one of second, minute, hour, day, month, year, week, or `unlimited: true`';
  t.strictSame(refusalOf(bad), [
    `shop-limits: shop.a_x: the limit has no \`unit\`: ${units}`,
    'shop-limits: shop.a.descriptors[0]: the entry has no key: write `key: ` and the name of the descriptor key',
    `shop-limits: shop.a.b: "9" is not a unit: ${units}`,
    'shop-limits: shop.c: an unlimited rule has no unit: remove `unit: day` or `unlimited: true`',
    'shop-limits: shop.a_x: "a_x" is defined twice on this level, first in shop-limits (`key: a` with `value: b` and ' +
      '`key: a_b` are the same): remove one or change its key or value',
    'shop-limits: shop.d: an item of `replaces` has no name: write `- name: ` and the name of a limit',
    'shop-limits: shop.d: a limit cannot replace itself: "n" is its own name',
  ]);
});

t.test('a resource without a name goes by its place in the response', async t => {
  t.strictSame(refusalOf({ domain: 'a' }, {}), [
    'resources[1]: the resource has no domain: write `domain: ` and a name at the top',
  ]);
});

t.test('two resources share a domain only where domains are merged', async t => {
  const first = { name: 'one', domain: 'd', descriptors: [{ key: 'a' }] };
  const second = { name: 'two', domain: 'd', descriptors: [{ key: 'b' }] };
  t.match(refusalOf(first, second), [/^two: d: the domain "d" is already defined in one: /]);
  t.same(
    load([first, second], true).domains.map(({ entries }) => entries.map(({ key }) => key)),
    [['a', 'b']],
  );
});

t.test('a name that would steer a terminal is escaped', async t => {
  t.match(refusalOf({ name: 'a\n\u001b[31mb' }), [/^a\\u000a\\u001b\[31mb: the resource has no domain/]);
});

t.test('bytes that are no such message are refused, with the reason', async t => {
  const cases: Record<string, Uint8Array> = {
    'field 3 is longer than the message at byte 1': Buffer.of(0x1a, 9),
    'the text at byte 1 is not UTF-8': Buffer.of(0x12, 1, 0xff),
    'field 2 has wire type 0, not 2 at byte 1': Buffer.of(0x10, 1),
  };
  for (const [reason, content] of Object.entries(cases)) {
    t.strictSame(refusal(resource(content)), [
      `resources[0]: the resource is not a valid RateLimitConfig: ${reason}`,
    ]);
  }
});

t.test('fields of later versions are passed over', async t => {
  const writer = new ByteWriter();
  writeText(writer, 2, 'd');
  writeText(writer, 77, 'later');
  t.strictSame(refusal(resource(writer.take())), []);
});

t.test('a resource has plain limits only: later fields and metadata are passed over', async t => {
  const policy = new ByteWriter();
  writeUint(policy, 1, UNIT.minute);
  writeUint(policy, 2, 7);
  // As if `unit_multiplier`, `window`, `algorithm` and `burst` had got the next numbers.
  for (const field of [6, 9]) writeUint(policy, field, 5);
  for (const field of [7, 8]) writeText(policy, field, 'token_bucket');
  const entry = new ByteWriter();
  writeText(entry, 1, 'k');
  writeBytes(entry, 3, policy.take());
  const config = new ByteWriter();
  writeText(config, 2, 'd');
  writeBytes(config, 3, entry.take());
  const rules = loadRuleSet([resource(config.take())], { mergeDomains: false });
  t.same(rules.domains[0].entries[0].place, { file: 'resources[0]', line: 0 }, 'a resource has no lines');
  const plain = loadText(
    'domain: d\ndescriptors: [{key: k, rate_limit: {unit: minute, requests_per_unit: 7}}]',
  );
  t.strictSame(withoutPlaces(rules), withoutPlaces(plain));

  const text = (stringValue: string) => ({ stringValue });
  const metadata = {
    fields: {
      window: text('5m'),
      algorithm: text('token_bucket'),
      rate_limits: { listValue: { values: [{ structValue: { fields: { window: text('5m') } } }] } },
    },
  };
  const rate_limit = { unit: UNIT.minute, requests_per_unit: 7 };
  const [{ entries }] = load([{ domain: 'd', descriptors: [{ key: 'k', rate_limit, metadata }] }]).domains;
  t.strictSame(entries[0].limits, plain.domains[0].entries[0].limits);
});

t.test('a resource may have as many levels of entries as a file', async t => {
  const nested = (levels: number): Uint8Array => {
    const writer = new ByteWriter();
    writeText(writer, 1, 'k');
    if (levels > 1) writeBytes(writer, 4, nested(levels - 1));
    return writer.take();
  };
  const config = (levels: number): RuleFile => {
    const writer = new ByteWriter();
    writeText(writer, 2, 'd');
    writeBytes(writer, 3, nested(levels));
    return resource(writer.take());
  };
  t.strictSame(refusal(config(MAX_ENTRY_LEVELS)), []);
  t.match(refusal(config(MAX_ENTRY_LEVELS + 1)), [
    /entries are nested deeper than 256 levels: write fewer levels$/,
  ]);
});

t.test('messages nested without end are refused before they end the process', async t => {
  let content: Uint8Array = new Uint8Array(0);
  for (let level = 0; level <= MAX_YAML_DEPTH; level++) {
    const writer = new ByteWriter();
    writeBytes(writer, level === MAX_YAML_DEPTH ? 3 : 4, content);
    content = writer.take();
  }
  t.match(refusal(resource(content)), [/nested deeper than 600 levels at byte \d+: write a flatter one$/]);
});

t.test('any bytes give rules or a refusal', async t => {
  const random = new SeededRandom(5);
  const entry: DescriptorMessage = { key: 'k', value: 'v', rate_limit: { unit: 1, name: 'n' } };
  const good = encodeConfig({ name: 'n', domain: 'd', descriptors: [{ ...entry, descriptors: [entry] }] });
  for (let round = 0; round < 3_000; round++) {
    const bytes = Uint8Array.from(good);
    for (let changes = random.below(4) + 1; changes > 0; changes--) {
      bytes[random.below(bytes.length)] = random.below(256);
    }
    t.ok(refusal(resource(bytes.subarray(0, random.below(bytes.length + 1)))));
  }
});
