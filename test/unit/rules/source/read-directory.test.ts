import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import t, { type Test } from 'tap';
import {
  isRuleFileName,
  MAX_READ_ATTEMPTS,
  RULE_DIRECTORY_LIMITS,
  type RuleDirectoryContent,
  readRuleDirectory,
} from '../../../../src/rules/source/read-directory.ts';
import { wrapBuiltin } from '../../../support/wrapped-builtin.ts';

const ALL = { ignoreDotFiles: false };
const NO_DOTS = { ignoreDotFiles: true };

/** What was read, by file name. */
function texts({ files }: RuleDirectoryContent): Record<string, string> {
  return Object.fromEntries(files.map(file => [basename(file.name), Buffer.from(file.content).toString()]));
}

/** Runs `run` just before each opening of a file of this name, with the number of openings so far. */
function beforeOpening(t: Test, name: string, run: (times: number) => void): void {
  let times = 0;
  wrapBuiltin(t, promises, 'open', open => async (...args) => {
    if (basename(String(args[0])) === name) run(++times);
    return open(...args);
  });
}

/** A volume as Kubernetes mounts it: dated directories, `..data` leading to one, files leading through `..data`. */
function mountedVolume(t: Test): { directory: string; publish: (generation: string) => void } {
  const directory = t.testdir({});
  const publish = (generation: string) => {
    const dated = join(directory, `..${generation}`);
    mkdirSync(dated);
    for (const name of ['a.yaml', 'b.yaml']) writeFileSync(join(dated, name), generation);
    symlinkSync(`..${generation}`, join(directory, '..data_tmp'));
    renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
  };
  publish('first');
  for (const name of ['a.yaml', 'b.yaml']) symlinkSync(join('..data', name), join(directory, name));
  return { directory, publish };
}

t.test('reads *.yaml and *.yml directly in the directory and lists the rest as ignored', async t => {
  const directory = t.testdir({
    'b.yml': 'two',
    'a.yaml': 'one',
    'README.md': '',
    'a.yaml.bak': '',
    sub: { 'c.yaml': 'not read' },
  });
  const content = await readRuleDirectory(directory, ALL);
  t.strictSame(texts(content), { 'a.yaml': 'one', 'b.yml': 'two' });
  t.strictSame(content.ignored, ['README.md', 'a.yaml.bak', 'sub']);
});

t.test('names files so that a terminal can open them', async t => {
  const directory = t.testdir({ 'a.yaml': '' });
  const absolute = await readRuleDirectory(`${directory}/`, ALL);
  t.equal(absolute.files[0].name, join(directory, 'a.yaml'));
  const here = relative(process.cwd(), directory);
  const fromHere = await readRuleDirectory(`./${here}`, ALL);
  t.equal(fromHere.files[0].name, join(here, 'a.yaml'));
});

t.test('sorts files by the bytes of their names', async t => {
  const names = ['B.yaml', 'a.yml', 'b.yaml', 'é.yaml', '\uE000.yaml', '\u{10000}.yaml'];
  const directory = t.testdir(Object.fromEntries(names.toReversed().map(name => [name, ''])));
  t.strictSame(Object.keys(texts(await readRuleDirectory(directory, ALL))), names);
});

t.test('reads dot files unless they are ignored, and then does not mention them', async t => {
  const directory = t.testdir({ '.hidden.yaml': 'hidden', '.a.yaml.swp': '', 'a.yaml': 'open' });
  const all = await readRuleDirectory(directory, ALL);
  t.strictSame(texts(all), { '.hidden.yaml': 'hidden', 'a.yaml': 'open' });
  t.strictSame(all.ignored, ['.a.yaml.swp']);
  const visible = await readRuleDirectory(directory, NO_DOTS);
  t.strictSame(texts(visible), { 'a.yaml': 'open' });
  t.strictSame(visible.ignored, []);
});

t.test('reads each file of a Kubernetes volume once, with and without dot files', async t => {
  const { directory } = mountedVolume(t);
  for (const options of [ALL, NO_DOTS]) {
    t.strictSame(texts(await readRuleDirectory(directory, options)), {
      'a.yaml': 'first',
      'b.yaml': 'first',
    });
  }
});

t.test('follows a link to the directory and links to files', async t => {
  const base = t.testdir({
    real: { 'a.yaml': t.fixture('symlink', '../elsewhere.txt') },
    'elsewhere.txt': 'linked',
    link: t.fixture('symlink', 'real'),
  });
  t.strictSame(texts(await readRuleDirectory(join(base, 'link'), ALL)), { 'a.yaml': 'linked' });
});

t.test('hands on an empty set for an empty directory', async t => {
  t.strictSame(await readRuleDirectory(t.testdir({}), ALL), {
    files: [],
    hasValueFiles: false,
    ignored: [],
    dangling: [],
  });
});

t.test('reads one generation when ..data is swapped midway', async t => {
  const { directory, publish } = mountedVolume(t);
  beforeOpening(t, 'b.yaml', times => {
    if (times === 1) publish('second');
  });
  t.strictSame(texts(await readRuleDirectory(directory, ALL)), { 'a.yaml': 'second', 'b.yaml': 'second' });
});

for (const isRemoved of [true, false]) {
  const end = isRemoved ? 'and the old one is removed midway' : 'midway and the old one stays';
  t.test(`reads one generation when a link is swapped ${end}`, async t => {
    const base = t.testdir({
      first: { 'a.yaml': 'first', 'b.yaml': 'first' },
      second: { 'a.yaml': 'second', 'c.yaml': 'second' },
      current: t.fixture('symlink', 'first'),
    });
    beforeOpening(t, 'b.yaml', () => {
      symlinkSync('second', join(base, 'next'));
      renameSync(join(base, 'next'), join(base, 'current'));
      if (isRemoved) rmSync(join(base, 'first'), { recursive: true });
    });
    const content = await readRuleDirectory(join(base, 'current'), ALL);
    const expected = isRemoved
      ? { 'a.yaml': 'second', 'c.yaml': 'second' }
      : { 'a.yaml': 'first', 'b.yaml': 'first' };
    t.strictSame(texts(content), expected);
  });
}

t.test('reads again when the directory is replaced just before it is listed', async t => {
  const base = t.testdir({
    first: { 'a.yaml': 'first' },
    second: { 'a.yaml': 'second' },
    current: t.fixture('symlink', 'first'),
  });
  wrapBuiltin(t, promises, 'opendir', opendir => async (...args) => {
    if (String(args[0]).endsWith('first')) {
      rmSync(join(base, 'first'), { recursive: true });
      rmSync(join(base, 'current'));
      symlinkSync('second', join(base, 'current'));
    }
    return opendir(...args);
  });
  const content = await readRuleDirectory(join(base, 'current'), ALL);
  t.strictSame(texts(content), { 'a.yaml': 'second' });
});

t.test('reads again when a listed file is gone', async t => {
  const directory = t.testdir({ 'a.yaml': 'a', 'b.yaml': 'b' });
  beforeOpening(t, 'b.yaml', () => rmSync(join(directory, 'b.yaml')));
  t.strictSame(texts(await readRuleDirectory(directory, ALL)), { 'a.yaml': 'a' });
});

t.test('reads again when a file grows while it is read', async t => {
  const directory = t.testdir({ 'a.yaml': 'a' });
  let statted = 0;
  wrapBuiltin(t, promises, 'open', open => async (...args) => {
    const handle = await open(...args);
    const stat = handle.stat.bind(handle);
    handle.stat = (async (...options: []) => {
      const stats = await stat(...options);
      if (++statted === 1) writeFileSync(join(directory, 'a.yaml'), 'longer');
      return stats;
    }) as typeof handle.stat;
    return handle;
  });
  t.strictSame(texts(await readRuleDirectory(directory, ALL)), { 'a.yaml': 'longer' });
});

t.test('gives up on a directory that is swapped during every read', async t => {
  const { directory, publish } = mountedVolume(t);
  let openings = 0;
  beforeOpening(t, 'b.yaml', times => {
    openings = times;
    publish(`swap${times}`);
  });
  await t.rejects(readRuleDirectory(directory, ALL), {
    name: 'RuleSourceFault',
    problem: 'unsettled',
    message: `'${join(directory, '..data')}' was swapped during each of 5 reads of the rule files; publish less often`,
  });
  t.equal(openings, MAX_READ_ATTEMPTS);
});

t.test('refuses a directory that is missing or is a file, and says what to do', async t => {
  const base = t.testdir({ file: '' });
  const missing = join(base, 'missing');
  await t.rejects(readRuleDirectory(missing, ALL), {
    name: 'RuleSourceFault',
    problem: 'directory',
    message: `rule directory '${missing}' does not exist; create it and put the rule files (*.yaml) there`,
  });
  const file = join(base, 'file');
  await t.rejects(readRuleDirectory(file, ALL), {
    problem: 'directory',
    message: `rule directory '${file}' is not a directory; put the rule files (*.yaml) into a directory`,
  });
});

t.test('refuses a directory that cannot be resolved', async t => {
  const base = t.testdir({ loop: t.fixture('symlink', 'loop') });
  await t.rejects(readRuleDirectory(join(base, 'loop'), ALL), {
    problem: 'directory',
    message: /cannot be read \(ELOOP\); let the user of this process read it$/,
  });
});

t.test('refuses directories, pipes and links to themselves under the name of a rule file', async t => {
  const directory = t.testdir({ 'x.yaml': {} });
  const path = join(directory, 'x.yaml');
  await t.rejects(readRuleDirectory(directory, ALL), {
    problem: 'file',
    message: `'${path}' is a directory, but has the name of a rule file; rename it or move it elsewhere`,
  });
  rmSync(path, { recursive: true });
  execFileSync('mkfifo', [path]);
  await t.rejects(readRuleDirectory(directory, ALL), { problem: 'file', message: /is not a regular file/ });
  rmSync(path);
  symlinkSync('x.yaml', path);
  await t.rejects(readRuleDirectory(directory, ALL), {
    problem: 'file',
    message: `rule file '${path}' cannot be read (ELOOP); let the user of this process read it, or move it elsewhere`,
  });
});

t.test('skips links to nothing, such as the locks of editors, but not if there is nothing else', async t => {
  const lock = t.fixture('symlink', 'ann@host.4711:1795423140');
  const directory = t.testdir({
    'a.yaml': 'a',
    '.#a.yaml': lock,
    'b.yaml': t.fixture('symlink', 'gone/dir'),
  });
  const content = await readRuleDirectory(directory, ALL);
  t.strictSame(texts(content), { 'a.yaml': 'a' });
  t.strictSame(content.dangling, ['.#a.yaml', 'b.yaml']);
  t.strictSame((await readRuleDirectory(directory, NO_DOTS)).dangling, ['b.yaml']);
  rmSync(join(directory, 'a.yaml'));
  const path = join(directory, 'b.yaml');
  await t.rejects(readRuleDirectory(directory, ALL), {
    problem: 'dangling',
    message: `rule file '${path}' is a link to 'gone/dir', which does not exist; fix or remove the link`,
  });
});

t.test('reads again when a link leads nowhere for a moment', async t => {
  const directory = t.testdir({ 'a.yaml': 'a', 'b.yaml': t.fixture('symlink', 'b.txt') });
  beforeOpening(t, 'b.yaml', times => {
    if (times === 2) writeFileSync(join(directory, 'b.txt'), 'b');
  });
  t.strictSame(texts(await readRuleDirectory(directory, ALL)), { 'a.yaml': 'a', 'b.yaml': 'b' });
});

t.test('refuses a file above 64 MiB without reading it', async t => {
  const directory = t.testdir({ 'big.yaml': '' });
  const path = join(directory, 'big.yaml');
  truncateSync(path, RULE_DIRECTORY_LIMITS.bytesPerFile + 1);
  await t.rejects(readRuleDirectory(directory, ALL), {
    problem: 'bound',
    message: `rule file '${path}' is larger than 67108864 bytes; split it, or remove rules`,
  });
});

t.test('takes as much as the bounds allow and no more', async t => {
  const directory = t.testdir({ 'a.yaml': '123', 'b.yaml': '456', note: '' });
  const exact = { entries: 3, files: 2, bytesPerFile: 3, bytes: 6 };
  t.equal((await readRuleDirectory(directory, ALL, exact)).files.length, 2);
  const less = (bound: Partial<typeof exact>) => readRuleDirectory(directory, ALL, { ...exact, ...bound });
  await t.rejects(less({ entries: 2 }), { problem: 'bound', message: /holds more than 2 entries; put more/ });
  await t.rejects(less({ files: 1 }), {
    problem: 'bound',
    message: /holds more than 1 rule files; put more/,
  });
  await t.rejects(less({ bytesPerFile: 2 }), {
    problem: 'bound',
    message: /a\.yaml' is larger than 2 bytes/,
  });
  await t.rejects(less({ bytes: 5 }), {
    problem: 'bound',
    message: /up to '.*b\.yaml' have more than 5 bytes/,
  });
  t.match(RULE_DIRECTORY_LIMITS, { files: 10_000, bytesPerFile: 2 ** 26, bytes: 2 ** 28 });
});

t.test('tells rule files by their names', async t => {
  for (const name of ['a.yaml', 'a.yml', 'a.b.yaml']) t.ok(isRuleFileName(name, NO_DOTS), name);
  for (const name of ['a.YAML', 'yaml', 'a.yaml~', '.a.yaml.swp', '..data'])
    t.notOk(isRuleFileName(name, ALL), name);
  t.ok(isRuleFileName('.a.yaml', ALL));
  t.notOk(isRuleFileName('.a.yaml', NO_DOTS));
});
