import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { Child } from '../../support/child-process.ts';
import { PACKAGE, PackageServer } from '../../support/package-server.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { tempDirectory } from '../../support/temp-directory.ts';
import { until } from '../../support/until.ts';

const PATIENCE_MS = 60_000;
/** The folder of the packaged Node.js that this test runs on, by the name that the launcher looks for. */
const NODE_PACKAGE = basename(dirname(dirname(process.execPath)));
const MAIN = `
import { text } from '${PACKAGE.name}';
export const main = async (): Promise<number> => {
  process.stdout.write(\`served \${text}\\n\`);
  return 0;
};
`;

/**
 * A clone with the launcher of this repository, one source file, and packages that are installed in a moment: the
 * compiler and Node.js are those of this repository, and one more comes from a registry that the test controls.
 */
async function freshClone(t: Test) {
  const packages = await PackageServer.start();
  t.teardown(() => packages.stop());
  const root = tempDirectory(t);
  const path = (name: string): string => join(root, name);
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), text);
  };
  for (const name of ['bin', 'ops/launch', 'tsconfig.json', 'tsconfig.build.json'])
    cpSync(join(repositoryRoot(), name), path(name), { recursive: true });
  const compiler = join(repositoryRoot(), 'node_modules/typescript');
  const { bin } = JSON.parse(readFileSync(join(compiler, 'package.json'), 'utf8'));
  write(
    'local/typescript/package.json',
    JSON.stringify({ name: 'typescript', version: '1.0.0', bin: { tsc: 'tsc.mjs' } }),
  );
  write('local/typescript/tsc.mjs', `await import('${join(compiler, bin.tsc)}');\n`);
  write(
    `local/${NODE_PACKAGE}/package.json`,
    JSON.stringify({ name: NODE_PACKAGE, version: '1.0.0', bin: { node: 'bin/node' } }),
  );
  mkdirSync(path(`local/${NODE_PACKAGE}/bin`));
  symlinkSync(process.execPath, path(`local/${NODE_PACKAGE}/bin/node`));
  // Types of Node.js for the source.
  write(
    'src/node.d.ts',
    "declare const process: { stdout: { write(text: string): void } };\ndeclare module 'sluice-fixture' { export const text: string }\n",
  );
  write('src/cli/main.ts', MAIN);
  write('src/cli/terminal/io.ts', 'export const processIo = (): null => null;\n');
  write('workers/work.ts', 'export {};\n');
  const tsconfig = JSON.parse(readFileSync(path('tsconfig.json'), 'utf8'));
  tsconfig.compilerOptions.types = [];
  delete tsconfig.references;
  write('tsconfig.json', JSON.stringify(tsconfig));
  write('local/checker/package.json', JSON.stringify({ name: 'checker', version: '1.0.0' }));
  const local = ['typescript', NODE_PACKAGE];
  const dependencies = {
    [PACKAGE.name]: PACKAGE.version,
    ...Object.fromEntries(local.map(name => [name, `file:local/${name}`])),
  };
  const devDependencies = { checker: 'file:local/checker' };
  const project = { name: 'clone', version: '1.0.0', type: 'module', dependencies, devDependencies };
  write('package.json', JSON.stringify(project));
  write(
    'package-lock.json',
    JSON.stringify({
      ...project,
      lockfileVersion: 3,
      requires: true,
      packages: {
        '': project,
        [`node_modules/${PACKAGE.name}`]: { version: PACKAGE.version, integrity: packages.integrity },
        ...Object.fromEntries(
          local.flatMap(name => [
            [`local/${name}`, { version: '1.0.0' }],
            [`node_modules/${name}`, { resolved: `local/${name}`, link: true }],
          ]),
        ),
        'local/checker': { version: '1.0.0', dev: true },
        'node_modules/checker': { resolved: 'local/checker', link: true, dev: true },
      },
    }),
  );
  const launch = (...command: string[]): Child => {
    const child = new Child({
      // The test runner puts a loader into NODE_OPTIONS of every child.
      command: '/usr/bin/env',
      args: ['-u', 'NODE_OPTIONS', ...command],
      env: {
        PATH: process.env['PATH'],
        npm_execpath: process.env['npm_execpath'],
        npm_config_registry: packages.url,
        npm_config_cache: path('npm-cache'),
        npm_config_update_notifier: 'false',
      },
    });
    t.teardown(() => child.end('SIGKILL', PATIENCE_MS).then(() => {}));
    return child;
  };
  /** The processes that hold the lock. */
  const holders = (): number[] =>
    JSON.parse(readFileSync(path('build/.bootstrap.lock'), 'utf8')).map(({ pid }: { pid: number }) => pid);
  return {
    packages,
    path,
    launch,
    start: () => launch(process.execPath, path('ops/launch/bootstrap.mjs')),
    holders,
  };
}

type Clone = Awaited<ReturnType<typeof freshClone>>;

/** Begins an installation and stops where npm waits for a package. */
async function startedHalfWay({ packages, start }: Clone): Promise<Child> {
  const asked = packages.hold();
  const child = start();
  await Promise.race([asked, child.ended.then(() => Promise.reject(new Error(child.output)))]);
  return child;
}

async function becomesReady(t: Test, clone: Clone): Promise<void> {
  const child = clone.start();
  t.same(await child.ended, { status: 0, signal: null }, child.output);
  await isReady(t, clone);
}

async function isReady(t: Test, { launch, path }: Clone): Promise<void> {
  const child = launch(path('bin/sluice'));
  t.same(await child.ended, { status: 0, signal: null });
  t.equal(child.output, 'served from the package\n');
}

t.test('of two starts at once in a fresh clone one installs, and the other waits for it', async t => {
  const clone = await freshClone(t);
  const first = await startedHalfWay(clone);
  const second = clone.start();
  const waitsFor = await second.line(line => /waiting for process (\d+)/.exec(line)?.[1], PATIENCE_MS);
  t.equal(waitsFor, String(first.pid));
  clone.packages.release();
  t.same(await first.ended, { status: 0, signal: null });
  t.same(await second.ended, { status: 0, signal: null });
  t.notMatch(second.output, /installing|compiling/);
  t.equal(clone.packages.downloads, 1);
  await isReady(t, clone);
});

t.test('a start installs what serving needs, and leaves out what only development needs', async t => {
  const clone = await freshClone(t);
  await becomesReady(t, clone);
  t.ok(existsSync(clone.path('node_modules/typescript')));
  t.notOk(existsSync(clone.path('node_modules/checker')));
  const again = clone.start();
  t.same(await again.ended, { status: 0, signal: null });
  t.equal(again.output, '', 'the next start finds everything');
});

t.test('the command installs and builds on its first use in a clone, also for Node.js itself', async t => {
  const clone = await freshClone(t);
  const first = clone.launch(clone.path('bin/sluice'));
  t.same(await first.ended, { status: 0, signal: null });
  t.match(first.output, /installing packages[\s\S]*compiling[\s\S]*served from the package\n$/);
  const byNode = clone.launch(process.execPath, clone.path('bin/sluice'));
  t.same(await byNode.ended, { status: 0, signal: null });
  t.equal(byNode.output, 'served from the package\n');
});

t.test('an installation that was killed half-way is repeated by the next start', async t => {
  const clone = await freshClone(t);
  const killed = await startedHalfWay(clone);
  const npm = clone.holders().at(-1)!;
  killed.signal('SIGKILL');
  process.kill(npm, 'SIGKILL');
  await killed.ended;
  clone.packages.release();
  await becomesReady(t, clone);
});

t.test('while the npm of a start that was killed goes on, the next start waits for it', async t => {
  const clone = await freshClone(t);
  const killed = await startedHalfWay(clone);
  const npm = clone.holders().at(-1)!;
  killed.signal('SIGKILL');
  const next = clone.start();
  t.equal(await next.line(line => /waiting for process (\d+)/.exec(line)?.[1], PATIENCE_MS), String(npm));
  clone.packages.release();
  t.same(await next.ended, { status: 0, signal: null });
  t.equal(clone.packages.downloads, 1);
  await isReady(t, clone);
});

t.test('Ctrl-C during an installation says what it does and ends within 2 s', async t => {
  const signal = 'SIGINT';
  const clone = await freshClone(t);
  const interrupted = await startedHalfWay(clone);
  const sentMs = performance.now();
  interrupted.signal(signal);
  t.same(await interrupted.ended, { status: null, signal });
  t.ok(performance.now() - sentMs < 2_000);
  t.match(interrupted.output, `sluice: ${signal} received while installing packages (npm ci); stopping\n`);
  t.match(interrupted.output, 'Run the same command again to repeat this step');
  t.notOk(existsSync(clone.path('build/.bootstrap.lock')));
  clone.packages.release();
  await becomesReady(t, clone);
});

/** A process that has ended and whose parent does not notice. */
async function zombie(t: Test): Promise<number> {
  // It ends once the shell has become another program, which does not wait for it.
  const child = '(while [ "$(cat /proc/$$/comm)" = sh ]; do :; done)';
  const parent = new Child({ command: 'sh', args: ['-c', `${child} & echo $!; exec sleep 600`] });
  t.teardown(() => parent.end('SIGKILL', PATIENCE_MS).then(() => {}));
  const pid = await parent.line(line => Number(line), PATIENCE_MS);
  await until(() => /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')));
  return pid;
}

t.test('a start repairs what is damaged, and waits for no lock that nobody holds any more', async t => {
  const clone = await freshClone(t);
  mkdirSync(clone.path('build'));
  const lock = clone.path('build/.bootstrap.lock');
  writeFileSync(lock, '');
  // No writer takes that long.
  const anHourAgo = Date.now() / 1_000 - 3_600;
  utimesSync(lock, anHourAgo, anHourAgo);
  await becomesReady(t, clone);
  if (process.platform === 'linux') {
    const pid = await zombie(t);
    const started = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[21];
    writeFileSync(lock, JSON.stringify([{ pid, started }]));
  }
  const nodePackage = `node_modules/${NODE_PACKAGE}`;
  const damages: Record<string, () => void> = {
    'a package is missing': () => rmSync(clone.path(`node_modules/${PACKAGE.name}`), { recursive: true }),
    'the record of npm was cut off': () =>
      writeFileSync(clone.path('node_modules/.package-lock.json'), '{"packages":'),
    'the packaged Node.js was cut off': () => {
      rmSync(clone.path(nodePackage));
      cpSync(clone.path(`local/${NODE_PACKAGE}`), clone.path(nodePackage), { recursive: true });
      rmSync(clone.path(`${nodePackage}/bin/node`));
      writeFileSync(clone.path(`${nodePackage}/bin/node`), '', { mode: 0o755 });
    },
    'a built file is missing': () => rmSync(clone.path('build/src/cli/terminal/io.js')),
  };
  for (const [damage, inflict] of Object.entries(damages)) {
    await t.test(damage, async t => {
      inflict();
      await becomesReady(t, clone);
    });
  }
});

t.test('if the packaged Node.js cannot run, that of the host serves, without an installation', async t => {
  const clone = await freshClone(t);
  await becomesReady(t, clone);
  const packaged = clone.path(`node_modules/${NODE_PACKAGE}`);
  rmSync(packaged);
  cpSync(clone.path(`local/${NODE_PACKAGE}`), packaged, { recursive: true });
  rmSync(join(packaged, 'bin/node'));
  // As on a system with musl: the file is there, and the loader that it names is not.
  writeFileSync(join(packaged, 'bin/node'), '#!/no/such/loader\n', { mode: 0o755 });
  await isReady(t, clone);
  const start = clone.start();
  t.same(await start.ended, { status: 0, signal: null });
  t.equal(start.output, '');
});

t.test('without the packaged Node.js, and with an old one, the start says what to install', async t => {
  const module = pathToFileURL(join(repositoryRoot(), 'ops/launch/pinned-node.mjs')).href;
  const script = `
    Object.defineProperty(process.versions, 'node', { value: '22.12.0' });
    Object.defineProperty(process, 'arch', { value: 's390x' });
    const { pinnedNode, noNode } = await import('${module}');
    console.log(pinnedNode(), noNode().message);
  `;
  const child = new Child({ command: process.execPath, args: ['--input-type=module', '--eval', script] });
  await child.ended;
  t.match(
    child.output,
    /^undefined There is no packaged Node\.js 22 .*-s390x.*\nInstall Node\.js 22\.13 or newer/,
  );
});

t.test('a package whose files are damaged is told together with the command that repairs it', async t => {
  const clone = await freshClone(t);
  await becomesReady(t, clone);
  const entry = clone.path(`node_modules/${PACKAGE.name}/index.js`);
  for (const damage of [() => writeFileSync(entry, 'export const te'), () => rmSync(entry)]) {
    damage();
    const child = clone.launch(clone.path('bin/sluice'));
    t.same(await child.ended, { status: 1, signal: null });
    t.match(child.output, /Installed files are missing or damaged: /);
    t.match(child.output, /Run "npm ci" in .* and start again\.\n$/);
  }
});
