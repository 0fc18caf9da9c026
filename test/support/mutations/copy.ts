import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Time for one test file. One that takes longer has failed. */
const FILE_MS = 120_000;

/** A copy of the repository that is changed, built and tested instead of it. */
export class Copy {
  readonly #folder = mkdtempSync(join(tmpdir(), 'sluice-mutations-'));
  readonly #root = join(this.#folder, 'sluice');
  /** Process that runs a test file, and leads the group of what the test has started. */
  #pid: number | undefined;

  readonly #node: string;

  /** @param node the Node.js that tests run on */
  constructor(root: string, files: readonly string[], node: string) {
    this.#node = node;
    for (const file of [...files, 'build']) {
      mkdirSync(dirname(join(this.#root, file)), { recursive: true });
      cpSync(join(root, file), join(this.#root, file), { recursive: true, preserveTimestamps: true });
    }
    symlinkSync(join(root, 'node_modules'), join(this.#root, 'node_modules'));
  }

  read(file: string): string {
    return readFileSync(join(this.#root, file), 'utf8');
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.#root, file), text);
  }

  /** Returns the built code of a source. */
  built(source: string): string {
    return this.read(builtFile(source));
  }

  /** Compiles what has changed; false if the types are wrong. */
  build(): boolean {
    const { status } = spawnSync(this.#node, ['ops/launch/bootstrap.mjs', '--for-tests'], {
      cwd: this.#root,
    });
    return status === 0;
  }

  /** Runs a test file until its first failure. Returns the name of the test that failed; undefined if none has. */
  async failureOf(testFile: string): Promise<string | undefined> {
    const child = spawn(this.#node, [builtFile(testFile)], {
      cwd: this.#root,
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: {
        ...process.env,
        TAP_BAIL: '1',
        TAP_TIMEOUT: String(FILE_MS / 1_000),
        NODE_COMPILE_CACHE: join(this.#folder, 'code'),
      },
    });
    this.#pid = child.pid;
    let output = '';
    child.stdout.setEncoding('utf8').on('data', text => {
      output += text;
    });
    let isLate = false;
    const deadline = setTimeout(() => {
      isLate = true;
      this.#endTest();
    }, FILE_MS);
    const status = await new Promise(ended => child.once('exit', ended));
    clearTimeout(deadline);
    this.#endTest();
    if (isLate) return 'takes too long';
    if (status === 0) return undefined;
    const [untilFailure] = output.split(/^\s*not ok /m, 1);
    return /.*# Subtest: (.*)/s.exec(untilFailure)?.[1].split('\n', 1)[0] ?? `exit status ${status}`;
  }

  remove(): void {
    this.#endTest();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #endTest(): void {
    try {
      if (this.#pid !== undefined) process.kill(-this.#pid, 'SIGKILL');
    } catch {
      // All of it has ended already.
    }
    this.#pid = undefined;
  }
}

function builtFile(source: string): string {
  return join('build', source.replace(/\.ts$/, '.js'));
}
