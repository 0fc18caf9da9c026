import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { Child } from '../../support/child-process.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { tempDirectory } from '../../support/temp-directory.ts';

const module = pathToFileURL(join(repositoryRoot(), 'ops/launch/test-group.mjs')).href;

/** The output of a process that runs these sources of test files as a group. */
async function groupOutput(
  t: Parameters<typeof tempDirectory>[0],
  sources: Readonly<Record<string, string>>,
): Promise<{ status: number | null; lines: string[] }> {
  const folder = tempDirectory(t, join(repositoryRoot(), 'build'));
  const files = Object.entries(sources).map(([name, source]) => {
    writeFileSync(join(folder, name), `import t from 'tap';\n${source}`);
    return relative(repositoryRoot(), join(folder, name));
  });
  const child = new Child({
    command: process.execPath,
    args: [
      `--import=${pathToFileURL(join(repositoryRoot(), 'ops/launch/without-async-hooks.mjs')).href}`,
      '--input-type=module',
      '--eval',
      `import { runGroup } from '${module}'; await runGroup(${JSON.stringify(files)});`,
    ],
    env: { TAP: '1', TAP_TIMEOUT: '60', TAP_DIAG: '0' },
  });
  const { status } = await child.ended;
  const lines = child.output.replaceAll(`${relative(repositoryRoot(), folder)}/`, '').split('\n');
  return {
    status,
    lines: lines.filter(line => /ok \d+ -|# (Subtest|cpu|torn)/.test(line)).map(withoutTimes),
  };
}

function withoutTimes(line: string): string {
  return line.replace(/ # time=.*| \d+ms$/, '').replace(/cpu=\d+ms/, 'cpu');
}

t.test('each file of a group is a test with the tests, teardowns and failures of the file', async t => {
  const { status, lines } = await groupOutput(t, {
    'a.js': `
      t.teardown(() => console.log('# torn down'));
      for (const name of ['first', 'second']) t.test(name, async t => t.equal(name, 'first'));`,
    'b.js': `throw new Error('does not load');`,
    'c.js': `
      const started = [];
      t.before(() => { started.push('before'); });
      t.test('third', async t => t.same(started, ['before']));`,
  });
  t.equal(status, 1);
  t.same(lines, [
    '# Subtest: a.js',
    '    # Subtest: first',
    '        ok 1 - should be equal',
    '    ok 1 - first',
    '    # Subtest: second',
    '        not ok 1 - should be equal',
    '    not ok 2 - second',
    '# torn down',
    '# cpu',
    'not ok 1 - a.js',
    '# Subtest: b.js',
    '    not ok 1 - does not load',
    '# cpu',
    'not ok 2 - b.js',
    '# Subtest: c.js',
    '    # Subtest: third',
    '        ok 1 - should be equivalent',
    '    ok 1 - third',
    '# cpu',
    'ok 3 - c.js',
  ]);
});

t.test(
  'an error that nothing catches fails the test during which it comes, and the next tests run',
  async t => {
    const { status, lines } = await groupOutput(t, {
      'a.js': `
      t.test('outer', async t => {
        await t.test('throws later', async t => {
          setImmediate(() => { throw new Error('thrown'); });
          await new Promise(() => {});
        });
        await t.test('rejects', async t => {
          Promise.reject(new Error('rejected'));
          await new Promise(() => {});
        });
      });
      t.test('next', async t => t.pass('runs'));`,
      'b.js': `t.test('other file', async t => t.pass('runs'));`,
    });
    t.equal(status, 1);
    t.same(lines, [
      '# Subtest: a.js',
      '    # Subtest: outer',
      '        # Subtest: throws later',
      '            not ok 1 - thrown',
      '        not ok 1 - throws later',
      '        # Subtest: rejects',
      '            not ok 1 - rejected',
      '        not ok 2 - rejects',
      '    not ok 1 - outer',
      '    # Subtest: next',
      '        ok 1 - runs',
      '    ok 2 - next',
      '# cpu',
      'not ok 1 - a.js',
      '# Subtest: b.js',
      '    # Subtest: other file',
      '        ok 1 - runs',
      '    ok 1 - other file',
      '# cpu',
      'ok 2 - b.js',
    ]);
  },
);
