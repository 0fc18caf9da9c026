import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { repositoryRoot } from '../../support/repository.ts';

const module = pathToFileURL(join(repositoryRoot(), 'ops/launch/test-plan.mjs')).href;
const { ALONE, AT_LENGTH, allTests, EVERY_TIME, everydayTests, planOf } = await import(module);

const files: string[] = allTests();
const groups: ReadonlyMap<string, readonly string[]> = planOf(files);

t.test('every test file is in one group', async t => {
  t.same([...groups.values()].flat().sort(), files);
});

t.test('npm test leaves out what takes long, and each of the names is one of a test', async t => {
  const everyday: string[] = everydayTests();
  for (const name of AT_LENGTH) {
    t.ok(anyIn(files, name), name);
    t.notOk(anyIn(everyday, name), name);
  }
  t.ok(everyday.length > files.length * 0.85, 'few files take long');
});

t.test('npm test keeps the tests of promises that it must show every time', async t => {
  for (const name of EVERY_TIME) t.ok(anyIn(everydayTests(), name), name);
});

function isAlone(file: string): boolean {
  return ALONE.some((name: string) => file.startsWith(`build/test/${name}`));
}

function anyIn(names: readonly string[], beginning: string): boolean {
  return names.some(name => name.startsWith(`build/test/${beginning}`));
}

t.test('groups are in the order of their names, in which tap runs them', async t => {
  const names = [...groups.keys()];
  t.same(
    names,
    names.toSorted((a, b) => a.localeCompare(b, 'en')),
  );
});

t.test('tests that run alone come first, and each of these names is one of a test', async t => {
  const sizes = [...groups.values()].map(group => (group.some(isAlone) ? group.length : 0));
  const alone = files.filter(isAlone);
  t.same(
    sizes,
    sizes.map((_, at) => (at < alone.length ? 1 : 0)),
  );
  for (const name of ALONE) t.ok(anyIn(files, name), name);
});

t.test('tests that let threads die or hang run alone', async t => {
  const dying = files.filter(file =>
    /from '.*\/support\/threads\/deaths\.js'/.test(readFileSync(join(repositoryRoot(), file), 'utf8')),
  );
  t.ok(dying.length > 0);
  for (const file of dying) t.ok(isAlone(file), file);
});
