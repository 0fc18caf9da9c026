import { asError } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import { elsewhere, hostPort, type RedisEndpoint } from './endpoint.ts';
import { SideConnections } from './side-connections.ts';

export interface SentinelOptions {
  readonly masterName: string;
  /** The sentinels, and how they are asked. At least one. */
  readonly sentinels: readonly RedisEndpoint[];
  /** How the master is asked; its place is what the sentinels say. */
  readonly access: RedisEndpoint;
  /** Bound of connecting and of each question; 0 for none. */
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/** Sentinels that are known at most: others name them. */
const MAX_SENTINELS = 64;

/** Asks sentinels which server is the master (spec 2.8, type `sentinel`). */
export class Sentinels {
  /** How log lines and errors name what is looked for. */
  readonly address: string;
  readonly #options: SentinelOptions;
  /** The one that answered last comes first; those that others named are at the end. */
  readonly #known: RedisEndpoint[];
  readonly #connections: SideConnections;

  constructor(options: SentinelOptions) {
    this.#options = options;
    this.#connections = new SideConnections(options.timeoutMs);
    this.#known = [...options.sentinels];
    this.address = `${options.masterName} (by sentinels ${options.sentinels.map(each => each.shown).join(', ')})`;
  }

  /**
   * The master, as the first sentinel that answers says.
   * @throws Error with what each sentinel said
   */
  async findMaster(): Promise<RedisEndpoint> {
    const problems: string[] = [];
    for (const sentinel of [...this.#known]) {
      try {
        const master = await this.#ask(sentinel);
        this.#known.splice(this.#known.indexOf(sentinel), 1);
        this.#known.unshift(sentinel);
        return master;
      } catch (failure) {
        const problem = `${sentinel.shown}: ${asError(failure).message}`;
        this.#options.logger.debug('a sentinel did not help', { problem });
        problems.push(problem);
      }
    }
    throw new Error(`no sentinel knows the master ${this.#options.masterName}: ${problems.join('; ')}`);
  }

  stop(): Promise<void> {
    return this.#connections.stop();
  }

  #ask(sentinel: RedisEndpoint): Promise<RedisEndpoint> {
    const { masterName, access } = this.#options;
    return this.#connections.use(sentinel, async connection => {
      const [host, port] = texts(await connection.send('SENTINEL', ['get-master-addr-by-name', masterName]));
      if (host === undefined || port === undefined) throw new Error('it knows no master of this name');
      this.#learn(sentinel, await connection.send('SENTINEL', ['sentinels', masterName]));
      return elsewhere(access, host, Number(port));
    });
  }

  /** Adds the sentinels that one of them knows: names and values in turn, for each. */
  #learn(sentinel: RedisEndpoint, reply: unknown): void {
    for (const each of Array.isArray(reply) ? reply : []) {
      const fields = texts(each);
      const [host, port] = ['ip', 'port'].map(name => fields[fields.indexOf(name) + 1]);
      if (!/^[0-9]+$/.test(port) || this.#known.length >= MAX_SENTINELS) continue;
      if (this.#known.every(known => known.shown !== hostPort(host, Number(port)))) {
        this.#known.push(elsewhere(sentinel, host, Number(port)));
      }
    }
  }
}

function texts(reply: unknown): string[] {
  return Array.isArray(reply) ? reply.filter(each => typeof each === 'string') : [];
}
