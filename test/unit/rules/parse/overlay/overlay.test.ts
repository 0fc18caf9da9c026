import t from 'tap';
import { loadRuleSet } from '../../../../../src/rules/parse/load.ts';
import { MAX_OVERLAY_ENTRIES } from '../../../../../src/rules/parse/overlay/overlay-entries.ts';
import {
  describeRuleFault,
  type RuleEntry,
  type RuleFault,
  type RuleFile,
  RuleSetRefused,
} from '../../../../../src/rules/rule-set.ts';

const RULES = `
domain: shop
descriptors:
  - key: route
    value: cart
    descriptors:
      - key: rule-0-match-0
        value: rule-0-match-0
        rate_limit:
          unit: second
          requests_per_unit: 10
  - key: plan
    rate_limit: {unit: hour, requests_per_unit: 5, name: plan}
  - key: admin
    rate_limit: {unlimited: true}
`;

function file(name: string, text: string, format?: 'overlay'): RuleFile {
  return { name, content: Buffer.from(text), ...(format && { format }) };
}

/** The rules with an overlay, and the warnings about them. */
function loaded(
  overlay: string,
  rules = RULES,
): { entries: readonly RuleEntry[]; warnings: readonly string[] } {
  const warnings: RuleFault[] = [];
  const files = [file('shop.yaml', rules), file('overlay.yaml', overlay, 'overlay')];
  const set = loadRuleSet(files, { mergeDomains: false, onWarning: warning => warnings.push(warning) });
  return { entries: set.domains[0].entries, warnings: warnings.map(describeRuleFault) };
}

function faultsOf(overlay: string, rules = RULES): readonly string[] {
  try {
    loaded(overlay, rules);
  } catch (refused) {
    if (refused instanceof RuleSetRefused) return refused.faults.map(describeRuleFault);
    throw refused;
  }
  return [];
}

t.test('an entry adds fields to the limit of a rule, and replaces others', async t => {
  const { entries, warnings } = loaded(`
overlay:
  - domain: shop
    path: "*/rule-0-match-0"
    rate_limit: {window: 5m, algorithm: sliding_window}
    shadow_mode: true
    metadata: {team: web}
`);
  t.strictSame(warnings, []);
  const [rule] = entries[0].entries;
  t.match(rule, { shadowMode: true, metadata: { team: 'web' } });
  t.match(rule.limits, [
    { unit: 'minute', requestsPerUnit: 10, terms: { window: '5m', algorithm: 'sliding_window' } },
  ]);
  t.strictSame(rule.place, { file: 'shop.yaml', line: 7 });
  t.strictSame(rule.overlaidBy, { file: 'overlay.yaml', line: 3 });
  t.equal(entries[1].overlaidBy, undefined, 'other rules stay as they are');
});

t.test('a limit becomes greater than a controller can send', async t => {
  const { entries } = loaded(
    'overlay: [{domain: shop, path: plan, rate_limit: {requests_per_unit: 50000000000}}]',
  );
  t.match(entries[1].limits, [{ unit: 'hour', requestsPerUnit: 50_000_000_000, name: 'plan' }]);
});

t.test('a rule is the same as if its file had said so', async t => {
  const byOverlay = loaded(
    'overlay: [{domain: "*", path: plan, rate_limit: {calendar: {period: month}, name: budget}}]',
  );
  const byFile = loaded(
    'overlay: []',
    RULES.replace(
      '{unit: hour, requests_per_unit: 5, name: plan}',
      '{calendar: {period: month}, requests_per_unit: 5, name: budget}',
    ),
  );
  const { overlaidBy, ...changed } = byOverlay.entries[1];
  t.strictSame(changed, byFile.entries[1]);
});

t.test('whatever sets a part of the window replaces the whole window', async t => {
  const windowOf = (limit: string, rules?: string) =>
    loaded(`overlay: [{domain: shop, path: plan, rate_limit: {${limit}}}]`, rules).entries[1].limits[0];
  t.match(windowOf('unit: day'), { unit: 'day', terms: null });
  t.match(windowOf('unit: minute, unit_multiplier: 5'), { unit: 'minute', terms: { multiplier: 5 } });
  const withCalendar = RULES.replace('unit: hour', 'calendar: {period: month}');
  t.match(windowOf('window: 1h', withCalendar), { unit: 'hour', terms: null });
});

t.test('an entry adds classes, and an unlimited rule has none', async t => {
  const classes = 'classes: {key: tier, critical: 100%, sheddable: 60%}';
  const { entries } = loaded(`overlay: [{domain: shop, path: plan, rate_limit: {${classes}}}]`);
  t.match(entries[1].limits, [
    { requestsPerUnit: 5, terms: { classes: { key: 'tier', otherShare: 6_000 } } },
  ]);
  const rules = RULES.replace('name: plan', `name: plan, ${classes}`);
  const unlimited = loaded('overlay: [{domain: shop, path: plan, rate_limit: {unlimited: true}}]', rules);
  t.match(unlimited.entries[1].limits, [{ unlimited: true, terms: null }]);
  t.match(
    faultsOf(
      `overlay: [{domain: shop, path: route, rate_limit: {unit: day, requests_per_unit: 1, ${classes.replace('tier', 'rule-0-match-0')}}}]`,
    ),
    [/the entry "rule-0-match-0" cannot be both below this one and the `key` of its `classes`/],
  );
});

t.test('an entry adds leases, their holder and a scale', async t => {
  const planOf = (fields: string, rules?: string) =>
    loaded(`overlay: [{domain: shop, path: plan, ${fields}}]`, rules).entries[1];
  const held = 'holder: id, rate_limit: {scale: 10, reserve: {for: 1m}}';
  t.match(planOf(held).limits, [
    { requestsPerUnit: 5, unit: 'hour', terms: { scale: 10, lease: { mode: 'reserve', holder: 'id' } } },
  ]);
  const withLeases = RULES.replace(
    'rate_limit: {unit: hour, requests_per_unit: 5, name: plan}',
    'holder: id\n    rate_limit: {unit: hour, requests_per_unit: 5, reserve: {for: 1m}, name: plan}',
  );
  t.match(planOf('holder: request_id', withLeases).limits, [
    { terms: { lease: { holder: 'request_id', forS: 60 } } },
  ]);
  for (const fields of ['rate_limit: {unlimited: true}', 'rate_limits: [{unit: day, requests_per_unit: 1}]'])
    t.match(
      planOf(fields, withLeases).limits[0].terms?.lease ?? null,
      null,
      'leases and the holder are removed',
    );
});

t.test('a limit becomes one on concurrency, and that becomes one of a window', async t => {
  const planOf = (limit: string, rules?: string) =>
    loaded(`overlay: [{domain: shop, path: plan, holder: id, rate_limit: {${limit}}}]`, rules).entries[1]
      .limits[0];
  const slots = 'concurrency: {limit: 3, for: 1m}';
  const bucket = RULES.replace('unit: hour', 'unit: hour, algorithm: token_bucket, burst: 9');
  t.match(planOf(slots, bucket), {
    unit: null,
    requestsPerUnit: 3,
    name: 'plan',
    terms: { algorithm: 'fixed_window', tag: 'concurrency' },
  });
  const ofSlots = RULES.replace('unit: hour, requests_per_unit: 5', slots).replace(
    '    rate_limit: {concurrency',
    '    holder: id\n    rate_limit: {concurrency',
  );
  const window = planOf('unit: day, requests_per_unit: 7, reserve: {for: 1m}', ofSlots);
  t.match(window, { unit: 'day', requestsPerUnit: 7, terms: { lease: { mode: 'reserve' } } });
});

t.test('a rule becomes unlimited, and an unlimited one limited', async t => {
  const bucket = RULES.replace('unit: hour', 'unit: hour, algorithm: token_bucket, burst: 9');
  const { entries } = loaded(
    `
overlay:
  - {domain: shop, path: plan, rate_limit: {unlimited: true}}
  - {domain: shop, path: admin, rate_limit: {unit: minute, requests_per_unit: 7}}
`,
    bucket,
  );
  t.match(entries[1].limits, [{ unlimited: true, unit: null, terms: null }]);
  t.match(entries[2].limits, [{ unlimited: false, unit: 'minute', requestsPerUnit: 7 }]);
});

t.test('`rate_limits` replaces the limit of a rule by several', async t => {
  const { entries } = loaded(`
overlay:
  - domain: shop
    path: plan
    rate_limits:
      - {window: 1s, requests_per_unit: 10}
      - {window: 1h, requests_per_unit: 100}
`);
  t.match(entries[1].limits, [{ requestsPerUnit: 10 }, { requestsPerUnit: 100 }]);
});

t.test(
  'entries that only lead to rules are not changed, unless the overlay brings a whole limit',
  async t => {
    const part = loaded(
      'overlay: [{domain: shop, path: "*", rate_limit: {algorithm: sliding_window}}]',
      RULES.replace(/ {2}- key: admin\n.*\n/, ''),
    );
    t.equal(part.entries[0].limits.length, 0);
    t.match(part.entries[0].entries[0].limits, [{ terms: { algorithm: 'sliding_window' } }]);
    const whole = loaded(
      'overlay: [{domain: shop, path: route, rate_limit: {unit: minute, requests_per_unit: 3}}]',
    );
    t.match(whole.entries[0].limits, [{ unit: 'minute', requestsPerUnit: 3 }]);
  },
);

t.test('an entry without a path changes the answers of a domain', async t => {
  const set = loadRuleSet(
    [
      file('shop.yaml', `${RULES}answers: {problem_body: true}\n`),
      file('overlay.yaml', 'overlay: [{domain: "*", answers: {retry_after: true}}]', 'overlay'),
    ],
    { mergeDomains: false },
  );
  const byFile = loadRuleSet(
    [file('shop.yaml', `${RULES}answers: {problem_body: true, retry_after: true}\n`)],
    {
      mergeDomains: false,
    },
  );
  t.strictSame(set.domains[0].answers, byFile.domains[0].answers);
});

t.test('the fields of the most precise entry count', async t => {
  const { entries } = loaded(
    `
overlay:
  - {domain: shop, path: plan, rate_limit: {window: 2h}}
  - {domain: "*", path: "*", shadow_mode: true, rate_limit: {window: 1m}}
  - {domain: "*", path: "pl*", shadow_mode: false}
`,
    RULES.replace(/ {2}- key: admin\n.*\n/, ''),
  );
  t.match(entries[1], { shadowMode: false, limits: [{ terms: { window: '2h' } }] });
  t.match(entries[0].entries[0], { shadowMode: true, limits: [{ unit: 'minute' }] });
});

t.test('two entries that are equally precise and set the same field are refused', async t => {
  t.strictSame(
    faultsOf(`
overlay:
  - {domain: shop, path: "pla*", rate_limit: {window: 2h}, shadow_mode: true}
  - {domain: shop, path: "*lan", rate_limit: {unit: day}}
`),
    [
      'overlay.yaml:4:5: shop.plan: two overlay entries that are equally precise set `window` of this rule, the other one ' +
        'in overlay.yaml:3: remove the field from one of them, or write more of the path or the domain instead of `*`',
    ],
  );
  t.strictSame(
    faultsOf(`
overlay:
  - {domain: shop, path: "pla*", rate_limit: {window: 2h}}
  - {domain: shop, path: "*lan", rate_limit: {algorithm: sliding_window}}
`),
    [],
    'different fields do not conflict',
  );
});

t.test('an entry that changes nothing is a warning that says why, with the nearest path', async t => {
  const warningsOf = (overlay: string) => loaded(`overlay: [${overlay}]`).warnings;
  const start = 'overlay.yaml:1:11: the overlay entry changes nothing:';
  const cases = {
    '{domain: shop, path: paln, shadow_mode: true}':
      'no path of these rules matches "paln"; did you mean "plan"?',
    '{domain: shop, path: "*route/rule-0-match-1", shadow_mode: true}':
      'no path of these rules matches "*route/rule-0-match-1"; did you mean "route=cart/rule-0-match-0"?',
    '{domain: shop, path: "entirely-different", shadow_mode: true}':
      'no path of these rules matches "entirely-different"',
    '{domain: shpo, answers: {retry_after: true}}': 'no domain matches "shpo"; did you mean "shop"?',
    '{domain: shpo, path: plan, shadow_mode: true}': 'no domain matches "shpo"; did you mean "shop"?',
    '{domain: shop, path: route, shadow_mode: true}':
      'what matches "route" has no limit; write `requests_per_unit` if it should get one',
  };
  for (const [overlay, why] of Object.entries(cases)) t.same(warningsOf(overlay), [`${start} ${why}`]);
  const alone = loadRuleSet(
    [file('o.yaml', 'overlay: [{domain: a, path: b, shadow_mode: true}]', 'overlay')],
    {
      mergeDomains: false,
      onWarning: () => t.fail('there are no rules yet'),
    },
  );
  t.strictSame(alone.domains, []);
});

t.test('warnings about rules do not crowd out those about an overlay', async t => {
  const entries = Array.from({ length: 30 }, (_, i) => `  - {key: k${i}, rate_limit: {unit: day}}\n`);
  const { warnings } = loaded(
    'overlay: [{domain: shop, path: none, shadow_mode: true}]',
    `domain: shop\ndescriptors:\n${entries.join('')}`,
  );
  t.match(warnings.at(-1), /no path of these rules matches "none"$/);
});

t.test('repeated and merged keys of rules count before an overlay', async t => {
  const rules = `
domain: shop
descriptors:
  - &base
    key: base
    rate_limit: {unit: minute, requests_per_unit: 5}
  - <<: *base
    key: user
    rate_limit: {unit: hour}
`;
  const { entries } = loaded('overlay: [{domain: shop, path: user, rate_limit: {name: n}}]', rules);
  t.match(entries[1].limits, [{ unit: 'hour', requestsPerUnit: 5, name: 'n' }]);
});

t.test('a field without a value changes nothing', async t => {
  const rules = RULES.replace('- key: plan', '- key: plan\n    shadow_mode: true');
  const { entries } = loaded(
    'overlay: [{domain: shop, path: plan, rate_limit: , shadow_mode: , quota_mode: false}, ' +
      '{domain: shop, path: plan*, rate_limit: {window: , name: b}}]',
    rules,
  );
  t.match(entries[1], { shadowMode: true, limits: [{ unit: 'hour', requestsPerUnit: 5, name: 'b' }] });
});

t.test('an unlimited rule stays unlimited unless it gets a number', async t => {
  const free = RULES.replace('unlimited: true', 'unlimited: true, requests_per_unit: 0');
  const limitOf = (fields: string) =>
    loaded(`overlay: [{domain: shop, path: admin, rate_limit: {${fields}}}]`, free).entries[2].limits[0];
  t.match(limitOf('window: 5m, algorithm: sliding_window'), { unlimited: true, terms: null });
  t.match(limitOf('name: free'), { unlimited: true, name: 'free' });
  t.match(limitOf('window: 5m, requests_per_unit: 3'), { unlimited: false, requestsPerUnit: 3 });
  const plan = loaded(
    'overlay: [{domain: shop, path: plan, rate_limit: {unlimited: false, algorithm: sliding_window}}]',
  );
  t.match(plan.entries[1].limits, [
    { unit: 'hour', requestsPerUnit: 5, terms: { algorithm: 'sliding_window' } },
  ]);
});

t.test('a limit and a list of limits of two entries do not mix', async t => {
  const both = (first: string, second: string) =>
    faultsOf(`overlay: [{domain: shop, path: "p*", ${first}}, {domain: shop, path: plan, ${second}}]`);
  const list = 'rate_limits: [{window: 1s, requests_per_unit: 5}]';
  t.match(both(list, 'rate_limit: {unit: day}'), [/write `rate_limits` with all limits in the overlay$/]);
  t.strictSame(both('rate_limit: {unit: day}', list), [], 'the list is more precise, and replaces the limit');
  const equal =
    'overlay: [{domain: shop, path: plan, rate_limit: {unlimited: true}}, ' +
    '{domain: shop, path: plan, rate_limit: {window: 5m}}]';
  t.match(faultsOf(equal), [/equally precise set `window`/]);
});

t.test('an overlay adds answers to a domain of several files, wherever they have theirs', async t => {
  const answers = (...texts: string[]) =>
    loadRuleSet(
      [
        ...texts.map((text, i) => file(`${i}.yaml`, text)),
        file('o.yaml', 'overlay: [{domain: "s*", answers: {retry_after: true}}]', 'overlay'),
      ],
      { mergeDomains: true },
    ).domains[0].answers;
  const other = 'domain: shop\nanswers: {problem_body: true}\ndescriptors: [{key: z}]\n';
  const both = answers(other, RULES);
  t.strictSame(answers(RULES, other), both);
  t.notSame(both, answers(RULES));
  t.not(answers(RULES), undefined);
});

t.test('an overlay says what becomes of requests, beside what a file says about answers', async t => {
  const requests = 'requests: {descriptors: [[{key: plan, header: x-plan}]]}';
  const load = (overlay: string, ...texts: string[]) =>
    loadRuleSet(
      [
        ...texts.map((text, i) => file(`${i}.yaml`, text)),
        file('o.yaml', `overlay: [{domain: shop, ${overlay}}]`, 'overlay'),
      ],
      { mergeDomains: true },
    ).domains[0];
  const other = `domain: shop\n${requests}\ndescriptors: [{key: z}]\n`;
  const answers = 'answers: {retry_after: true}';
  const added = load(`${requests}, ${answers}`, RULES);
  t.match(added, { requests: { descriptors: [[{ key: 'plan', of: 'x-plan' }]] }, answers: { enabled: 1 } });
  const both = load(`requests: {on_failure: deny}, ${answers}`, `${RULES}answers: {}\n`, other);
  t.match(both, {
    requests: { onFailure: 'deny', descriptors: [[{ key: 'plan' }]] },
    answers: { enabled: 1 },
  });
  t.throws(() => load('requests: {on_failure: maybe}', other), {
    message: /^o\.yaml:1:\d+: shop: `on_failure` must be `allow` or `deny`/,
  });
  t.throws(() => load(`path: plan, ${requests}`, RULES), { message: /`requests` belong to a whole domain/ });
});

t.test('many overlay entries and many rules are compared in a short time', async t => {
  const rule = (i: number) =>
    `  - {key: r, value: route/${i}, descriptors: [{key: rule-${i % 100}, rate_limit: {unit: day, requests_per_unit: 1}}]}\n`;
  const rules = Array.from({ length: 4_000 }, (_, i) => rule(i)).join('');
  const entry = (i: number) =>
    `  - {domain: shop, path: "*/route/${i}/rule-${i + 100}", shadow_mode: true}\n`;
  const overlay = Array.from({ length: MAX_OVERLAY_ENTRIES }, (_, i) => entry(i)).join('');
  const { warnings } = loaded(`overlay:\n${overlay}`, `domain: shop\ndescriptors:\n${rules}`);
  t.ok(warnings.length > 0);
});

t.test(
  'a fault that an overlay brings is reported where the overlay has it, with the path of the rule',
  async t => {
    t.strictSame(
      faultsOf('overlay:\n  - domain: shop\n    path: plan\n    rate_limit:\n      window: soon\n')[0].split(
        ': ',
        2,
      ),
      ['overlay.yaml:5:15', 'shop.plan'],
    );
    t.match(faultsOf('overlay: [{domain: shop, path: plan, rate_limit: {unit_multiplier: 5}}]'), [
      /^overlay|^shop/,
    ]);
  },
);

t.test('a fault of a rule that an overlay has changed names the overlay', async t => {
  const bucket = RULES.replace('unit: hour', 'unit: hour, algorithm: token_bucket, burst: 9');
  t.match(
    faultsOf('overlay: [{domain: shop, path: plan, rate_limit: {algorithm: sliding_window}}]', bucket),
    [/^shop\.yaml:13:.* \(the rule is changed by the overlay in overlay\.yaml:1\)$/],
  );
});

t.test('a rule with several limits keeps them unless the overlay has all of them', async t => {
  const list = RULES.replace(
    'rate_limit: {unit: hour, requests_per_unit: 5, name: plan}',
    'rate_limits: [{unit: hour, requests_per_unit: 5}]',
  );
  t.match(faultsOf('overlay: [{domain: shop, path: plan, rate_limit: {window: 5m}}]', list), [
    /write `rate_limits` with all limits in the overlay$/,
  ]);
});

t.test('an overlay file is checked also where it matches nothing', async t => {
  const cases: Record<string, RegExp> = {
    'domain: shop\ndescriptors: []': /`domain` belongs in an item of `overlay`|accepted here: overlay/,
    'overlay: [{path: x, shadow_mode: true}]': /the entry has no domain: write `domain: `/,
    'overlay: [{domain: shop, path: x}]': /the entry changes nothing/,
    'overlay: [{domain: shop, shadow_mode: true}]': /`shadow_mode` belongs to rules: write `path: `/,
    'overlay: [{domain: shop, path: x, answers: {retry_after: true}}]': /`answers` belong to a whole domain/,
    'overlay: [{domain: shop, path: x, rate_limit: {windw: 5m}}]':
      /unknown key `windw`; did you mean `window`\?/,
    'overlay: [{domain: shop, path: x, rate_limit: {window: 5m}, rate_limits: [{window: 5m}]}]':
      /remove one of them/,
    'overlay: [{domain: shop, path: x, key: y, shadow_mode: true}]': /`key` belongs in an entry, not here/,
    'overlay: {domain: shop}': /`overlay` must be a list/,
    '': /the file is empty: write `overlay:` with a list/,
    '[]': /an overlay file is a map, not a list/,
    'overlay: [{domain: shop, path: x, rate_limit: {shadow_mode: true}}]':
      /`shadow_mode` belongs in an entry, not here/,
    'overlay: [{domain: shop, path: x, rate_limit: }]': /the entry changes nothing/,
  };
  for (const [overlay, fault] of Object.entries(cases)) t.match(faultsOf(overlay)[0], fault, overlay);
});

t.test('the number of entries and the length of patterns are bounded', async t => {
  const entry = '  - {domain: shop, path: plan, quota_mode: false}\n';
  t.match(faultsOf(`overlay:\n${entry.repeat(MAX_OVERLAY_ENTRIES + 1)}`), [/at most 1000 entries/]);
  t.match(faultsOf(`overlay: [{domain: shop, path: ${'x'.repeat(2_001)}, shadow_mode: true}]`), [
    /more than 2000 characters/,
  ]);
});

t.test('aliases that repeat entries cannot make an overlay take long', async t => {
  const levels = Array.from({ length: 12 }, (_, i) => {
    const below =
      i === 0
        ? 'rate_limit: {unit: day, requests_per_unit: 1}'
        : `descriptors: [${`*l${i - 1}, `.repeat(10)}]`;
    return `  - &l${i}\n    key: k${i}\n    ${below}\n`;
  });
  const faults = faultsOf(
    'overlay: [{domain: shop, path: "*k0", shadow_mode: true}]',
    `domain: shop\ndescriptors:\n${levels.join('')}`,
  );
  t.ok(faults.length > 0, 'the rules are refused');
});

const TIERED = `
domain: shop
descriptors:
  - key: route
    value: cart
    descriptors:
      - key: rule-0-match-0
        shadow_mode: true
        descriptors:
          - key: rule-0-match-1
            shadow_mode: true
            rate_limit: {unit: minute, requests_per_unit: 100}
          - key: rule-1-match-0
            rate_limit: {unit: minute, requests_per_unit: 7}
`;

t.test('an entry that a controller nests can become the class of the limit above it', async t => {
  const classes = 'classes: {key: rule-0-match-1, gold: 100%, basic: 60%}';
  const { entries } = loaded(
    `overlay: [{domain: shop, path: "*/rule-0-match-1", rate_limit: {${classes}}}]`,
    TIERED,
  );
  const [user] = entries[0].entries;
  t.match(user, {
    key: 'rule-0-match-0',
    shadowMode: true,
    overlaidBy: { file: 'overlay.yaml', line: 1 },
    limits: [
      {
        requestsPerUnit: 100,
        unit: 'minute',
        terms: { classes: { key: 'rule-0-match-1', names: ['gold', 'basic'] } },
      },
    ],
  });
  t.same(
    user.entries.map(({ key }) => key),
    ['rule-1-match-0'],
  );
});

t.test('an entry that a controller nests can become the holder of the limit above it', async t => {
  const overlay = `overlay: [{domain: shop, path: "*/rule-0-match-1", holder: rule-0-match-1, rate_limit: {reserve: {for: 5m}}}]`;
  const [user] = loaded(overlay, TIERED).entries[0].entries;
  t.match(user, {
    key: 'rule-0-match-0',
    limits: [{ requestsPerUnit: 100, terms: { lease: { holder: 'rule-0-match-1', forS: 300 } } }],
  });
  t.same(
    user.entries.map(({ key }) => key),
    ['rule-1-match-0'],
  );
  const above = TIERED.replace(
    '        shadow_mode: true\n        descr',
    '        rate_limit: {unit: day, requests_per_unit: 9}\n        descr',
  );
  t.match(faultsOf(overlay, above), [
    /^overlay\.yaml:1:11: .*the entry that names the holder and the one above it both have a limit.* write `holder` with/,
  ]);
});

t.test(
  'it stays an entry of its own if the entry above has a limit, a value or the classes another key',
  async t => {
    const withClasses = (key: string, rules: string) =>
      `overlay: [{domain: shop, path: "*/rule-0-match-1", rate_limit: {classes: {key: ${key}, gold: 100%}}}]|${rules}`.split(
        '|',
      );
    const above = TIERED.replace(
      '        shadow_mode: true\n        descr',
      '        rate_limit: {unit: day, requests_per_unit: 9}\n        descr',
    );
    const [overlay, rules] = withClasses('rule-0-match-1', above);
    t.match(faultsOf(overlay, rules), [/^overlay\.yaml:1:11: .*both have a limit/]);
    const [other] = withClasses('tier', '');
    t.equal(loaded(other, TIERED).entries[0].entries[0].entries.length, 2);
  },
);
