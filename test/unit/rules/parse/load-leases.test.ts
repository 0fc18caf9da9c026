import t from 'tap';
import { describeRuleFault } from '../../../../src/rules/rule-set.ts';
import { entryFile, load, loadEntry, refusal } from './rule-text.ts';

/** What compiled rules have of the limits of an entry with these lines below its key. */
function limitsOf(lines: string) {
  return loadEntry(`key: user\n${lines}`).limits;
}

const RESERVE = 'reserve: {for: 10m}';

t.test('a limit with `reserve` holds hits for the holder that the entry names', async t => {
  const [limit] = limitsOf(
    `holder: request_id\nrate_limit: {unit: minute, requests_per_unit: 20000, ${RESERVE}}`,
  );
  t.match(limit, { unit: 'minute', requestsPerUnit: 20_000, item: null });
  t.strictSame(limit.terms?.lease, {
    mode: 'reserve',
    forS: 600,
    holder: 'request_id',
    estimate: 0,
    settles: true,
    zeroHits: 'extend',
    overdraft: 'refuse_next',
  });
  t.match(limit.terms, { tag: '1m.lease', window: '1m', scale: 1 });
});

t.test('its fields say what later calls do', async t => {
  const reserve = 'reserve: {for: 90s, overdraft: Allow, zero_hits: SETTLE, estimate: 500}';
  const [limit] = limitsOf(
    `holder: id\nrate_limit: {calendar: {period: month}, requests_per_unit: 50, ${reserve}}`,
  );
  t.match(limit.terms, {
    tag: 'month.UTC.lease',
    lease: { forS: 90, estimate: 500, zeroHits: 'settle', overdraft: 'allow' },
  });
});

t.test('without a holder, calls without hits hold the estimate', async t => {
  const [limit] = limitsOf('rate_limit: {unit: hour, requests_per_unit: 9, reserve: {for: 1h, estimate: 3}}');
  t.match(limit.terms?.lease, { mode: 'reserve', forS: 3_600, holder: '', estimate: 3, settles: true });
});

t.test('a limit on concurrency has no unit, and its slots end as well', async t => {
  const [limit] = limitsOf('holder: id\nrate_limit: {concurrency: {limit: 5, for: 36h}}');
  t.match(limit, { unit: null, requestsPerUnit: 5, unlimited: false });
  t.match(limit.terms, {
    algorithm: 'fixed_window',
    multiplier: 129_600,
    window: 'concurrency',
    tag: 'concurrency',
    lease: { mode: 'concurrency', forS: 129_600, holder: 'id', settles: false, zeroHits: 'extend' },
  });
  t.equal(limitsOf('holder: id\nrate_limit: {concurrency: {limit: 0, for: 1s}}')[0].requestsPerUnit, 0);
});

t.test('limits of one entry share what their leases have in common', async t => {
  const limits = limitsOf(`holder: id
rate_limits:
  - {unit: minute, requests_per_unit: 60}
  - {unit: minute, requests_per_unit: 20000, name: tokens, reserve: {for: 10m, estimate: 7}}
  - {unit: day, requests_per_unit: 9, reserve: {for: 600s, zero_hits: settle, overdraft: allow}}
  - {name: few, concurrency: {limit: 5, for: 10m}}
  - {name: many, concurrency: {limit: 50, for: 10m}}`);
  const common = { forS: 600, holder: 'id', estimate: 7, settles: true, zeroHits: 'settle' };
  t.strictSame(
    limits.map(({ terms, item }) => [item?.level, terms?.tag, terms?.lease]),
    [
      ['1m', '1m.lease', { mode: 'once', ...common, overdraft: 'refuse_next' }],
      ['tokens', '1m.lease.tokens', { mode: 'reserve', ...common, overdraft: 'refuse_next' }],
      ['1d', '1d.lease', { mode: 'reserve', ...common, overdraft: 'allow' }],
      ['few', 'concurrency.few', { mode: 'concurrency', ...common, overdraft: 'refuse_next' }],
      ['many', 'concurrency.many', { mode: 'concurrency', ...common, overdraft: 'refuse_next' }],
    ],
  );
});

t.test('a limit on concurrency alone is released and not settled', async t => {
  const limits = limitsOf(`holder: id
rate_limits:
  - {window: 5m, requests_per_unit: 60}
  - concurrency: {limit: 5, for: 10m}
  - {name: other, concurrency: {limit: 5, for: 10m}}`);
  t.strictSame(
    limits.map(({ terms, item }) => [item?.level, terms?.tag, terms?.lease?.mode, terms?.lease?.settles]),
    [
      ['5m', '5m.lease', 'once', false],
      ['concurrency', 'concurrency', 'concurrency', false],
      ['other', 'concurrency.other', 'concurrency', false],
    ],
  );
});

t.test('a scale says how many hits a request is worth', async t => {
  const scaled = (fields: string) => limitsOf(`rate_limit: {unit: minute, requests_per_unit: 50, ${fields}}`);
  t.match(scaled('scale: 1000000'), [{ requestsPerUnit: 50, terms: { scale: 1_000_000, tag: '' } }]);
  t.match(scaled('scale: 5, unit_multiplier: 5'), [{ terms: { scale: 5, tag: '5m' } }]);
  t.match(scaled('scale: 1'), [{ terms: null }], 'a limit is plain with the usual scale');
  t.match(
    limitsOf(`holder: id\nrate_limit: {unit: day, requests_per_unit: 5, scale: 1000000000, ${RESERVE}}`),
    [{ terms: { scale: 1e9, tag: '1d.lease' } }],
  );
});

t.test('fields that are written twice are merged', async t => {
  const [limit] = limitsOf(`holder: a
holder: b
rate_limit:
  unit: minute
  requests_per_unit: 5
  scale: 2
  scale: 3
  reserve: {for: 1m, zero_hits: settle, estimate: 1}
  reserve: {for: 2m, overdraft: allow}`);
  t.match(limit.terms, {
    scale: 3,
    lease: { holder: 'b', forS: 120, zeroHits: 'settle', overdraft: 'allow', estimate: 1 },
  });
});

/** The faults of the lines of an entry, with their places. */
function faultsOf(lines: string): string {
  return refusal(entryFile(`key: k\n${lines}`));
}

t.test('faulty fields are refused with their place', async t => {
  const reserve = (fields: string) =>
    faultsOf(`holder: id\nrate_limit: {unit: day, requests_per_unit: 1, reserve: ${fields}}`);
  const cases = {
    '{}': '60: d.k: the `reserve` has no `for`: write `for: ` and how long a lease lasts that its holder neither ends nor extends, such as `10m`',
    '{for: 0s}': '66: d.k: 0s is shorter than one second: write a length from 1s to 30d',
    '{for: 31d}': '66: d.k: 31d is longer than 30 days: write a length from 1s to 30d',
    '{for: 600}': '66: d.k: `for: 600` has no unit: write `for: 600s` for seconds',
    '{for: 1m, overdraft: never}': '81: d.k: `overdraft` cannot be "never": write `refuse_next` or `allow`',
    '{for: 1m, zero_hits: free}': '81: d.k: `zero_hits` cannot be "free": write `extend` or `settle`',
    '{for: 1m, estimate: 0}':
      '80: d.k: `estimate` must be a whole number from 1 to 9007199254740991, without quotes, not 0',
    '{for: 1m, max: 1}':
      '70: d.k: `max` belongs in `penalty`, not here; accepted here: for, overdraft, zero_hits, estimate',
    '10m': '60: d.k: `reserve` must be a map, not 10m: indent its keys below it',
  };
  for (const [fields, fault] of Object.entries(cases))
    t.equal(reserve(fields), `rules.yaml:5:${fault}`, fields);
  const concurrency = (fields: string) => faultsOf(`holder: id\nrate_limit: {concurrency: ${fields}}`);
  t.equal(
    concurrency('{for: 1m}'),
    'rules.yaml:5:31: d.k: the `concurrency` has no `limit`: write `limit: ` and how many leases there may be at the same ' +
      'time, such as `limit: 5`',
  );
  t.match(concurrency('{limit: 5}'), /:31: d.k: the `concurrency` has no `for`: write `for: ` and how long/);
  t.match(concurrency('{limit: -1, for: 1m}'), /`limit` must be a whole number from 0 to/);
  t.match(concurrency('5'), '`concurrency` must be a map, not 5: indent its keys below it');
});

t.test('a holder is one key, and belongs to limits with leases', async t => {
  const limit = `rate_limit: {unit: day, requests_per_unit: 1, ${RESERVE}}`;
  t.equal(
    faultsOf(`holder: id*\n${limit}`),
    'rules.yaml:4:13: d.k: the `holder` is compared as a whole: write a key without `*` instead of "id*"',
  );
  const idle =
    'rules.yaml:4:13: d.k: the entry has a `holder`, and no limit that has leases: write `reserve` or `concurrency` in a ' +
    'limit whose hits the holder holds, or remove `holder`';
  for (const lines of [
    '',
    '\nrate_limit: {unit: day, requests_per_unit: 1}',
    '\nrate_limit: {unlimited: true}',
    '\nrate_limits: [{unit: day, requests_per_unit: 1}]',
  ])
    t.equal(faultsOf(`holder: id${lines}`), idle, lines);
  t.match(
    faultsOf('rate_limit: {unit: day, requests_per_unit: 1, holder: id}'),
    '`holder` belongs in an entry, not here',
  );
  t.match(faultsOf('reserve: {for: 1m}'), '`reserve` belongs in `rate_limit`, not here');
});

t.test('without a holder, only calls with an estimate can be told from those that settle', async t => {
  t.equal(
    faultsOf(`rate_limit: {unit: day, requests_per_unit: 1, ${RESERVE}}`),
    'rules.yaml:4:60: d.k: a `reserve` needs to know which call settles it: write `holder: ` and the key of the entry of a ' +
      'descriptor that names the holder beside the limit, such as `holder: request_id`, or `estimate: ` and the hits that ' +
      'each call without hits holds until the next call with hits settles them',
  );
  t.equal(
    faultsOf('rate_limit: {concurrency: {limit: 5, for: 1m}}'),
    'rules.yaml:4:31: d.k: a `concurrency` needs the holder of a lease, so that a later call can end the lease: write ' +
      '`holder: ` and the key of the entry of a descriptor that names the holder beside the limit, such as `holder: request_id`',
  );
  t.match(
    faultsOf(
      'rate_limit: {unit: day, requests_per_unit: 1, reserve: {for: 1m, estimate: 5, zero_hits: settle}}',
    ),
    'without a `holder`, a call without hits always holds the `estimate`: remove `zero_hits`, or write `holder: `',
  );
  t.match(
    faultsOf(
      'rate_limits: [{unit: day, requests_per_unit: 1}, {unit: hour, requests_per_unit: 1, reserve: {for: 1m, estimate: 5}}]',
    ),
    'rules.yaml:4:19: d.k: a limit beside a `reserve` counts the first call of each holder, and the entry has no `holder`: ' +
      'write `holder: ` and the key of the entry of a descriptor that names the holder, or move the limit to an entry of its own',
  );
});

t.test('all limits of an entry have the same leases', async t => {
  const both = (one: string, other: string) =>
    faultsOf(`holder: id
rate_limits:
  - {unit: day, requests_per_unit: 1, ${one}}
  - {${other}}`);
  const advice = 'write the same here, or move the limit to an entry of its own';
  const day = 'unit: hour, requests_per_unit: 1';
  t.equal(
    both(RESERVE, 'concurrency: {limit: 1, for: 5m}'),
    `rules.yaml:7:39: d.k: all limits of an entry have the same leases, and another limit has \`for: 10m\`: ${advice}`,
  );
  t.match(
    both('reserve: {for: 1m, estimate: 5}', `${day}, reserve: {for: 1m, estimate: 6}`),
    `another limit has \`estimate: 5\`: ${advice}`,
  );
  t.match(
    both('reserve: {for: 1m, zero_hits: settle}', `${day}, reserve: {for: 1m, zero_hits: extend}`),
    `another limit has \`zero_hits: settle\`: ${advice}`,
  );
  t.equal(both('reserve: {for: 1m, zero_hits: settle}', `${day}, reserve: {for: 60s, estimate: 5}`), '');
});

t.test('leases are only in fixed windows that count all hits in the same way', async t => {
  const reason = (field: string) =>
    `an entry with \`reserve\` or \`concurrency\` cannot have \`${field.split(':')[0]}\`, because`;
  for (const field of ['penalty: {for: 1m}', 'classes: {key: t, a: 100%}', 'after_limit: {admit: 5%}']) {
    t.match(
      faultsOf(`holder: id\nrate_limit: {unit: day, requests_per_unit: 1, ${field}, ${RESERVE}}`),
      reason(field),
    );
    t.match(
      faultsOf(
        `holder: id\nrate_limits: [{unit: day, requests_per_unit: 1, ${field}}, {concurrency: {limit: 1, for: 1m}}]`,
      ),
      reason(field),
      'also beside a limit with leases',
    );
  }
  for (const algorithm of ['sliding_window', 'token_bucket']) {
    t.match(
      faultsOf(
        `holder: id\nrate_limit: {unit: day, requests_per_unit: 1, algorithm: ${algorithm}, ${RESERVE}}`,
      ),
      'in an entry with `reserve` or `concurrency`, all limits are fixed windows, because only those can hold hits: ' +
        `remove \`algorithm: ${algorithm}\`, or move the limit to an entry of its own`,
    );
  }
  for (const field of [RESERVE, 'scale: 5', 'concurrency: {limit: 1, for: 1m}']) {
    t.match(
      faultsOf(`rate_limit: {unlimited: true, ${field}}`),
      `an unlimited rule is not counted: remove \`${field.split(':')[0]}\` or \`unlimited: true\``,
    );
  }
});

t.test('a limit on concurrency has nothing that belongs to windows', async t => {
  const fault = (field: string) =>
    faultsOf(`holder: id\nrate_limits: [{${field}, concurrency: {limit: 1, for: 1m}}]`);
  const why = 'd.k: a limit on `concurrency` counts leases, and not requests in a window: ';
  for (const field of ['unit: day', 'window: 5m', 'scale: 5', 'burst: 1', 'penalty: {for: 1m}', RESERVE])
    t.match(
      fault(field),
      `${why}remove \`${field.split(':')[0]}\`, or write it in a limit of its own`,
      field,
    );
  t.match(fault('requests_per_unit: 5'), `${why}write the number as the \`limit\` of \`concurrency\``);
  t.match(
    faultsOf(`holder: id
rate_limits: [{concurrency: {limit: 1, for: 1m}}, {concurrency: {limit: 2, for: 1m}}]`),
    'two limits of the entry are on concurrency: give them names, or remove one',
  );
});

t.test('a scale is of fixed windows, and its hits are counted exactly', async t => {
  const fault = (fields: string) => faultsOf(`rate_limit: {unit: day, ${fields}}`);
  t.equal(
    fault('requests_per_unit: 9007199254740, scale: 1001'),
    'rules.yaml:4:70: d.k: 9007199254740 requests that are worth 1001 hits each are more than 9007199254740991 hits: ' +
      'write `scale: 1000` or less, or a lower `requests_per_unit`',
  );
  t.equal(fault('requests_per_unit: 9007199254740, scale: 1000'), '');
  t.match(
    fault('requests_per_unit: 5, algorithm: sliding_window, scale: 1000'),
    'only fixed windows have a `scale`: remove `algorithm: sliding_window`, or remove `scale` and write `requests_per_unit` in hits',
  );
  t.match(fault('requests_per_unit: 5, scale: 0'), '`scale` must be a whole number from 1 to 1000000000');
  t.match(fault('requests_per_unit: 5, scale: 1000000001'), '`scale` must be a whole number from 1');
});

t.test('an entry below that would match the entry of the holder is refused', async t => {
  const rule = (entry: string) =>
    entryFile(`key: k
holder: request_id
rate_limit: {unit: day, requests_per_unit: 1, ${RESERVE}}
descriptors: [{${entry}}]`);
  t.equal(
    refusal(rule('key: request_id, value: x')),
    'rules.yaml:5:17: d.k: the entry "request_id" cannot be both below this one and the `holder`: use another key for one of them',
  );
  const matches = (composite: string) =>
    `rules.yaml:5:17: d.k: the entry "${composite}" below this one would match the entry that names the holder, because ` +
    'keys and values are compared as one text: use another key for one of them';
  t.equal(refusal(rule('key: request, value: "id_*"')), matches('request_id_*'));
  t.match(refusal(rule('key: "*"')), matches('*'));
  t.equal(refusal(rule('key: request, value: "*"')), matches('request_*'));
  t.equal(refusal(rule('key: request')), '');
  t.match(
    refusal(rule('key: lease_action')),
    'cannot be both below this one and the entry that says what to do with a lease: use another key',
  );
  t.match(
    refusal(rule('key: lease, value: "action_settle"')),
    /such as "lease_action_settle": use another key/,
  );
  const warnings: string[] = [];
  const onWarning = (warning: Parameters<typeof describeRuleFault>[0]) =>
    warnings.push(describeRuleFault(warning));
  load(rule('key: request_id_x'), { mergeDomains: false, onWarning });
  t.match(warnings, [/"request_id_x" below this one would match the entry that names the holder/]);
});

t.test('the entry that says what to do with a lease is not the holder', async t => {
  t.match(
    faultsOf(`holder: lease_action\nrate_limit: {unit: day, requests_per_unit: 1, ${RESERVE}}`),
    'the entry `lease_action` says what to do with a lease: use another key for the `holder`',
  );
});

t.test('memcached has no leases', async t => {
  const fault = (lines: string) =>
    refusal(entryFile(`key: k\n${lines}`), { mergeDomains: false, forMemcached: true });
  const why = (field: string) =>
    `memcached cannot count \`${field}\`, because it cannot compare and add in one step: remove it, or set BACKEND_TYPE ` +
    'to `redis` or `memory`';
  t.match(
    fault(
      `holder: id\nrate_limits: [{unit: day, requests_per_unit: 1}, {unit: hour, requests_per_unit: 1, ${RESERVE}}]`,
    ),
    why('reserve'),
  );
  t.match(fault('holder: id\nrate_limit: {concurrency: {limit: 1, for: 1m}}'), why('concurrency'));
  t.equal(fault('rate_limit: {unit: day, requests_per_unit: 1, scale: 5}'), '');
});
