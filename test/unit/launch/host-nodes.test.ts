import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { Child } from '../../support/child-process.ts';
import { HOST_NODES } from '../../support/host-nodes.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { tempDirectory } from '../../support/temp-directory.ts';

/** An npm that leaves behind, below `--prefix`, what the packages would. */
const NPM_THAT_INSTALLS = `
const { mkdirSync, writeFileSync } = require('node:fs');
const prefix = process.argv.find(argument => argument.startsWith('--prefix=')).slice('--prefix='.length);
for (const [, name] of process.argv.join(' ').matchAll(/(node-[0-9.]+)@npm:/g)) {
  mkdirSync(prefix + '/node_modules/' + name + '/bin', { recursive: true });
  writeFileSync(prefix + '/node_modules/' + name + '/bin/node', '');
}
`;
const NPM_THAT_FAILS = "console.error('no such package'); process.exit(1);";

/** What `npm test` does about the Node.js of hosts with this npm. */
function scene(t: Test, npm: string) {
  const cache = tempDirectory(t);
  const script = join(tempDirectory(t), 'npm-cli.js');
  mkdirSync(join(cache, 'cache'));
  writeFileSync(script, npm);
  const module = pathToFileURL(join(repositoryRoot(), 'ops/launch/host-nodes.mjs')).href;
  const code = `import { bringHostNodes } from '${module}'; await bringHostNodes('${join(cache, 'cache/nodes')}');`;
  const bring = async () => {
    const child = new Child({
      command: process.execPath,
      args: ['--input-type=module', '--eval', code],
      env: { PATH: process.env['PATH'], npm_execpath: script },
    });
    const { status } = await child.ended;
    return { status, output: child.output };
  };
  return { bring, kept: (folder = '') => readdirSync(join(cache, 'cache', folder)) };
}

t.test('each is installed once, and found from then on', async t => {
  const { bring, kept } = scene(t, NPM_THAT_INSTALLS);
  t.match(await bring(), { status: 0, output: /installing Node\.js 22\.13\.0, / });
  t.same(kept(), ['nodes']);
  t.same(
    kept('nodes').sort(),
    HOST_NODES.map(({ version }) => version),
  );
  t.same(await bring(), { status: 0, output: '' });
});

t.test('if npm fails, the reason is shown, nothing half installed stays, and the tests begin', async t => {
  const { bring, kept } = scene(t, NPM_THAT_FAILS);
  t.match(await bring(), {
    status: 0,
    output: /no such package\n.*\nThe tests on these versions are skipped/,
  });
  t.same(kept(), []);
});
