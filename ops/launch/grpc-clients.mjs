import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { note, root, StepFailure } from './step.mjs';

// Builds the clients in other languages that tests of the gRPC server run (test/wire/interop/clients). Each client is
// built once, below node_modules, with the toolchain of the machine.
const SOURCES = join(root, 'test/wire/interop/clients');
const CACHE = join(root, 'node_modules/.cache/grpc-clients');

/** File with the digest of the sources of a client and the command that starts it. Tests look for this file. */
const RECORD = 'client.json';

/** Timeout of a download or a build. After it, the tests with the client are skipped. */
const BOUND_MS = 120_000;

/** For each language: the required programs, and the commands that download packages, build the client and start it. */
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
    // Compiles without writing a file next to the source.
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
  // If the installed Go is too old, Go must not download another version.
  GOTOOLCHAIN: 'local',
};

/**
 * Builds the clients in parallel. If a toolchain or a package is missing, the tests with that client are skipped. A
 * client that does not compile is an error.
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

/** Returns a digest of all files in the folder of the client. */
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
