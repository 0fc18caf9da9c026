import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { note, root, StepFailure } from './step.mjs';

// Clients in other languages that tests of the gRPC server run (test/wire/interop/clients). Each is built once, below
// node_modules, with the toolchain of the machine.
const SOURCES = join(root, 'test/wire/interop/clients');
const CACHE = join(root, 'node_modules/.cache/grpc-clients');

/** What a client was built from, and how it is started: tests look for this file. */
const RECORD = 'client.json';

/** Bounds a download, and a build. On a line that takes longer the tests do without the client. */
const BOUND_MS = 120_000;

/** For each language: the programs it needs, what downloads its packages, what builds it, and what starts it. */
const CLIENTS = {
  java: {
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
  go: {
    needs: ['go'],
    fetch: ({ source }) => ['go', '-C', source, 'mod', 'download'],
    build: ({ source, folder }) => [
      'go',
      '-C',
      source,
      'build',
      '-buildvcs=false',
      '-o',
      join(folder, 'client'),
      '.',
    ],
    command: folder => [join(folder, 'client')],
  },
  python: {
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
    // Compiles, and writes nothing beside the source.
    build: ({ source }) => [
      'python3',
      ...[
        '-c',
        'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")',
        join(source, 'client.py'),
      ],
    ],
    command: (folder, source) => ['env', `PYTHONPATH=${folder}`, 'python3', join(source, 'client.py')],
  },
};

const ENVIRONMENT = {
  ...process.env,
  PIP_USER: '0',
  PIP_ROOT_USER_ACTION: 'ignore',
  // A Go of the machine that is too old is no reason to download another one.
  GOTOOLCHAIN: 'local',
};

/**
 * Builds the clients whose toolchains are there, all at the same time. A toolchain or a package that is missing costs
 * the tests with that client only; a client that does not compile is a fault.
 */
export async function bringGrpcClients(cache = CACHE) {
  await Promise.all(
    Object.entries(CLIENTS).map(([language, client]) => bring(language, client, join(cache, language))),
  );
}

async function bring(language, client, folder) {
  const source = join(SOURCES, language);
  const made = hashOf(source);
  if (existsSync(join(folder, RECORD)) && recordOf(folder).made === made) return;
  rmSync(folder, { recursive: true, force: true });
  const missing = client.needs.filter(program => !isOnPath(program));
  if (missing.length > 0) return leaveOut(language, `${missing.join(', ')} missing`);
  mkdirSync(folder, { recursive: true });
  note(`building the gRPC client for tests in ${language}`);
  try {
    await runQuietly(client.fetch({ source, folder }));
  } catch (failure) {
    return leaveOut(language, lastLine(failure));
  }
  try {
    await runQuietly(client.build({ source, folder }));
  } catch (failure) {
    throw new StepFailure(
      `The gRPC client in ${source} does not compile: ${failure.stderr || failure.message}`,
    );
  }
  const record = { made, command: client.command(folder, source) };
  writeFileSync(join(folder, `${RECORD}.new`), JSON.stringify(record));
  renameSync(join(folder, `${RECORD}.new`), join(folder, RECORD));
}

function leaveOut(language, cause) {
  note(`The gRPC client in ${language} was not built (${cause}); its tests are skipped.`);
}

function runQuietly([command, ...args]) {
  return promisify(execFile)(command, args, { env: ENVIRONMENT, timeout: BOUND_MS, maxBuffer: 2 ** 24 });
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

/** What the client is made of: all files of its folder. */
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
