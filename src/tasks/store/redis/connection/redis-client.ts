import { Cluster, type Redis } from 'ioredis';
import { asError, Fault } from '../../../../base/fault.ts';
import { shownAddress } from '../../../../clients/redis/address.ts';
import { isUnknownScript, knownError, noAnswerWithin } from '../../../../clients/redis/errors.ts';
import { type Unmet, unmetRequirements } from '../../../../clients/redis/requirements.ts';
import { ReplyTimeouts } from '../../../../clients/reply-timeouts.ts';
import { StoreFault, type TroubleName } from '../../trouble.ts';
import { WaitingBounds } from '../../waiting-bounds.ts';
import { HEAVY, type Script } from '../lua/scripts.ts';
import { ClusterRefresh, ioredisClient, LatestCredentials } from './ioredis-client.ts';
import type { RedisTaskStoreOptions } from './options.ts';
import { TenantWindows, type WindowedOperation } from './tenant-windows.ts';

/** Maximum size of the requests in progress, in bytes. Payloads can be large. */
const MAX_BYTES_IN_FLIGHT = 256 * 1024 * 1024;

/** Maximum time to wait for connections to close. The other side may be frozen. */
const CLOSE_MS = 1_000;

/** A script without flags counts as one that writes. It has no keys, so every node runs it. */
const WRITABLE = '#!lua\nreturn 1';

/** Why a connection is down, if nothing else is known. */
const CLOSED = 'it was closed by the server';

/** How many arguments of a script, and how many bytes of them, count as much as reading one key. */
const ARGUMENTS_A_READ = 8;
const BYTES_A_READ = 1_024;
/** The weight of a heavy script, in keys that are read. */
const READS_IF_HEAVY = 64;

export type Argument = string | number;

/** One command or script that is sent to Redis. */
interface Request {
  /** How errors name it. */
  readonly doing: string;
  /** The tenant whose window it counts in; `NOBODY` for requests about all tenants, which do not wait. */
  readonly tenant: string;
  readonly args: readonly Argument[];
  readonly isHeavy: boolean;
  readonly send: (client: Redis | Cluster) => Promise<unknown>;
}

/** No tenant has this name. */
const NOBODY = '';

/**
 * Sends the requests of the task store to Redis. Each request gets a reply or a fault within a timeout, and the number
 * of requests in progress is limited. The requests of one turn of the event loop are written together, with one write
 * for each server. A tenant with many requests does not delay those of other tenants ({@link WaitingBounds},
 * {@link TenantWindows}).
 */
export class RedisClient {
  readonly address: string;
  readonly #options: RedisTaskStoreOptions;
  readonly #client: Redis | Cluster;
  /** Null if Redis is not a cluster. */
  readonly #refresh: ClusterRefresh | null;
  readonly #timeouts: ReplyTimeouts;
  /** Null if the credentials are not in a file. */
  readonly #credentials: LatestCredentials | null;
  /** Connections that buffer the writes of this turn of the event loop; null between turns. */
  #corked: { uncork(): void }[] | null = null;
  readonly #bounds: WaitingBounds;
  readonly #windows = new TenantWindows();
  #inFlight = 0;
  #idle: (() => void) | null = null;
  #stopped = false;
  /** The last known reason why the connection is down. */
  #reason = 'it was not started';
  /** Whether the server has answered on the present connection. Until then, a failure may be due to TLS. */
  #answered = false;
  /** The requirements that the servers do not meet; null if they meet all. */
  #unmet: StoreFault | null = null;

  constructor(options: RedisTaskStoreOptions) {
    if (/[{}]/.test(options.keyPrefix)) {
      throw new Error(`the prefix '${options.keyPrefix}' of keys in Redis must not contain braces`);
    }
    this.#options = options;
    this.address = options.addresses.map(shownAddress).join(', ');
    this.#client = ioredisClient(options);
    this.#refresh = this.#client instanceof Cluster ? new ClusterRefresh(this.#client, options.clock) : null;
    this.#timeouts = new ReplyTimeouts(options.clock, options.timeoutMs);
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
   * Connects, and checks that the servers keep the data that is written to them.
   * @throws Error that names the server, what is wrong with it and how to correct it
   */
  async start(): Promise<void> {
    const { startMs, logger } = this.#options;
    await this.#connected(startMs);
    this.#reason = CLOSED;
    this.#answered = true;
    await this.#check();
    if (this.#unmet !== null) {
      this.#client.disconnect();
      throw this.#unmet;
    }
    this.#refresh?.start();
    logger.info('Connected to Redis for tasks', { address: this.address });
    this.#client.on('close', () => {
      this.#answered = false;
      if (!this.#stopped) {
        const fields = { address: this.address, reason: this.#reason };
        logger.info('Connection to Redis for tasks lost; reconnecting', fields);
      }
    });
    this.#client.on('ready', () => {
      this.#reason = CLOSED;
      this.#answered = true;
      logger.info('Connected to Redis for tasks', { address: this.address });
      // The settings may be different after a restart of Redis.
      this.#check().catch(() => {});
    });
  }

  /** Waits for the replies to requests in progress, then closes. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#refresh?.stop();
    if (this.#inFlight > 0 && this.#client.status === 'ready') {
      await new Promise<void>(resolve => {
        this.#idle = resolve;
        const { clock, timeoutMs } = this.#options;
        clock.after(timeoutMs, resolve);
      });
    }
    this.#timeouts.stop();
    const client = this.#client;
    // Between two attempts to connect there is no connection, so there would be no `end` event.
    const isOpen = !['wait', 'reconnecting', 'close', 'end'].includes(client.status);
    const ended = new Promise<void>(resolve => {
      client.once('end', resolve);
      this.#options.clock.after(CLOSE_MS, resolve);
    });
    if (client.status !== 'end') client.disconnect();
    if (isOpen) await ended;
  }

  /** Resolves if Redis (in a cluster, at least one node) runs scripts that write and meets the requirements. */
  async ping(): Promise<void> {
    const lost = this.#notConnected('ping');
    if (lost !== null) throw lost;
    try {
      // Does not wait for unreachable nodes.
      await Promise.any(this.#masters().map(server => this.#writable(server)));
    } catch (failure) {
      const [first = new Error('no node is known')] = (failure as AggregateError).errors;
      throw this.#fault('ping', first, 'not_connected');
    }
    if (this.#unmet !== null) await this.#check();
    if (this.#unmet !== null) throw this.#unmet;
  }

  /** Runs a script on the keys of a tenant. */
  run(script: Script, tenant: string, args: readonly Argument[]): Promise<unknown> {
    const begin = this.keysOf(tenant);
    const rest = [2, begin, `${begin}-`, ...args];
    const send = async (client: Redis | Cluster): Promise<unknown> => {
      try {
        return await client.callBuffer('evalsha', [script.sha, ...rest]);
      } catch (failure) {
        // The script did not run, so sending its text is safe.
        if (!isUnknownScript(asError(failure))) throw failure;
        return client.callBuffer('eval', [script.text, ...rest]);
      }
    };
    return this.#replyTo({ doing: script.name, tenant, args, isHeavy: HEAVY.has(script), send });
  }

  /** Sends one command about all tenants. Texts in the reply are buffers. */
  send(command: string, args: readonly Argument[]): Promise<unknown> {
    return this.sendOf(NOBODY, command, args);
  }

  /** Sends one command about keys of a tenant. Texts in the reply are buffers. */
  sendOf(tenant: string, command: string, args: readonly Argument[]): Promise<unknown> {
    const send = (client: Redis | Cluster) => client.callBuffer(command, [...args]);
    return this.#replyTo({ doing: command, tenant, args, isHeavy: false, send });
  }

  /** The prefix of all keys of a tenant. The part in braces determines the slot, so they are all in one slot. */
  keysOf(tenant: string): string {
    return `${this.#options.keyPrefix}{${tenant}}:`;
  }

  #replyTo(request: Request): Promise<unknown> {
    const { doing, tenant, args, isHeavy } = request;
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
        this.#timeouts.received(timeout);
        ended();
        if (tenant !== NOBODY) this.#windows.done(operation);
      };
      const operation: WindowedOperation = {
        tenant,
        weight: Math.ceil(isHeavy ? READS_IF_HEAVY + weight : weight),
        send: () => {
          this.#send(request).then(
            answer => {
              answered();
              resolve(answer);
            },
            failure => {
              answered();
              reject(this.#fault(doing, failure));
            },
          );
        },
      };
      const timeout = this.#timeouts.begin(() => {
        const text = `${noAnswerWithin(this.#options.timeoutMs)}: it is overloaded, frozen or unreachable`;
        reject(this.#fault(doing, new Error(text), 'no_answer'));
        if (this.#windows.leave(operation)) ended();
      });
      if (tenant === NOBODY) operation.send();
      else this.#windows.enter(operation);
    });
  }

  #send({ doing, send }: Request): Promise<unknown> {
    const lost = this.#client.status === 'ready' ? null : this.#notConnected(doing);
    if (lost !== null) return Promise.reject(lost);
    this.#cork();
    return send(this.#client);
  }

  #notConnected(doing: string): Fault | null {
    if (this.#stopped) return this.#fault(doing, new Error('the store was stopped'));
    if (this.#client.status === 'ready') return null;
    return this.#fault(doing, new Error(`not connected: ${this.#reason}`), 'not_connected');
  }

  #overloaded(): Fault {
    return new Fault(
      'overloaded',
      `${this.#inFlight} operations are waiting for Redis at ${this.address}; try again later`,
    );
  }

  /** Buffers the writes of this turn of the event loop, so that they are sent together. */
  #cork(): void {
    if (this.#corked !== null) return;
    const corked: { uncork(): void }[] = [];
    this.#corked = corked;
    for (const { stream } of this.#masters()) {
      // There is no stream while the node is connecting.
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
    this.#reason = this.#answered ? reason : this.#options.explain(reason);
  }

  async #connected(startMs: number): Promise<void> {
    const client = this.#client;
    const isReady = new Promise<void>(resolve => client.once('ready', resolve));
    const hasEnded = new Promise<never>((_, reject) => {
      client.once('end', () =>
        reject(new Error(`Redis at ${this.address}: connecting was stopped: ${this.#reason}`)),
      );
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

  /** Checks every server that has data. */
  async #check(): Promise<void> {
    const { durability, logger } = this.#options;
    const faults: Unmet[] = [];
    for (const server of this.#masters()) {
      const { host, port, path } = server.options;
      const address = shownAddress(path ? { path } : { host: host ?? '', port: port ?? 0 });
      for (const { problem, text } of await unmetRequirements(server, durability, logger)) {
        faults.push({ problem, text: `Redis at ${address} cannot keep tasks: ${text}` });
      }
    }
    const [first] = faults;
    const all = faults.map(({ text }) => text).join('; ');
    this.#unmet = first === undefined ? null : new StoreFault(`redis_${first.problem}`, all);
  }

  /** The servers that accept writes. */
  #masters(): readonly Redis[] {
    return this.#client instanceof Cluster ? this.#client.nodes('master') : [this.#client];
  }

  /** Runs a script that may write. Redis rejects it for the same reasons as all other scripts that write. */
  #writable(server: Redis): Promise<unknown> {
    const send = () => server.callBuffer('eval', [WRITABLE, 0]);
    return this.#replyTo({ doing: 'ping', tenant: NOBODY, args: [], isHeavy: false, send });
  }

  /** @param otherwise the reason if the error is not a known one */
  #fault(doing: string, failure: unknown, otherwise: TroubleName = 'other'): Fault {
    if (failure instanceof Fault) return failure;
    const { message } = asError(failure);
    const text = `Redis at ${this.address}, ${doing}: ${message}`;
    const known = knownError(message);
    if (known === null) return new StoreFault(otherwise, text, { cause: failure });
    const { problem, advice } = known;
    const trouble = problem === 'not_connected' ? problem : (`redis_${problem}` as const);
    return new StoreFault(trouble, advice === null ? text : `${text} (${advice})`, { cause: failure });
  }
}
