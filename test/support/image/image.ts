import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../repository.ts';
import { type Teardown, tempDirectory } from '../temp-directory.ts';
import { fillSlimRoot } from './base-root.ts';
import { type Instruction, parseDockerfile, type Stage } from './dockerfile.ts';

/** What the Dockerfile makes: a file system, and how a container of it is started. */
export interface Image {
  readonly root: string;
  readonly workingDirectory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
}

/** Why images cannot be made or run here; false where they can. */
export function imageObstacle(): string | false {
  if (process.platform !== 'linux') return 'containers are made of Linux';
  if (process.getuid?.() !== 0) return 'chroot and another user need root';
  if (!existsSync('/var/lib/dpkg/status')) return 'the base image is put together from packages of Debian';
  try {
    execFileSync('unshare', ['--mount', '--pid', '--fork', 'true'], { stdio: 'ignore' });
  } catch {
    return 'this machine allows no mounts of its own (unshare)';
  }
  return false;
}

/**
 * Carries out the Dockerfile without a container engine. The last stage is built in a root of its own that holds what
 * its base image does. Steps of the earlier one, which stands on the image of Node.js, run with the programs of this
 * machine in a directory of their own.
 *
 * `npm ci` takes most of a build and installs what is installed here already, by the same lock file. Unless
 * `IMAGE_BUILD=full` says so it is not run again: its result is linked.
 */
export function buildImage(t: Teardown): Image {
  const file = join(repositoryRoot(), 'ops/docker/Dockerfile');
  const [build, final] = parseDockerfile(readFileSync(file, 'utf8'));
  const stage = new StageBuild(build, tempDirectory(t, join(repositoryRoot(), 'build')), new Map());
  stage.carryOut(runHere);
  const root = tempDirectory(t, join(repositoryRoot(), 'build'));
  chmodSync(root, 0o755);
  fillSlimRoot(root);
  const last = new StageBuild(final, root, new Map([[build.name, stage.root]]));
  last.carryOut((text, { root, workingDirectory }) => {
    const script = `cd ${workingDirectory} && ${text}`;
    execFileSync('chroot', [root, '/bin/sh', '-c', script], {
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    });
  });
  return last;
}

function runHere(text: string, stage: StageBuild): void {
  const cwd = stage.hostPath('.');
  if (/^npm ci\b/.test(text) && process.env['IMAGE_BUILD'] !== 'full') linkPackages(cwd);
  else {
    // Without the loader that the test runner puts into every child.
    const without = ['-u', 'NODE_OPTIONS', 'sh', '-c', text];
    execFileSync('env', without, { cwd, stdio: 'pipe' });
  }
}

function linkPackages(folder: string): void {
  const [from, to] = [repositoryRoot(), folder].map(each => join(each, 'node_modules'));
  execFileSync('cp', ['-al', from, to]);
  execFileSync('rm', ['-rf', join(to, '.cache')]);
  // npm writes over its record, which must not be the file of this repository.
  execFileSync('cp', ['--remove-destination', join(from, '.package-lock.json'), to]);
  execFileSync('npm', ['prune', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
  });
}

type Run = (text: string, stage: StageBuild) => void;

class StageBuild implements Image {
  readonly root: string;
  workingDirectory = '/';
  readonly env: Record<string, string> = {};
  user = '0:0';
  entrypoint: readonly string[] = [];
  command: readonly string[] = [];
  healthcheck: readonly string[] = [];
  readonly #stage: Stage;
  /** Roots of the stages before, by their names. */
  readonly #before: ReadonlyMap<string, string>;

  constructor(stage: Stage, root: string, before: ReadonlyMap<string, string>) {
    this.#stage = stage;
    this.root = root;
    this.#before = before;
  }

  carryOut(run: Run): void {
    for (const instruction of this.#stage.instructions) this.#step(instruction, run);
  }

  /** Where a path of the stage lies on this machine; one without `/` at its start is below the working directory. */
  hostPath(path: string): string {
    return join(this.root, path.startsWith('/') ? path : join(this.workingDirectory, path));
  }

  #step({ name, flags, rest }: Instruction, run: Run): void {
    if (name === 'WORKDIR') {
      this.workingDirectory = rest;
      mkdirSync(this.hostPath('.'), { recursive: true });
    } else if (name === 'COPY') this.#copy(flags['from'], rest.split(' '));
    else if (name === 'RUN') run(rest, this);
    else if (name === 'USER') this.user = rest;
    else if (name === 'ENV') {
      for (const pair of rest.split(' '))
        this.env[pair.slice(0, pair.indexOf('='))] = pair.slice(pair.indexOf('=') + 1);
    } else if (name === 'ENTRYPOINT') this.entrypoint = JSON.parse(rest);
    else if (name === 'CMD') this.command = JSON.parse(rest);
    else if (name === 'HEALTHCHECK') this.healthcheck = JSON.parse(rest.slice(rest.indexOf('[')));
    // EXPOSE and STOPSIGNAL are for the engine.
  }

  #copy(from: string | undefined, paths: readonly string[]): void {
    const sources = paths.slice(0, -1);
    const target = paths.at(-1)!;
    const origin = from === undefined ? repositoryRoot() : this.#before.get(from)!;
    // A directory is copied as what it holds; several files need a directory to go to.
    const isFolder = target.endsWith('/');
    mkdirSync(isFolder ? this.hostPath(target) : dirname(this.hostPath(target)), { recursive: true });
    const links = from === undefined ? [] : ['-l'];
    for (const source of sources) {
      execFileSync('cp', [
        '-a',
        '-T',
        ...links,
        join(origin, source),
        join(this.hostPath(target), isFolder ? source.split('/').at(-1)! : ''),
      ]);
    }
  }
}
