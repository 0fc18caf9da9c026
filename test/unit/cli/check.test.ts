import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { writeRules } from '../../support/rule-files.ts';
import { type Teardown, tempDirectory } from '../../support/temp-directory.ts';
import { run } from './run.ts';

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
      stdout: 'no faults: 2 files, 2 domains, 2 rules\n',
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
    /^no faults, 1 warning: 1 file, 1 domain, 1 rule$/,
    '',
  ]);
  const json = JSON.parse((await run('check', '--json', directory)).stdout);
  t.match(json, { ok: true, warnings: [{ file: place, line: 4, column: 17, path: 'd.a' }] });
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
      stdout: 'no faults: 2 files, 1 domain, 3 rules\n',
    });
  }
});

t.test('what is no rule file is listed and does not count', async t => {
  const directory = rules(t, { 'shop.yaml': SHOP, 'notes.txt': 'not: [yaml', 'sub/deep.yaml': FAULTY });
  t.match(await run('check', directory), {
    status: 0,
    stdout: 'no faults: 1 file, 1 domain, 2 rules\nnot read, as not *.yaml or *.yml: notes.txt, sub\n',
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
    stdout: `no faults: 0 files, 0 domains, 0 rules\nno *.yaml or *.yml file in ${directory}: every request would be allowed\n`,
  });
});

t.test('--json says the same to programs', async t => {
  const good = rules(t, { 'shop.yaml': SHOP, 'notes.txt': '' });
  t.same(JSON.parse((await run('check', good, '--json')).stdout), {
    ok: true,
    files: [join(good, 'shop.yaml')],
    ignored: ['notes.txt'],
    warnings: [],
    domains: [{ name: 'shop', rules: 2 }],
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
  t.match(await run('check', file), { status: 0, stdout: 'no faults: 1 file, 1 domain, 1 rule\n' });
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
