import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lchownSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { repositoryRoot } from './repository.ts';
import { during, ServerProcess, startOn } from './server-process.ts';
import type { Teardown } from './stores.ts';
import { makeTempDirectory, removeDirectory } from './temp-directory.ts';

/** Where packages keep the programs of each version, which are not on the PATH. */
const FOLDERS = ['/usr/lib/postgresql', '/opt/homebrew/opt', '/usr/local/opt'];

/** The directory of the programs of the newest PostgreSQL; null without one. */
const bin =
  FOLDERS.filter(existsSync)
    .flatMap(folder => readdirSync(folder).map(name => join(folder, name, 'bin')))
    .filter(folder => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
    .sort()
    .at(-1) ?? null;

/** Why tests with PostgreSQL are skipped; false where it can be started. */
export const noPostgres: string | false =
  bin === null ? 'PostgreSQL is not installed: install the Debian package postgresql' : false;

export interface PostgresServerOptions {
  /** Loopback port; without one a free port is found. */
  readonly port?: number;
  /** More settings, such as `['max_connections=20']`. Later ones win. */
  readonly settings?: readonly string[];
  /** The server of which this one is a standby, until {@link PostgresServer.promote}. */
  readonly standbyOf?: PostgresServer;
}

/**
 * Starts a real PostgreSQL on loopback, with a cluster of its own, and waits until it takes connections. Whoever starts it
 * stops it; {@link postgresFor} ends with its test.
 */
export function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  return startOn(options.port, port => new PostgresServer(port, options));
}

/**
 * The folder of a run may be closed to other users, who must be able to pass through it. A folder that is open is left alone,
 * because programs that watch it would hear of the change.
 */
function openToPass(folder: string): void {
  const { mode } = statSync(folder);
  if ((mode & 0o011) !== 0o011) chmodSync(folder, mode | 0o011);
}

/** A PostgreSQL that is stopped with the test. */
export function postgresFor(t: Teardown, options?: PostgresServerOptions): Promise<PostgresServer> {
  return during(t, startPostgres(options));
}

/** A running PostgreSQL of a test's own. Everybody may connect as `postgres`. */
export class PostgresServer extends ServerProcess {
  readonly user = 'postgres';
  readonly #settings: readonly string[];

  constructor(port: number, { settings = [], standbyOf }: PostgresServerOptions) {
    super(port);
    this.#settings = settings;
    if (standbyOf === undefined) cpSync(cluster(), this.#data, { recursive: true });
    else copyCluster(standbyOf, this.#data);
    giveTo(this.directory, owner());
    chmodSync(this.#data, 0o700);
    if (process.getuid?.() === 0) openToPass(dirname(this.directory));
  }

  /** The address of a database, as settings take it. */
  url(database = 'postgres'): string {
    return `postgres://${this.user}@127.0.0.1:${this.port}/${database}`;
  }

  /** Runs a statement over a connection of its own and returns its rows, to look at what is stored. */
  async query<R extends pg.QueryResultRow = Record<string, unknown>>(
    text: string,
    { database = 'postgres', values = [] }: { readonly database?: string; readonly values?: unknown[] } = {},
  ): Promise<R[]> {
    const client = new pg.Client({ connectionString: this.url(database) });
    // A lost connection is told by the rejected query; without a listener it would end the process.
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query<R>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Dumps a database and restores it under another name, as an operator would. */
  async copy(from: string, to: string): Promise<void> {
    const file = join(this.directory, `${to}.dump`);
    await this.query(`CREATE DATABASE ${to}`);
    const run = (program: string, args: readonly string[]) =>
      execFileSync(join(bin as string, program), [
        '-h',
        '127.0.0.1',
        '-p',
        String(this.port),
        '-U',
        this.user,
        ...args,
      ]);
    run('pg_dump', ['-Fc', '-f', file, from]);
    run('pg_restore', ['--exit-on-error', '-d', to, file]);
  }

  /** All that is in the files of its databases and its log of writes. */
  files(): string {
    return readdirSync(this.#data, { recursive: true, encoding: 'utf8' })
      .map(name => join(this.#data, name))
      .filter(path => statSync(path).isFile())
      .map(path => readFileSync(path, 'latin1'))
      .join();
  }

  /** Makes a standby the primary. */
  async promote(): Promise<void> {
    await this.query('SELECT pg_promote()');
  }

  get #data(): string {
    return join(this.directory, 'data');
  }

  protected program() {
    const settings = [
      `port=${this.port}`,
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${this.directory}`,
      // What a crash of the process loses is in the cache of the system, which survives it.
      'fsync=off',
      'lc_messages=C',
      ...this.#settings,
    ];
    return {
      command: join(bin as string, 'postgres'),
      args: ['-D', this.#data, ...settings.flatMap(setting => ['-c', setting])],
      ready: /ready to accept (?:read-only )?connections/,
      user: owner(),
    };
  }

  /** Its sessions are processes of their own. */
  override freeze(): void {
    super.freeze();
    this.#signalSessions('SIGSTOP');
  }

  override thaw(): void {
    this.#signalSessions('SIGCONT');
    super.thaw();
  }

  #signalSessions(signal: NodeJS.Signals): void {
    const pids = execFileSync('pgrep', ['-P', String(this.pid)], { encoding: 'utf8' })
      .trim()
      .split('\n');
    for (const pid of pids) process.kill(Number(pid), signal);
  }

  /** SIGTERM would wait for clients to leave. */
  protected override end(signal: NodeJS.Signals): Promise<void> {
    return super.end(signal === 'SIGTERM' ? 'SIGINT' : signal);
  }
}

/** Copies the cluster of a running server, with what makes the copy follow it. */
function copyCluster({ port, user }: PostgresServer, data: string): void {
  const from = ['-h', '127.0.0.1', '-p', String(port), '-U', user];
  const args = [...from, '-D', data, '--write-recovery-conf', '--checkpoint=fast', '--no-sync'];
  execFileSync(join(bin as string, 'pg_basebackup'), args, { stdio: 'pipe', cwd: dirname(data) });
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root: it then runs as the user that its package has made. */
export function owner(): Owner {
  const { uid, gid } = userInfo();
  if (uid !== 0) return { uid, gid };
  const id = (kind: string): number => Number(execFileSync('id', [kind, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

export function giveTo(path: string, to: Owner): void {
  lchownSync(path, to.uid, to.gid);
  for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' })) {
    lchownSync(join(path, name), to.uid, to.gid);
  }
}

/** An empty cluster to copy. It takes seconds to make, so it is kept with what is built. */
function cluster(): string {
  const version = (bin as string).replaceAll(/[^0-9a-z]+/gi, '-');
  const kept = join(repositoryRoot(), 'build', `postgres${version}`);
  if (existsSync(kept)) return kept;
  const directory = makeTempDirectory();
  const data = join(directory, 'data');
  try {
    giveTo(directory, owner());
    const args = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '-N'];
    execFileSync(join(bin as string, 'initdb'), args, { ...owner(), stdio: 'pipe', cwd: directory });
    const copy = `${kept}.${process.pid}`;
    cpSync(data, copy, { recursive: true });
    try {
      renameSync(copy, kept);
    } catch {
      // Another process was faster.
      removeDirectory(copy);
    }
  } finally {
    removeDirectory(directory);
  }
  return kept;
}
