import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { Child } from '../../support/child-process.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { tempDirectory } from '../../support/temp-directory.ts';

/** A repository with the launcher and the settings of the compiler of this one, and next to no sources. */
function smallRepository(t: Test) {
  const root = tempDirectory(t);
  for (const name of [
    'ops/launch',
    'tsconfig.json',
    'tsconfig.build.json',
    'pages/tsconfig.json',
    'clients/typescript/tsconfig.json',
    'clients/limit/tsconfig.json',
    'package.json',
  ])
    cpSync(join(repositoryRoot(), name), join(root, name), { recursive: true });
  symlinkSync(join(repositoryRoot(), 'node_modules'), join(root, 'node_modules'));
  const write = (files: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text);
    }
  };
  write({
    'package-lock.json': '{}',
    'src/cli/main.ts': 'export const main: number = 1;\n',
    'workers/work.ts': 'export const work: number = 1;\n',
    'pages/live/main.tsx': "export const view = <p>{document.title}</p>;\nimport './part.ts';\n",
    'pages/live/part.ts': 'export const part: number = 1;\n',
    'clients/typescript/src/index.ts': 'export const client: number = 1;\n',
    'clients/limit/src/index.ts': 'export const limit: number = 1;\n',
    'test/some.test.ts': 'export const tested: number = 1;\n',
  });
  /** What `npm start` does about the sources, or `npm test`; gives the exit status and the output. */
  const build = async (what: 'serving' | 'tests') => {
    const script = `import { buildSources } from './ops/launch/build.mjs'; await buildSources('${what}');`;
    const child = new Child({
      // The test runner puts a loader into NODE_OPTIONS of every child, which the compiler does not start with.
      command: '/usr/bin/env',
      args: ['-u', 'NODE_OPTIONS', process.execPath, '--input-type=module', '--eval', script],
      cwd: root,
      env: {},
    });
    const { status } = await child.ended;
    return { status, output: child.output };
  };
  const built = (name: string): string | null => {
    const path = join(root, 'build', name);
    return existsSync(path) ? readFileSync(path, 'utf8') : null;
  };
  return { build, built, write };
}

t.test('a fault in a test keeps nobody from serving, but does not pass as tested', async t => {
  const { build, built, write } = smallRepository(t);
  write({ 'test/some.test.ts': "export const tested: number = 'one';\n", 'bench/some.ts': 'let x: y;\n' });
  t.match(await build('serving'), { status: 0 });
  t.match(built('src/cli/main.js'), 'main = 1');
  t.match(built('workers/work.js'), 'work = 1');
  t.match(built('pages/live/main.js'), /_jsx\("p".*import '\.\/part\.js'/s);
  t.equal(built('test/some.test.js'), null);
  const { status, output } = await build('tests');
  t.equal(status, 1);
  t.match(output, /test\/some\.test\.ts.*TS2322/);
});

t.test('a source that cannot be compiled stops the start and is named by file and line', async t => {
  const { build, write } = smallRepository(t);
  write({ 'src/cli/main.ts': 'export const main: number = ;\n' });
  const { status, output } = await build('serving');
  t.equal(status, 1);
  t.match(output, /src\/cli\/main\.ts\(1,29\): error TS1109/);
});

t.test('what is built already is not built again, whichever build it was', async t => {
  const { build } = smallRepository(t);
  t.match(await build('tests'), { status: 0, output: /compiling/ });
  for (const again of ['tests', 'serving'] as const) t.same(await build(again), { status: 0, output: '' });
});

t.test('changes that are taken back are built back, whichever build saw them', async t => {
  const { build, built, write } = smallRepository(t);
  const version = (number: number): void => write({ 'src/cli/main.ts': `export const main = ${number};\n` });
  version(1);
  await build('tests');
  version(2);
  t.match(await build('serving'), { status: 0 });
  t.match(built('src/cli/main.js'), 'main = 2');
  version(1);
  t.match(await build('tests'), { status: 0 });
  t.match(built('src/cli/main.js'), 'main = 1');
  t.match(built('test/some.test.js'), 'tested = 1');
});

t.test('a fault in a page keeps nobody from serving, but does not pass as tested', async t => {
  const { build, write } = smallRepository(t);
  write({ 'pages/live/part.ts': "export const part: number = process.pid + 'one';\n" });
  t.match(await build('serving'), { status: 0 });
  const { status, output } = await build('tests');
  t.equal(status, 1);
  t.match(output, /pages\/live\/part\.ts.*TS\d+/);
});

t.test('what was compiled from a deleted source of a page is removed', async t => {
  const { build, built, write } = smallRepository(t);
  write({ 'build/pages/live/gone.js': '', 'build/pages/live/gone.d.ts': '', 'build/src/gone.js.map': '' });
  t.match(await build('tests'), { status: 0 });
  for (const name of ['pages/live/gone.js', 'pages/live/gone.d.ts', 'src/gone.js.map'])
    t.equal(built(name), null);
  t.match(built('pages/live/part.js'), 'part = 1');
  t.match(built('pages/live/part.d.ts'), 'part: number');
});

t.test('code that Node.js kept of an older build is removed', async t => {
  const { build, built, write } = smallRepository(t);
  write({ 'build/.code/kept': 'code' });
  t.match(await build('serving'), { status: 0 });
  t.equal(built('.code/kept'), null);
});
