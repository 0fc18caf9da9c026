import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { writeRules } from '../../support/rule-files.ts';
import { type Teardown, tempDirectory } from '../../support/temp-directory.ts';
import { run, runIn } from './run.ts';

const SHOP = `domain: shop
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 5 }
    descriptors:
      - key: path
        value: /checkout
        rate_limit: { unlimited: true }
  - key: partner
    value: trusted
`;

const FAULTY = `domain: faulty
descriptors:
  - key: a
    rate_limit: { unit: minutes, requests_per_unit: 5 }
  - key: b
    rate_limit: { unit: hour, requests_per_unit: -1 }
`;

function rules(t: Teardown, files: Readonly<Record<string, string>>): string {
  return writeRules(tempDirectory(t), files);
}

t.test('good rules are summed up, and the directory may be given in every form', async t => {
  const directory = rules(t, { 'shop.yaml': SHOP, 'other.yml': 'domain: other\ndescriptors: []\n' });
  for (const args of [[directory], ['-config_dir', directory], [`--config-dir=${directory}`]]) {
    t.same(await run('check', ...args), {
      status: 0,
      stdout: 'no faults: 2 files, 2 domains, 2 rules, digest af0e67fdec06bea1\n',
      stderr: '',
    });
  }
});

t.test('every fault is printed with its place, then their count', async t => {
  const directory = rules(t, { 'faulty.yaml': FAULTY });
  const { status, stdout, stderr } = await run('check', directory);
  t.same({ status, stderr }, { status: 1, stderr: '' });
  const lines = stdout.split('\n');
  t.match(lines, [
    new RegExp(`^${join(directory, 'faulty.yaml')}:4:\\d+: .*minutes`),
    new RegExp(`^${join(directory, 'faulty.yaml')}:6:\\d+: .*-1`),
    /^2 faults: the service would not load these files$/,
    '',
  ]);
});

t.test('warnings are printed with their place, and the files still load', async t => {
  const text = 'domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: hour }\n';
  const directory = rules(t, { 'a.yaml': text });
  const place = join(directory, 'a.yaml');
  const { status, stdout } = await run('check', '-config_dir', directory);
  t.equal(status, 0);
  t.match(stdout.split('\n'), [
    new RegExp(`^${place}:4:17: d\\.a: warning: the limit has a .unit. and no .requests_per_unit.`),
    /^no faults, 1 warning: 1 file, 1 domain, 1 rule, digest [0-9a-f]{16}$/,
    '',
  ]);
  const json = JSON.parse((await run('check', '--json', directory)).stdout);
  t.match(json, { ok: true, warnings: [{ file: place, line: 4, column: 17, path: 'd.a' }] });
});

const LIMITS = `domain: shop
descriptors:
  - key: plain
    rate_limit: {window: 60s, requests_per_unit: 1}
  - key: path
    rate_limit: {window: 36h, requests_per_unit: 100}
    descriptors:
      - key: partner
        shadow_mode: true
        rate_limit: {unit: month, unit_multiplier: 2, requests_per_unit: 0}
  - key: user
    rate_limits:
      - {name: burst, unit: second, requests_per_unit: 10}
      - {window: 5m, requests_per_unit: 100, algorithm: token_bucket, burst: 20}
      - {window: 1h, requests_per_unit: 50, algorithm: sliding_window, quota_mode: true}
      - {calendar: {period: month, zone: Europe/Berlin, starts: 15}, requests_per_unit: 1000}
      - {name: day, calendar: {period: day, starts: 6}, requests_per_unit: 7}
  - key: login
    rate_limit: {unit: minute, requests_per_unit: 5, penalty: {after: 3, for: 2m, factor: 2, max: 1h}}
  - key: reset
    rate_limit: {window: 5m, requests_per_unit: 5, algorithm: sliding_window, penalty: {for: 90s}}
`;

t.test('limits that are not plain are explained in words', async t => {
  const directory = rules(t, { 'shop.yaml': LIMITS });
  t.match((await run('check', directory)).stdout.split('\n'), [
    'no faults: 1 file, 1 domain, 6 rules, digest 56bec36e8f7417e3',
    'shop.path: at most 100 in each window of 36 hours; they are counted from 1970-01-01 00:00 UTC, so they do not start at the same time each day',
    'shop.path.partner: every request is rejected; shadow mode, so it is counted and not enforced',
    'shop.user.burst: at most 10 in each second',
    'shop.user.5m: 100 per 5 minutes on average (one every 3s), bursts of at most 20, so at most 120 in any 5 minutes',
    'shop.user.1h: at most 50 in each hour, and about as many in any hour; quota mode',
    'shop.user.month: at most 1000 in each month from day 15, Europe/Berlin time',
    'shop.user.day: at most 7 in each day from 6:00, UTC time',
    'shop.login: at most 5 in each minute; a key with rejections in 3 windows is penalized for 2m, then each time 2 times as long, at most 1h',
    'shop.reset: at most 5 in each 5 minutes, and about as many in any 5 minutes; a key with a rejection is penalized for 90s',
    '',
  ]);
  const { limits } = JSON.parse((await run('check', '--json', directory)).stdout);
  t.equal(limits.length, 9);
  t.strictSame(limits[2], {
    rule: 'shop.user.burst',
    name: 'burst',
    window: '1s',
    algorithm: 'fixed_window',
    meaning: 'at most 10 in each second',
  });
});

t.test('what becomes of requests is explained in words', async t => {
  const directory = rules(t, {
    'a.yaml': `domain: shop
requests:
  client_address: {trusted_proxies: 2}
  token: {jwks_file: keys.json, issuer: https://id.example}
  on_failure: deny
  descriptors:
    - [{key: remote_address, client_address: true}]
    - [{key: method, method: true}, {key: route, path_segment: 1}, {key: all, value: all}]
    - [{key: user, claim: sub}, {key: plan, header: x-plan, default: free}]
descriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 1}}]
`,
  });
  const meaning = [
    'remote_address is the address of the client',
    'method is the method, route is segment 1 of the path, all is "all"',
    'user is the claim sub, plan is the header x-plan, or else "free"',
    'the address of the client is number 2 from the end of x-forwarded-for; the token in authorization is checked with ' +
      'keys.json, for issuer https://id.example; a request that cannot be decided is denied',
  ];
  const { stdout } = await run('check', directory);
  t.same(
    stdout.trim().split('\n').slice(1),
    meaning.map(line => `shop: requests: ${line}`),
  );
  t.strictSame(JSON.parse((await run('check', '--json', directory)).stdout).requests, [
    { domain: 'shop', meaning },
  ]);
});

t.test('limits per month are explained if their months are those of the calendar', async t => {
  const limit = '{unit: month, requests_per_unit: 5}';
  const directory = rules(t, { 'a.yaml': `domain: d\ndescriptors: [{key: k, rate_limit: ${limit}}]` });
  t.match((await run('check', directory)).stdout, /^no faults: 1 file, 1 domain, 1 rule, digest \w+\n$/);
  t.match(
    (await runIn({ USE_CALENDAR_MONTH_RATE_LIMIT: 'true' }, 'check', directory)).stdout,
    /, digest \w+\nd\.k: at most 5 in each month, UTC time\n$/,
  );
});

t.test('classes and a share after the limit are explained in hits', async t => {
  const classes = 'classes: {key: tier, critical: 100%, sheddable: 60%, default: 10%}';
  const directory = rules(t, {
    'a.yaml': `domain: d
descriptors:
  - key: model
    rate_limit: {unit: minute, requests_per_unit: 200, ${classes}}
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 60, algorithm: token_bucket, burst: 30, ${classes}}
  - key: path
    rate_limit: {unit: hour, requests_per_unit: 50, after_limit: {admit: 12.5%}}
`,
  });
  const { stdout } = await run('check', directory);
  t.match(
    stdout,
    'd.model: at most 200 in each minute; by tier: critical up to 200, sheddable up to 120, others up to 20\n',
  );
  t.match(
    stdout,
    /^d\.user: 60 per minute .*; by tier: critical up to 30, sheddable up to 18, others up to 3$/m,
  );
  t.match(stdout, 'd.path: at most 50 in each hour; of the hits beyond it, 12.5% pass\n');
});

t.test(
  'what proxies get of a limit is explained, also of a limit that is not explained without it',
  async t => {
    const directory = rules(t, {
      'a.yaml': `domain: d
descriptors:
  - {key: user, rate_limit: {unit: minute, requests_per_unit: 200}, quota: {share: 80%, for: 20s}}
  - {key: week, rate_limit: {unit: week, requests_per_unit: 9}, quota: {for: 5m}}
  - {key: plan, rate_limit: {window: 5m, requests_per_unit: 200}, quota: {share: 50%}, shadow_mode: true}
  - {key: usual, rate_limit: {unit: minute, requests_per_unit: 200}, quota: {}}
`,
    });
    const [, ...limits] = (await run('check', directory)).stdout.trim().split('\n');
    t.strictSame(limits, [
      'd.user: at most 200 in each minute; proxies get at most 80% of it, for 20s each time',
      'd.week: at most 9 in each week; proxies get at most 100% of it, for 5m each time',
      'd.plan: at most 200 in each window of 5 minutes; proxies get at most 50% of it, for 10s each time; shadow mode, so ' +
        'it is counted and not enforced',
    ]);
    const { limits: explained } = JSON.parse((await run('check', directory, '--json')).stdout);
    t.match(explained, [
      { rule: 'd.user', window: '1m', algorithm: 'fixed_window' },
      { rule: 'd.week', window: '1w', algorithm: 'fixed_window' },
      { rule: 'd.plan', window: '5m' },
    ]);
  },
);

t.test('leases are explained with what each call of a holder does', async t => {
  const directory = rules(t, {
    'a.yaml': `domain: ai
descriptors:
  - key: user
    holder: request_id
    rate_limits:
      - {unit: minute, requests_per_unit: 60}
      - {unit: day, requests_per_unit: 20000, reserve: {for: 10m, estimate: 500}}
      - calendar: {period: month}
        requests_per_unit: 50
        scale: 1000000
        reserve: {for: 10m, overdraft: allow}
      - concurrency: {limit: 5, for: 10m}
  - key: team
    rate_limit: {unit: day, requests_per_unit: 9, reserve: {for: 1h, zero_hits: ~, estimate: 3}}
  - key: job
    holder: id
    rate_limits:
      - concurrency: {limit: 3, for: 10m}
`,
  });
  const { stdout } = await run('check', directory);
  const calls =
    'the first call of each request_id holds its hits for 10m, a later one settles them, and one without hits extends ' +
    'the time; a first call without hits holds 500';
  for (const line of [
    'ai.user.1m: at most 60 in each minute; of each request_id, only the first call in 10m counts',
    `ai.user.1d: at most 20000 in each day; ${calls}`,
    `ai.user.month: at most 50 in each month, UTC time; each one is worth 1000000 hits; ${calls}; hits beyond those that were held take no room`,
    'ai.user.concurrency: at most 5 at the same time; each request_id holds one until it is settled, or for 10m',
    'ai.team: at most 9 in each day; each call without hits holds 3 for 1h, until the next call with hits settles them',
    'ai.job.concurrency: at most 3 at the same time; each id holds one until it is released, or for 10m',
  ])
    t.match(stdout, `${line}\n`);
});

t.test('of very many such limits, the text explains the first ones', async t => {
  const entries = Array.from(
    { length: 102 },
    (_, i) => `  - {key: k${i}, rate_limit: {window: 5m, requests_per_unit: 1}}\n`,
  );
  const directory = rules(t, { 'a.yaml': `domain: d\ndescriptors:\n${entries.join('')}` });
  t.match(
    (await run('check', directory)).stdout,
    /\nd\.k99: .*\n2 more limits; --json explains all of them\n$/,
  );
});

t.test('rules that memcached cannot count are faults if the service would count there', async t => {
  const directory = rules(t, { 'shop.yaml': LIMITS });
  for (const env of [{ BACKEND_TYPE: 'memcache' }, { ALTCACHE_HOST_PORT: 'localhost:11211' }]) {
    const { status, stdout } = await runIn(
      { ALTCACHE_HOST_PORT: 'localhost:11211', ...env },
      'check',
      directory,
    );
    t.equal(status, 1);
    t.match(stdout, /shop\.yaml:14:\d+: shop\.user: memcached cannot count `algorithm: token_bucket`/);
    t.match(stdout, /shop\.yaml:19:\d+: shop\.login: memcached cannot keep a `penalty`/);
    t.match(stdout, /\n5 faults: the service would not load these files\n$/);
  }
  t.match(await runIn({ BACKEND_TYPE: 'memory', ALTCACHE_HOST_PORT: 'a:1' }, 'check', directory), {
    status: 0,
  });
  t.match(
    await runIn({ PORT: 'not a port' }, 'check', directory),
    { status: 0 },
    'other settings do not matter',
  );
});

t.test('a list of faults that was cut off says so', async t => {
  const entry = '  - key: a\n    rate_limit: { unit: minutes, requests_per_unit: 5 }\n';
  const directory = rules(t, { 'faulty.yaml': `domain: d\ndescriptors:\n${entry.repeat(30)}` });
  const { stdout } = await run('check', directory);
  t.match(stdout, /\n20 or more faults: the service would not load these files\n$/);
});

t.test('one domain in two files is a fault, unless domains are to be merged', async t => {
  const twin =
    'domain: shop\ndescriptors:\n  - key: extra\n    rate_limit: { unit: day, requests_per_unit: 1 }\n';
  const directory = rules(t, { 'a.yaml': SHOP, 'b.yaml': twin });
  t.match(await run('check', directory), {
    status: 1,
    stdout: /b\.yaml.*shop.*\n1 fault: the service would/,
  });
  for (const flag of ['--merge-domain-configs', '-merge_domain_configs', '-merge_domain_configs=true']) {
    t.match(await run('check', directory, flag), {
      status: 0,
      stdout: 'no faults: 2 files, 1 domain, 3 rules, digest 6003a3be96ae40f3\n',
    });
  }
});

t.test('what is no rule file is listed and does not count', async t => {
  const directory = rules(t, { 'shop.yaml': SHOP, 'notes.txt': 'not: [yaml', 'sub/deep.yaml': FAULTY });
  t.match(await run('check', directory), {
    status: 0,
    stdout: /^no faults: 1 file, .*\nnot read, as not \*\.yaml or \*\.yml: notes\.txt, sub\n$/,
  });
});

t.test('files with a leading dot count unless they are to be ignored', async t => {
  const directory = rules(t, { 'shop.yaml': SHOP, '.draft.yaml': FAULTY });
  t.match(await run('check', directory), { status: 1 });
  t.match(await run('check', directory, '--ignore-dot-files'), { status: 0 });
});

t.test('a directory without rule files passes, but not in silence', async t => {
  const directory = rules(t, {});
  t.match(await run('check', directory), {
    status: 0,
    stdout: `no faults: 0 files, 0 domains, 0 rules, digest e3b0c44298fc1c14\nno *.yaml or *.yml file in ${directory}: every request would be allowed\n`,
  });
});

t.test('--json says the same to programs', async t => {
  const good = rules(t, { 'shop.yaml': SHOP, 'notes.txt': '' });
  t.same(JSON.parse((await run('check', good, '--json')).stdout), {
    ok: true,
    files: [join(good, 'shop.yaml')],
    ignored: ['notes.txt'],
    dangling: [],
    warnings: [],
    digest: '03072cd85b3d9674564bc352d90ca88f346f3244b3aff486de33793f8e8ce48b',
    domains: [{ name: 'shop', rules: 2 }],
    limits: [],
    conditions: [],
    requests: [],
  });
  const bad = rules(t, { 'faulty.yaml': FAULTY });
  const { status, stdout } = await run('check', '--json', bad);
  t.equal(status, 1);
  t.match(JSON.parse(stdout), {
    ok: false,
    files: [join(bad, 'faulty.yaml')],
    ignored: [],
    faults: [
      { file: join(bad, 'faulty.yaml'), line: 4, column: Number, path: String, message: /minutes/ },
      { line: 6 },
    ],
  });
});

t.test('--digest prints nothing else, so that a script can take it', async t => {
  const digest = '03072cd85b3d9674564bc352d90ca88f346f3244b3aff486de33793f8e8ce48b\n';
  const one = rules(t, { 'shop.yaml': SHOP, 'notes.txt': '' });
  const other = rules(t, { 'other.yml': `# The same rules.\n${SHOP}` });
  for (const directory of [one, other])
    t.same(await run('check', directory, '--digest'), { status: 0, stdout: digest, stderr: '' });
  t.match(await run('check', rules(t, { 'faulty.yaml': FAULTY }), '--digest'), {
    status: 1,
    stdout: '',
    stderr: /minutes.*2 faults: the service would not load these files\n$/s,
  });
});

t.test('--applied wants a digest, and a wait wants --applied', async t => {
  const directory = rules(t, { 'shop.yaml': SHOP });
  for (const [args, stderr] of [
    [
      ['--applied', 'shop.yaml'],
      /--applied=shop\.yaml: not a digest\. Write at least 12 of the 64 hex digits/,
    ],
    [['--applied', '03072cd85b3'], /not a digest/],
    [
      ['--applied', '03072cd85b3d', directory],
      /unexpected argument ".*"\. --applied asks about a digest, not about/,
    ],
    [['--applied', '03072cd85b3d', '--overlay', 'o'], /unexpected argument "o"\. --applied asks about/],
    [['--applied', '03072cd85b3d', '--xds-dump', 'x.yaml'], /unexpected argument "x\.yaml"/],
    [['--applied', '03072cd85b3d', '--config-dir', 'c'], /unexpected argument "c"/],
    [['--applied', '03072cd85b3d', '--wait', 'long'], /--wait=long/],
    [['--applied', '03072cd85b3d', '--instances', '0'], /--instances=0/],
    [[directory, '--wait', '60s'], /--wait and --instances are only for --applied DIGEST/],
  ] as const)
    t.match(await run('check', ...args), { status: 2, stdout: '', stderr });
});

t.test('a directory or file that cannot be read fails with the reason', async t => {
  const directory = tempDirectory(t);
  const missing = join(directory, 'none');
  t.match(await run('check', missing), {
    status: 2,
    stdout: '',
    stderr: `sluice check: rule directory '${missing}' does not exist`,
  });
  mkdirSync(join(directory, 'folder.yaml'));
  t.match(await run('check', directory), { status: 2, stdout: '', stderr: /folder\.yaml' is a directory/ });
});

t.test('one file is checked without its neighbors', async t => {
  const directory = tempDirectory(t);
  const file = join(directory, 'one.yaml');
  writeFileSync(
    file,
    'domain: one\ndescriptors:\n  - key: user\n    rate_limit: {unit: day, requests_per_unit: 1}\n',
  );
  writeFileSync(join(directory, 'faulty.yaml'), 'domain: [');
  t.match(await run('check', file), { status: 0, stdout: /^no faults: 1 file, 1 domain, 1 rule, / });
  t.match(await run('check', file, '--json'), { status: 0, stdout: new RegExp(`"files":\\["${file}"\\]`) });
  t.match(await run('check', directory), { status: 1 });
});

t.test('exactly one directory or file is asked for', async t => {
  t.match(await run('check'), {
    status: 2,
    stderr: /missing argument: the directory or file to check\.\nSee "sluice check --help"/,
  });
  t.match(await run('check', 'a', '-config_dir', 'b'), {
    status: 2,
    stderr: /too many arguments: b, a\./,
  });
});
