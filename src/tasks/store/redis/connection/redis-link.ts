import { Cluster, type Redis } from 'ioredis';
import { asError, Fault } from '../../../../base/fault.ts';
import { StoreFault } from '../../trouble.ts';
import { WaitingBounds } from '../../waiting-bounds.ts';
import { HEAVY, type Script } from '../lua/scripts.ts';
import { redisClient } from './client.ts';
import { ClusterMap } from './cluster-map.ts';
import { Deadlines } from './deadlines.ts';
import { storeFailure } from './failure.ts';
import { LatestCredentials } from './latest-credentials.ts';
import { type RedisTaskStoreOptions, shownAddress } from './options.ts';
import { type Unmet, unmetRequirements } from './requirements.ts';
import { TenantWindows, type WindowedOperation } from './tenant-windows.ts';

/** Bytes of requests that may be under way: payloads are large. */
const MAX_BYTES_IN_FLIGHT = 256 * 1024 * 1024;

/** Longest wait for connections to close: the other side may be frozen. */
const CLOSE_MS = 1_000;

/** Without flags, so it counts as one that writes; it has no keys, so every node runs it. */
const WRITABLE = '#!lua\nreturn 1';

/** Why a connection that was there is down, while nothing else is known. */
const CLOSED = 'it was closed by the server';

/** What is counted as the work of reading one key: of the arguments of a script, and of their bytes. */
const ARGUMENTS_A_READ = 8;
const BYTES_A_READ = 1_024;
/** The same for scripts that do much whatever they are given. */
const READS_IF_HEAVY = 64;

export type Argument = string | number;

/** One question, as it is sent. */
interface Question {
  /** How errors name it. */
  readonly doing: string;
  /** Whose turn it takes; `NOBODY` for what concerns all tenants, which waits for no turn. */
  readonly tenant: string;
  readonly args: readonly Argument[];
  readonly isHeavy: boolean;
  readonly ask: (client: Redis | Cluster) => Promise<unknown>;
}

/** No tenant has this name. */
const NOBODY = '';

/**
 * The way to Redis: every question has an answer or a fault within a bounded time, and their number is bounded. What is
 * asked in one turn of the event loop leaves in one write for each server. A tenant with many questions does not keep
 * those of others waiting ({@link WaitingBounds}, {@link TenantWindows}).
 */
export class RedisLink {
  readonly address: string;
  readonly #options: RedisTaskStoreOptions;
  readonly #client: Redis | Cluster;
  /** Null where Redis is no cluster. */
  readonly #map: ClusterMap | null;
  readonly #deadlines: Deadlines;
  /** Null where the credentials are not in a file. */
  readonly #credentials: LatestCredentials | null;
  /** Connections that hold back what is written in this turn; null between turns. */
  #corked: { uncork(): void }[] | null = null;
  readonly #bounds: WaitingBounds;
  readonly #windows = new TenantWindows();
  #inFlight = 0;
  #idle: (() => void) | null = null;
  #stopped = false;
  /** Why the connection is down, as last heard. */
  #reason = 'it was not started';
  /** What is wrong with the servers; null when nothing is. */
  #unmet: StoreFault | null = null;

  constructor(options: RedisTaskStoreOptions) {
    if (/[{}]/.test(options.keyPrefix)) {
      throw new Error(`the prefix '${options.keyPrefix}' of keys in Redis must not hold braces`);
    }
    this.#options = options;
    this.address = options.addresses.map(shownAddress).join(', ');
    this.#client = redisClient(options);
    this.#map = this.#client instanceof Cluster ? new ClusterMap(this.#client, options.clock) : null;
    this.#deadlines = new Deadlines(options.clock, options.timeoutMs);
    this.#bounds = new WaitingBounds({ count: options.maxInFlight, size: MAX_BYTES_IN_FLIGHT });
    const { authFile } = options;
    this.#credentials = authFile && new LatestCredentials(authFile, failure => this.#heard(failure));
    this.#credentials?.useIn(this.#client);
    this.#client.on('error', (failure: unknown) => this.#heard(failure));
    this.#client.on('node error', (failure: unknown) => this.#heard(failure));
  }

  get isCluster(): boolean {
    return this.#client instanceof Cluster;
  }

  /**
   * Connects, and makes sure that the servers keep what they are given.
   * @throws Error that names the server, what is wrong with it and what puts it right
   */
  async start(): Promise<void> {
    const { startMs, logger } = this.#options;
    await this.#connected(startMs);
    this.#reason = CLOSED;
    await this.#check();
    if (this.#unmet !== null) {
      this.#client.disconnect();
      throw this.#unmet;
    }
    this.#map?.start();
    logger.info('connected to Redis for tasks', { address: this.address });
    this.#client.on('close', () => {
      if (!this.#stopped) {
        logger.info('lost the connection to Redis', { address: this.address, reason: this.#reason });
      }
    });
    this.#client.on('ready', () => {
      this.#reason = CLOSED;
      logger.info('connected to Redis for tasks', { address: this.address });
      // Whoever restarted it may have changed its settings.
      this.#check().catch(() => {});
    });
  }

  /** Waits for the answers that are due, then closes. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#map?.stop();
    if (this.#inFlight > 0 && this.#client.status === 'ready') {
      await new Promise<void>(resolve => {
        this.#idle = resolve;
        const { clock, timeoutMs } = this.#options;
        clock.after(timeoutMs, resolve);
      });
    }
    this.#deadlines.stop();
    const client = this.#client;
    // Between two attempts to connect nothing is open, and no end would be told.
    const isOpen = !['wait', 'reconnecting', 'close', 'end'].includes(client.status);
    const ended = new Promise<void>(resolve => {
      client.once('end', resolve);
      this.#options.clock.after(CLOSE_MS, resolve);
    });
    if (client.status !== 'end') client.disconnect();
    if (isOpen) await ended;
  }

  /** Resolves when Redis, of a cluster at least one node, runs scripts that write and keeps what it is given. */
  async ping(): Promise<void> {
    const lost = this.#notConnected('ping');
    if (lost !== null) throw lost;
    try {
      // A node that is away is not waited for.
      await Promise.any(this.#masters().map(server => this.#writable(server)));
    } catch (failure) {
      const [first = new Error('no node is known')] = (failure as AggregateError).errors;
      throw storeFailure(this.address, 'ping', first, 'not_connected');
    }
    if (this.#unmet !== null) await this.#check();
    if (this.#unmet !== null) throw this.#unmet;
  }

  /** Runs a script with the keys of a tenant. */
  run(script: Script, tenant: string, args: readonly Argument[]): Promise<unknown> {
    const begin = this.keysOf(tenant);
    const rest = [2, begin, `${begin}-`, ...args];
    const ask = async (client: Redis | Cluster): Promise<unknown> => {
      try {
        return await client.callBuffer('evalsha', [script.sha, ...rest]);
      } catch (failure) {
        // Redis has not run it, so sending it once more is safe.
        if (!asError(failure).message.startsWith('NOSCRIPT')) throw failure;
        return client.callBuffer('eval', [script.text, ...rest]);
      }
    };
    return this.#answerTo({ doing: script.name, tenant, args, isHeavy: HEAVY.has(script), ask });
  }

  /** Sends one command that concerns all tenants. Texts in the answer are buffers. */
  send(command: string, args: readonly Argument[]): Promise<unknown> {
    return this.sendOf(NOBODY, command, args);
  }

  /** Sends one command about keys of a tenant. Texts in the answer are buffers. */
  sendOf(tenant: string, command: string, args: readonly Argument[]): Promise<unknown> {
    const ask = (client: Redis | Cluster) => client.callBuffer(command, [...args]);
    return this.#answerTo({ doing: command, tenant, args, isHeavy: false, ask });
  }

  /** What all keys of a tenant begin with. They have the same slot, because of what is in the braces. */
  keysOf(tenant: string): string {
    return `${this.#options.keyPrefix}{${tenant}}:`;
  }

  #answerTo(question: Question): Promise<unknown> {
    const { doing, tenant, args, isHeavy } = question;
    const lost = this.#notConnected(doing);
    if (lost !== null) return Promise.reject(lost);
    let bytes = 0;
    for (const argument of args) bytes += typeof argument === 'string' ? argument.length : 8;
    const counted = this.#bounds.take(tenant, bytes);
    if (counted === null) return Promise.reject(this.#overloaded());
    const weight = 1 + args.length / ARGUMENTS_A_READ + bytes / BYTES_A_READ;
    this.#inFlight++;
    return new Promise((resolve, reject) => {
      const ended = () => {
        this.#bounds.give(tenant, counted);
        if (--this.#inFlight === 0) this.#idle?.();
      };
      const answered = () => {
        this.#deadlines.done(deadline);
        ended();
        if (tenant !== NOBODY) this.#windows.done(operation);
      };
      const operation: WindowedOperation = {
        tenant,
        weight: Math.ceil(isHeavy ? READS_IF_HEAVY + weight : weight),
        send: () => {
          this.#send(question).then(
            answer => {
              answered();
              resolve(answer);
            },
            failure => {
              answered();
              reject(failure instanceof Fault ? failure : storeFailure(this.address, doing, failure));
            },
          );
        },
      };
      const deadline = this.#deadlines.begin(() => {
        const text = `no answer within ${this.#options.timeoutMs} ms: it is overloaded, frozen or out of reach`;
        reject(storeFailure(this.address, doing, new Error(text), 'no_answer'));
        if (this.#windows.leave(operation)) ended();
      });
      if (tenant === NOBODY) operation.send();
      else this.#windows.enter(operation);
    });
  }

  #send({ doing, ask }: Question): Promise<unknown> {
    const lost = this.#client.status === 'ready' ? null : this.#notConnected(doing);
    if (lost !== null) return Promise.reject(lost);
    this.#cork();
    return ask(this.#client);
  }

  #notConnected(doing: string): Fault | null {
    if (this.#stopped) return storeFailure(this.address, doing, new Error('the store was stopped'));
    if (this.#client.status === 'ready') return null;
    return storeFailure(this.address, doing, new Error(`not connected: ${this.#reason}`), 'not_connected');
  }

  #overloaded(): Fault {
    return new Fault(
      'overloaded',
      `${this.#inFlight} operations wait for Redis at ${this.address}: try later`,
    );
  }

  /** Holds back what is written in this turn, so that it leaves at once. */
  #cork(): void {
    if (this.#corked !== null) return;
    const corked: { uncork(): void }[] = [];
    this.#corked = corked;
    for (const { stream } of this.#masters()) {
      // There is none while a connection is being made.
      if (stream === undefined || stream === null) continue;
      stream.cork();
      corked.push(stream);
    }
    setImmediate(() => {
      this.#corked = null;
      for (const stream of corked) stream.uncork();
    });
  }

  #heard(failure: unknown): void {
    const error = asError(failure) as Error & { lastNodeError?: Error };
    const reason = error.lastNodeError?.message ?? (error.message || String(failure));
    this.#reason = this.#options.explain(reason);
  }

  async #connected(startMs: number): Promise<void> {
    const client = this.#client;
    const isReady = new Promise<void>(resolve => client.once('ready', resolve));
    const hasEnded = new Promise<never>((_, reject) => {
      client.once('end', () => reject(new Error(`Redis at ${this.address} was left: ${this.#reason}`)));
    });
    let timer: { cancel(): void } | null = null;
    const isLate = new Promise<never>((_, reject) => {
      timer = this.#options.clock.after(startMs, () => {
        reject(new Error(`Redis at ${this.address} was not ready within ${startMs} ms: ${this.#reason}`));
      });
    });
    const connect = async () => {
      await this.#credentials?.refresh();
      if (!this.#stopped) await client.connect();
    };
    connect().catch((failure: unknown) => this.#heard(failure));
    try {
      await Promise.race([isReady, hasEnded, isLate]);
    } catch (failure) {
      client.disconnect();
      throw failure;
    } finally {
      (timer as { cancel(): void } | null)?.cancel();
      hasEnded.catch(() => {});
    }
  }

  /** Looks at the settings of every server that has data. */
  async #check(): Promise<void> {
    const { durability, logger } = this.#options;
    const faults: Unmet[] = [];
    for (const server of this.#masters()) {
      const { host, port, path } = server.options;
      const address = shownAddress(path ? { path } : { host: host ?? '', port: port ?? 0 });
      for (const { trouble, text } of await unmetRequirements(server, durability, logger)) {
        faults.push({ trouble, text: `Redis at ${address} cannot keep tasks: ${text}` });
      }
    }
    const [first] = faults;
    const all = faults.map(({ text }) => text).join('; ');
    this.#unmet = first === undefined ? null : new StoreFault(first.trouble, all);
  }

  /** The servers that take what is written. */
  #masters(): readonly Redis[] {
    return this.#client instanceof Cluster ? this.#client.nodes('master') : [this.#client];
  }

  /** Runs a script that may write, which Redis refuses for the reasons for which it refuses all others. */
  #writable(server: Redis): Promise<unknown> {
    const ask = () => server.callBuffer('eval', [WRITABLE, 0]);
    return this.#answerTo({ doing: 'ping', tenant: NOBODY, args: [], isHeavy: false, ask });
  }
}
