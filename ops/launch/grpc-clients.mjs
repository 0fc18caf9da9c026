import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { note, root, StepFailure } from './step.mjs';

// Builds the programs in other languages that tests run: clients of the gRPC server (test/wire/interop/clients), and an
// xDS server of go-control-plane (test/wire/interop/control-plane). Each is built once, below node_modules, with the
// toolchain of the machine.
const SOURCES = join(root, 'test/wire/interop');
const CACHE = join(root, 'node_modules/.cache/grpc-clients');

/** File with the digest of the sources of a program and the command that starts it. Tests look for this file. */
const RECORD = 'client.json';

/** Timeouts of a download and of a build. After them, the tests with the program are skipped. */
const DOWNLOAD_BOUND_MS = 120_000;
const BUILD_BOUND_MS = 300_000;

const GO = {
  needs: ['go'],
  fetch: ({ source }) => ['go', '-C', source, 'mod', 'download'],
  build: ({ source, folder }) => [
    'go',
    '-C',
    source,
    'build',
    '-buildvcs=false',
    '-o',
    join(folder, 'program'),
    '.',
  ],
  command: folder => [join(folder, 'program')],
};

/** Compiles programs without writing files next to their sources. */
const COMPILE =
  'import sys\nfor path in sys.argv[1:]:\n  with open(path) as file: compile(file.read(), path, "exec")';

const PYTHON = {
  needs: ['python3'],
  fetch: ({ source, folder }) => [
    'python3',
    ...[
      '-m',
      'pip',
      'install',
      '--only-binary=:all:',
      '--no-input',
      '--disable-pip-version-check',
      '--quiet',
    ],
    ...['--target', folder, '-r', join(source, 'requirements.txt')],
  ],
  build: ({ source }) => {
    const programs = readdirSync(source).filter(name => name.endsWith('.py'));
    return ['python3', '-c', COMPILE, ...programs.map(name => join(source, name))];
  },
  command: (folder, source) => [
    'env',
    ...[`PYTHONPATH=${folder}`, 'PYTHONDONTWRITEBYTECODE=1'],
    ...['python3', join(source, 'client.py')],
  ],
};

/**
 * For each program, by its folder in the cache: where its sources are, the programs that it requires, and the commands
 * that download packages, build it and start it.
 */
const PROGRAMS = {
  java: {
    title: 'the gRPC client in java',
    sources: 'clients/java',
    needs: ['java', 'javac', 'mvn'],
    fetch: ({ source, folder }) => [
      'mvn',
      ...['-q', '-B', '-f', join(source, 'pom.xml'), 'dependency:build-classpath'],
      `-Dmdep.outputFile=${join(folder, 'classpath')}`,
    ],
    build: ({ source, folder }) => [
      'javac',
      ...['-d', folder, '-cp', classPath(folder), join(source, 'Client.java')],
    ],
    command: folder => [
      'java',
      '-XX:+UseSerialGC',
      '-cp',
      `${classPath(folder)}${delimiter}${folder}`,
      'Client',
    ],
  },
  go: { title: 'the gRPC client in go', sources: 'clients/go', ...GO },
  // Its packages take more than a minute to build, and only tests at length use it.
  'control-plane': { title: 'the xDS server in go', sources: 'control-plane', ...GO, atLength: true },
  python: { title: 'the gRPC client in python', sources: 'clients/python', ...PYTHON },
  quota: {
    title: 'the client of quotas in python',
    sources: 'clients/python-quota',
    ...PYTHON,
    // Its packages include a compiler of messages, and only tests at length use it.
    atLength: true,
  },
  limit: {
    title: 'the caller of the middleware in python',
    sources: 'clients/python-limit',
    ...PYTHON,
    // Only tests at length use it.
    atLength: true,
  },
};

const ENVIRONMENT = {
  ...process.env,
  PIP_USER: '0',
  PIP_ROOT_USER_ACTION: 'ignore',
  // If the installed Go is too old, Go must not download another version.
  GOTOOLCHAIN: 'local',
};

/**
 * Builds the programs in parallel. If a toolchain or a package is missing, or a build takes too long, the tests with that
 * program are skipped. A program that does not compile is an error.
 *
 * @param atLength whether to build also what only `npm run test:all` uses
 */
export async function bringGrpcClients({ cache = CACHE, atLength = false } = {}) {
  const wanted = Object.entries(PROGRAMS).filter(([, program]) => atLength || !program.atLength);
  await Promise.all(wanted.map(([name, program]) => bring(program, join(cache, name))));
}

async function bring(program, folder) {
  const source = join(SOURCES, program.sources);
  const made = hashOf(source);
  if (existsSync(join(folder, RECORD)) && recordOf(folder).made === made) return;
  rmSync(folder, { recursive: true, force: true });
  const missing = program.needs.filter(each => !isOnPath(each));
  if (missing.length > 0) return leaveOut(program, `${missing.join(', ')} missing`);
  mkdirSync(folder, { recursive: true });
  note(`building ${program.title} for tests`);
  try {
    await runQuietly(program.fetch({ source, folder }), DOWNLOAD_BOUND_MS);
  } catch (failure) {
    return leaveOut(program, lastLine(failure));
  }
  try {
    await runQuietly(program.build({ source, folder }), BUILD_BOUND_MS);
  } catch (failure) {
    if (failure.killed) return leaveOut(program, 'the build took too long');
    throw new StepFailure(
      `${capitalized(program.title)} does not compile (${source}): ${failure.stderr || failure.message}`,
    );
  }
  const record = { made, command: program.command(folder, source) };
  writeFileSync(join(folder, `${RECORD}.new`), JSON.stringify(record));
  renameSync(join(folder, `${RECORD}.new`), join(folder, RECORD));
}

function leaveOut({ title }, cause) {
  note(`${capitalized(title)} was not built (${cause}); its tests are skipped.`);
}

function capitalized(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}`;
}

function runQuietly([command, ...args], timeout) {
  return promisify(execFile)(command, args, { env: ENVIRONMENT, timeout, maxBuffer: 2 ** 24 });
}

function lastLine({ stderr, stdout, message }) {
  return (stderr || stdout || message).trim().split('\n').at(-1);
}

function classPath(folder) {
  return readFileSync(join(folder, 'classpath'), 'utf8').trim();
}

function recordOf(folder) {
  return JSON.parse(readFileSync(join(folder, RECORD), 'utf8'));
}

/** Returns a digest of all files in the folder of the program. */
function hashOf(source) {
  const hash = createHash('sha256');
  const files = readdirSync(source, { withFileTypes: true }).filter(entry => entry.isFile());
  for (const { name } of files.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
    hash.update(`${name}\0`).update(readFileSync(join(source, name)));
  return hash.digest('hex');
}

function isOnPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some(folder => existsSync(join(folder, program)));
}
