import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { repositoryRoot } from '../../support/repository.ts';
import { circleFaults, importFaults, importPicture, packageFaults } from './import-order.ts';

const root = repositoryRoot();
const sources = new Map(
  ['src', 'workers', 'pages'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(file => /\.tsx?$/.test(file))
      .map(file => `${folder}/${file.replaceAll('\\', '/')}`)
      .map(path => [path, readFileSync(join(root, path), 'utf8')] as const),
  ),
);

t.test('src, workers and pages import only what stands below them', async t => {
  t.ok(sources.size > 0, 'there are sources to look at');
  const faults = importFaults(sources);
  t.same(faults, [], 'every import follows the picture', { picture: importPicture() });
});

t.test('no files import each other in a circle, also inside a folder', async t => {
  t.same(circleFaults(sources), []);
});

t.test('a circle of files is named in the order of its imports', async t => {
  const circle = new Map([
    ['src/rules/a.ts', "import { b } from './b.ts';"],
    ['src/rules/b.ts', "import type { C } from './c.ts';"],
    ['src/rules/c.ts', "import { b } from './b.ts';\nimport { d } from './d.ts';"],
    ['src/rules/d.ts', ''],
  ]);
  t.same(circleFaults(circle), ['src/rules/b.ts imports src/rules/c.ts imports src/rules/b.ts: a circle']);
});

t.test('src, workers and pages import only packages that a user gets', async t => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  t.same(packageFaults(sources, new Set(Object.keys(dependencies))), []);
});

/** The faults of a tree with one file whose text is given. */
function faultsOf(path: string, text: string): string[] {
  return importFaults(new Map([[path, text]]));
}

t.test('an import from a lower folder to a higher one is a fault', async t => {
  t.same(faultsOf('src/base/clock.ts', "import { load } from '../rules/load.ts';"), [
    'src/base/clock.ts imports src/rules/load.ts: base stands below rules',
  ]);
  t.same(faultsOf('src/app/serve.ts', "import type { Flag } from '../cli/flags.ts';"), [
    'src/app/serve.ts imports src/cli/flags.ts: app stands below cli',
  ]);
  t.same(faultsOf('src/transports/http/a.ts', "import '../../../workers/decide.ts';"), [
    'src/transports/http/a.ts imports workers/decide.ts: transports stands below workers',
  ]);
});

t.test('an import that spans lines, one for its effect, a re-export and a dynamic one all count', async t => {
  for (const text of [
    "import {\n  a,\n  type B,\n} from '../app/a.ts';",
    "import '../app/a.ts';",
    "export { a } from '../app/a.ts';",
    "export * from '../app/a.ts';",
    "const a = await import('../app/a.ts');",
  ]) {
    t.same(
      faultsOf('src/base/b.ts', text),
      ['src/base/b.ts imports src/app/a.ts: base stands below app'],
      text,
    );
  }
});

t.test('neighbours do not import each other', async t => {
  t.same(faultsOf('src/rules/a.ts', "import { b } from '../counters/b.ts';"), [
    'src/rules/a.ts imports src/counters/b.ts: rules and counters are neighbours',
  ]);
  t.same(faultsOf('src/transports/grpc/a.ts', "import { b } from '../http/b.ts';"), [
    'src/transports/grpc/a.ts imports src/transports/http/b.ts: grpc and http are neighbours',
  ]);
});

t.test('the parts of a folder stand above its own files', async t => {
  t.same(faultsOf('src/rules/parse/a.ts', "import { b } from '../b.ts';"), []);
  t.same(faultsOf('src/rules/b.ts', "import { a } from './parse/a.ts';"), [
    'src/rules/b.ts imports src/rules/parse/a.ts: (files) stands below parse',
  ]);
});

t.test('only app and cli read settings', async t => {
  const text = "import { settings } from '../settings/parse.ts';";
  t.same(faultsOf('src/app/a.ts', text), []);
  t.same(faultsOf('src/cli/a.ts', text), []);
  t.same(faultsOf('src/decision/a.ts', text), [
    'src/decision/a.ts imports src/settings/parse.ts: decision does not read settings; pass it the values',
  ]);
});

t.test('nothing imports test or bench', async t => {
  for (const target of ['test/support/a.ts', 'bench/path/a.ts']) {
    t.same(faultsOf('src/app/a.ts', `import { a } from '../../${target}';`), [
      `src/app/a.ts imports ${target}: test and bench use the program, not the other way round`,
    ]);
  }
});

t.test('pages share no code with the service', async t => {
  t.same(faultsOf('pages/live/api.ts', "import type { A } from '../../src/base/json.ts';"), [
    'pages/live/api.ts imports src/base/json.ts: pages run in browsers and share no code with the service',
  ]);
  t.same(faultsOf('pages/design/a.tsx', "import { b } from '../live/b.ts';"), [
    'pages/design/a.tsx imports pages/live/b.ts: design stands below live',
  ]);
  t.same(faultsOf('src/base/a.ts', "import { b } from '../../pages/design/format.ts';"), [
    'src/base/a.ts imports pages/design/format.ts: base stands below pages',
  ]);
});

t.test('a folder that the picture does not show is a fault', async t => {
  t.same(faultsOf('src/utils/a.ts', ''), ['src/utils/a.ts is in a folder without a place in the picture']);
  t.same(faultsOf('src/a.ts', ''), ['src/a.ts is in a folder without a place in the picture']);
  t.same(faultsOf('src/counters/cassandra/a.ts', "import { b } from '../b.ts';"), [
    'src/counters/cassandra/a.ts imports src/counters/b.ts: cassandra has no place in the picture',
  ]);
});

t.test('packages, lower folders and the own folder are free to import', async t => {
  const text =
    "import { z } from 'node:zlib';\nimport { a } from '../base/a.ts';\nimport { b } from './b.ts';";
  t.same(faultsOf('src/decision/a.ts', text), []);
});

t.test('a package that only development has is a fault', async t => {
  const text = [
    "import { a } from '@scope/listed/part';",
    "import { b } from 'node:fs';",
    "import { c } from '@scope/other/part';",
    "import type { D } from 'loose/part';",
  ].join('\n');
  t.same(packageFaults(new Map([['src/app/a.ts', text]]), new Set(['@scope/listed'])), [
    'src/app/a.ts imports @scope/other, which is not in "dependencies" of package.json',
    'src/app/a.ts imports loose, which is not in "dependencies" of package.json',
  ]);
});
