import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { repositoryRoot } from '../../support/repository.ts';
import { filesOnDisk, repositoryFiles } from './files.ts';
import { hygieneFaults } from './hygiene.ts';

t.test('files hold no machine paths, registry hosts, to-do marks or unexplained skips', async t => {
  const root = repositoryRoot();
  const files = repositoryFiles(root);
  t.ok(files.includes('package.json'), 'there are files to look at');
  const faults = files.flatMap(path => {
    const bytes = readFileSync(join(root, path));
    return bytes.includes(0) ? [] : hygieneFaults(path, bytes.toString('utf8'));
  });
  t.same(faults, [], 'no file holds what it must not');
});

t.test('without git the files are found as well, and nothing that was installed or built', async t => {
  const files = filesOnDisk(repositoryRoot());
  t.ok(files.includes('package.json'));
  t.ok(files.includes(join('test', 'unit', 'repository', 'hygiene.ts')));
  t.notOk(files.some(path => /^(node_modules|build|\.git)\b(?!ignore)/.test(path)));
});

// Assembled here, so that this file is clean itself.
const unclean: readonly (readonly [string, string])[] = [
  ['README.md', `see /${'home'}/somebody/sluice`],
  ['src/a.ts', `const path = '/${'work'}/main';`],
  ['package-lock.json', `"resolved": "${'https'}://host/package.tgz"`],
  ['.npmrc', `registry=https://${'registry'}.npmjs.org/`],
  ['src/a.ts', `// ${'TODO'} later`],
  ['src/a.ts', `call(); // ${'FIXME'}: wrong`],
  ['README.md', `<!-- ${'TODO'} -->`],
  ['test/unit/a.test.ts', `t.test('a', { ${'only'}: true }, async t => {});`],
  ['test/unit/a.test.ts', `t${'.only'}('a', async t => {});`],
  ['test/unit/a.test.ts', `t.test('a', { ${'skip'}: true }, async t => {});`],
  ['test/unit/a.test.ts', `t${'.todo'}();`],
];

t.test('each of these would be found', async t => {
  for (const [path, line] of unclean) {
    t.match(
      hygieneFaults(path, `first line\n${line}`),
      [new RegExp(`^${path}:2 holds `)],
      `${path}: ${line}`,
    );
  }
});

t.test('what only looks alike is left alone', async t => {
  for (const [path, line] of [
    ['README.md', 'curl http://localhost:8080/homework/1'],
    ['src/a.ts', "const homes = join(data, 'home/x');"],
    ['src/a.ts', 'const todo = hacks.XXXL; // what is to do next'],
    ['test/unit/a.test.ts', "t.test('a', { skip: 'needs IPv6' }, async t => {});"],
    ['src/a.ts', `values${'.only'}(1);`],
  ]) {
    t.same(hygieneFaults(path, line), [], line);
  }
});
