import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import { elsewhere, hostPort, type RedisEndpoint } from '../../../clients/redis/address.ts';
import { RedisReplyError } from '../../../clients/redis/errors.ts';
import { type RedisConnection, SideConnections } from '../connections/connection.ts';

export interface SentinelOptions {
  readonly masterName: string;
  /** The sentinels and how to connect to them. At least one. */
  readonly sentinels: readonly RedisEndpoint[];
  /** How to connect to the master; its address comes from the sentinels. */
  readonly access: RedisEndpoint;
  /** Timeout of connecting and of each request; 0 for none. */
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/** Maximum number of known sentinels, because sentinels name further ones. */
const MAX_SENTINELS = 64;

/** The reply of one sentinel. */
interface Opinion {
  readonly master: RedisEndpoint;
  /** Increases with each failover. */
  readonly epoch: number;
  readonly by: RedisEndpoint;
}

/**
 * Asks sentinels for the address of the master (spec 2.8, type `sentinel`).
 *
 * They are asked in turn, because a sentinel that is isolated from the others continues to reply. The epoch shows which
 * sentinel knows the last failover.
 */
export class Sentinels {
  /** The master and its sentinels, as log lines and errors name them. */
  readonly address: string;
  readonly #options: SentinelOptions;
  /** The sentinel that replied last is at the end. */
  readonly #known: RedisEndpoint[];
  /** Sentinels that did not reply last time. They are asked last. */
  readonly #silent = new Set<RedisEndpoint>();
  #believed: Opinion | null = null;
  readonly #connections: SideConnections;

  constructor(options: SentinelOptions) {
    this.#options = options;
    this.#connections = new SideConnections(options.timeoutMs);
    this.#known = [...options.sentinels];
    this.address = `${options.masterName} (by sentinels ${options.sentinels.map(each => each.shown).join(', ')})`;
  }

  /**
   * Returns the endpoint of the master.
   * @param connected true while there is a connection to the last known master. It is then replaced only after a failover,
   *   not because a sentinel has another name for it
   * @throws Error with the failure of each sentinel
   */
  async findMaster(connected: boolean): Promise<RedisEndpoint> {
    const problems: string[] = [];
    let outdated: Opinion | null = null;
    for (const sentinel of this.#inTurn()) {
      try {
        const opinion = await this.#ask(sentinel);
        this.#answered(sentinel);
        if (opinion.epoch >= (this.#believed?.epoch ?? 0)) return this.#chosen(opinion, connected);
        if (opinion.epoch > (outdated?.epoch ?? -1)) outdated = opinion;
      } catch (failure) {
        this.#silent.add(sentinel);
        const problem = `${sentinel.shown}: ${asError(failure).message}`;
        this.#options.logger.debug('Sentinel did not name the master; asking the next one', { problem });
        problems.push(problem);
      }
    }
    // New sentinels may have replaced the old ones and count epochs from the start.
    if (outdated !== null) return this.#chosen(outdated, connected);
    throw new Error(`no sentinel knows the master ${this.#options.masterName}: ${problems.join('; ')}`);
  }

  stop(): Promise<void> {
    return this.#connections.stop();
  }

  #inTurn(): RedisEndpoint[] {
    const isSilent = (sentinel: RedisEndpoint) => this.#silent.has(sentinel);
    return [...this.#known.filter(each => !isSilent(each)), ...this.#known.filter(isSilent)];
  }

  #answered(sentinel: RedisEndpoint): void {
    this.#silent.delete(sentinel);
    this.#known.splice(this.#known.indexOf(sentinel), 1);
    this.#known.push(sentinel);
  }

  #chosen(opinion: Opinion, connected: boolean): RedisEndpoint {
    const believed = this.#believed;
    const isNews = believed === null || opinion.epoch > believed.epoch || opinion.by === believed.by;
    if (connected && !isNews) return believed.master;
    this.#believed = opinion;
    return opinion.master;
  }

  #ask(sentinel: RedisEndpoint): Promise<Opinion> {
    const { masterName, access } = this.#options;
    return this.#connections.use(sentinel, async connection => {
      // The epoch is read first. If a failover happens in between, it is too low, and the next reply corrects that.
      const fields = texts(await tolerant(connection, 'master', masterName));
      const [host, port] = texts(await connection.send('SENTINEL', ['get-master-addr-by-name', masterName]));
      if (host === undefined || port === undefined) throw new Error('it knows no master with this name');
      this.#learn(sentinel, await tolerant(connection, 'sentinels', masterName));
      return { master: elsewhere(access, host, Number(port)), epoch: epochOf(fields), by: sentinel };
    });
  }

  /** Adds the sentinels that another one knows. The reply has a list of names and values for each. */
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

/** Sends a request for which the user may lack the permission. The result is then empty. */
async function tolerant(connection: RedisConnection, question: string, masterName: string): Promise<unknown> {
  try {
    return await connection.send('SENTINEL', [question, masterName]);
  } catch (failure) {
    if (failure instanceof RedisReplyError) return [];
    throw failure;
  }
}

function epochOf(fields: readonly string[]): number {
  const text = fields[fields.indexOf('config-epoch') + 1] ?? '';
  return fields.includes('config-epoch') && /^[0-9]+$/.test(text) ? Number(text) : 0;
}
