import t from 'tap';
import { loadRuleSet } from '../../../../../src/rules/parse/load.ts';
import { resourceText } from '../../../../../src/rules/parse/reading/resource-text.ts';
import type { RuleFile } from '../../../../../src/rules/rule-set.ts';
import { type ConfigMessage, encodeConfig, UNIT } from '../../../../support/xds-messages.ts';

function resource(message: ConfigMessage, origin?: string): RuleFile {
  return {
    name: 'r',
    content: encodeConfig(message),
    format: 'resource',
    ...(origin !== undefined && { origin }),
  };
}

/** What is loaded from a resource, without its places. */
function loaded(file: RuleFile): unknown {
  const { domains } = loadRuleSet([file], { mergeDomains: false });
  return JSON.parse(JSON.stringify(domains, (key, value) => (key === 'place' ? undefined : value)));
}

const RICH: ConfigMessage = {
  name: 'default/edge/http',
  domain: 'default/edge/http',
  descriptors: [
    {
      key: 'route: "x"\n',
      value: '*',
      descriptors: [
        {
          key: 'yes',
          value: '010',
          shadow_mode: true,
          rate_limit: { unit: UNIT.week, requests_per_unit: 5, name: '~', replaces: [{ name: 'true' }] },
          metadata: {
            fields: {
              'a: b': {
                listValue: { values: [{ numberValue: 1.5 }, { stringValue: '1' }, { nullValue: 0 }] },
              },
              empty: { structValue: { fields: {} } },
            },
          },
        },
      ],
    },
    { key: 'free', rate_limit: { unlimited: true } },
    { key: 'é', rate_limit: { unit: UNIT.second, requests_per_unit: 0 } },
  ],
};

t.test('a resource as YAML has the same rules', async t => {
  for (const message of [RICH, { name: 'e', domain: 'e' }]) {
    const file = resource(message);
    const text = resourceText(file);
    t.strictSame(loaded({ name: 'r', content: Buffer.from(text) }), loaded(file), text);
  }
});

t.test('it is readable, and says what the resource is called and where it is from', async t => {
  const message = {
    name: 'n',
    domain: 'd',
    descriptors: [{ key: 'k', rate_limit: { unit: UNIT.hour, requests_per_unit: 5 } }],
  };
  t.equal(
    resourceText(resource(message, 'gateway:18001')),
    `--- # n from gateway:18001
domain: "d"
descriptors:
  - key: "k"
    rate_limit:
      unit: "hour"
      requests_per_unit: 5
`,
  );
});
