import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { Child } from '../../support/child-process.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { tempDirectory } from '../../support/temp-directory.ts';

/** What `npm test` does about clients in other languages on a machine that has this `python3` and nothing else. */
function scene(t: Test, python?: string, atLength = false) {
  const programs = tempDirectory(t);
  if (python !== undefined) {
    writeFileSync(join(programs, 'python3'), `#!/bin/sh\n${python}\n`);
    chmodSync(join(programs, 'python3'), 0o755);
  }
  const cache = tempDirectory(t);
  const folder = join(repositoryRoot(), 'ops/launch');
  const [clients, step] = ['grpc-clients.mjs', 'step.mjs'].map(
    name => pathToFileURL(join(folder, name)).href,
  );
  const script = `import { bringGrpcClients } from '${clients}'; import { attempt } from '${step}';
    await attempt(() => bringGrpcClients({ cache: '${cache}', atLength: ${atLength} }));`;
  const bring = async () => {
    const child = new Child({
      command: process.execPath,
      args: ['--input-type=module', '--eval', script],
      env: { PATH: programs },
    });
    const { status } = await child.ended;
    return { status, output: child.output };
  };
  return { bring, isBuilt: (language: string) => existsSync(join(cache, language, 'client.json')) };
}

t.test('without toolchains each client is left out, with the reason, and the tests can begin', async t => {
  const { bring, isBuilt } = scene(t, undefined, true);
  const { status, output } = await bring();
  t.equal(status, 0);
  for (const reason of [
    'The gRPC client in java was not built (java, javac, mvn missing)',
    'The gRPC client in go was not built (go missing)',
    'The gRPC client in python was not built (python3 missing)',
    'The xDS server in go was not built (go missing)',
    'The client of quotas in python was not built (python3 missing)',
  ])
    t.match(output, reason);
  t.notOk(['java', 'go', 'python', 'control-plane', 'quota'].some(isBuilt));
});

t.test('the xDS server and the client of quotas are only built for tests at length', async t => {
  t.notMatch((await scene(t).bring()).output, /xDS server|client of quotas/);
});

t.test('a client is built once, and found from then on', async t => {
  const { bring, isBuilt } = scene(t, 'exit 0');
  t.match(await bring(), { status: 0, output: /building the gRPC client in python for tests/ });
  t.ok(isBuilt('python'));
  t.notMatch((await bring()).output, /in python/);
});

t.test('if the packages of a client cannot be had, the reason is shown, and the tests begin', async t => {
  const { bring, isBuilt } = scene(t, '[ "$1" = -m ] || exit 0; echo "no such package" >&2; exit 1');
  t.match(await bring(), { status: 0, output: /python was not built \(no such package\)/ });
  t.notOk(isBuilt('python'));
});

t.test('a client that does not compile is a fault', async t => {
  const { bring, isBuilt } = scene(t, '[ "$1" = -m ] && exit 0; echo "a fault in line 1" >&2; exit 1');
  t.match(await bring(), { status: 1, output: /python does not compile \(.*\): a fault in line 1/ });
  t.notOk(isBuilt('python'));
});
