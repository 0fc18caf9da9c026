import { join } from 'node:path';
import { Redis } from 'ioredis';
import { type RedisServer, startRedis } from '../../../test/support/redis-server.ts';
import { writeRules } from '../../../test/support/rule-files.ts';
import type { Answers } from '../../support/control-channel.ts';
import { ForkedChild } from '../../support/forked-child.ts';
import type { GeneratorAnswers } from '../../support/generator.ts';
import type { GrpcLoad } from '../../support/grpc-load/load.ts';
import type { WatchedProcesses } from '../../support/load-window.ts';
import type { BaselineReady } from './baseline.ts';
import { CONTESTANTS, type Contestant, type ContestantName } from './contestants.ts';
import { entryOf, Generators } from './generators.ts';
import type { HelloReady } from './hello.ts';
import type { JsonLoad } from './json-generator.ts';
import { type Peer, startPeer } from './peer.ts';
import type { RelayReady } from './relay.ts';
import { benchRules, ruleFile } from './rules.ts';
import { BenchService } from './service.ts';

export interface FieldOptions {
  readonly contestants: readonly ContestantName[];
  /** `WORKER_THREADS` of the service; null leaves its default. */
  readonly workers: number | null;
  /** The service that the contestant `peer` is; null if it is none of them. */
  readonly peer?: Peer | null;
  /** More settings of the service. */
  readonly env?: Readonly<Record<string, string>>;
  /** The folder of the build of the service; this one without it. */
  readonly root?: string;
  /** Generators that other fields use as well; its own without them. */
  readonly generators?: Generators;
  /** A folder for files of this run. */
  readonly folder: string;
}

/** A contestant that runs. */
export interface Running {
  readonly name: ContestantName;
  readonly grpcPort: number;
  readonly httpPort: number;
  /** The processes whose use is measured: `service`, and the store where it is one. */
  readonly watched: WatchedProcesses;
  /** Null for what is not the service. */
  readonly service: BenchService | null;
  /** The root of its rule files. */
  readonly rulesFolder: string;
  /** Its database in Redis. */
  readonly database: number;
}

/** Everything that runs besides the bench itself: contestants, their Redis, and the generators. */
export class Field {
  readonly running = new Map<ContestantName, Running>();
  readonly #options: FieldOptions;
  readonly #stops: (() => Promise<void>)[] = [];
  #redis: RedisServer | null = null;
  readonly #generators: Generators;
  #relay: ForkedChild<Answers> | null = null;

  private constructor(options: FieldOptions) {
    this.#options = options;
    this.#generators = options.generators ?? new Generators();
  }

  /** Starts what the contestants need. */
  static async start(options: FieldOptions): Promise<Field> {
    const field = new Field(options);
    try {
      if (options.contestants.some(name => CONTESTANTS[name].store === 'redis')) {
        const redis = await startRedis();
        field.#redis = redis;
        field.#stops.push(() => redis.stop());
      }
      // Database 0 is for the peer: not every service can choose another one. A server has 16.
      let databases = 0;
      for (const name of options.contestants) {
        const database = CONTESTANTS[name].store === 'redis' ? ++databases : 0;
        field.running.set(name, await field.#start(name, database));
      }
      return field;
    } catch (failure) {
      await field.stop();
      throw failure;
    }
  }

  /** The count of a key in a database of Redis; 0 when there is none. */
  async count(database: number, key: string): Promise<number> {
    const client = new Redis({ port: this.#store.port, host: '127.0.0.1', db: database });
    try {
      return Number((await client.get(key)) ?? 0);
    } finally {
      client.disconnect();
    }
  }

  get #store(): RedisServer {
    if (this.#redis === null) throw new Error('no contestant has a Redis');
    return this.#redis;
  }

  get grpcGenerator(): ForkedChild<GeneratorAnswers<GrpcLoad>> {
    return this.#generators.grpc;
  }

  get jsonGenerator(): ForkedChild<GeneratorAnswers<JsonLoad>> {
    return this.#generators.json;
  }

  /** The bare relay to the Redis of the contestants; it starts when it is first needed. */
  relay(): Promise<RelayReady> {
    this.#relay ??= this.#fork('./relay', [String(this.#store.port)]);
    return this.#relay.ready<RelayReady>();
  }

  of(name: ContestantName): Running {
    const found = this.running.get(name);
    if (found === undefined) throw new Error(`${name} does not run`);
    return found;
  }

  /** Stops everything, the last first, and before that its generators. */
  async stop(): Promise<void> {
    if (this.#options.generators === undefined) await this.#generators.stop();
    for (const stop of this.#stops.splice(0).reverse()) await stop();
  }

  #start(name: ContestantName, database: number): Promise<Running> {
    if (name === 'baseline') return this.#startBaseline(database);
    if (name === 'peer') return this.#startPeer();
    if (name === 'hello') return this.#startHello();
    return this.#startService(name, database);
  }

  async #startPeer(): Promise<Running> {
    if (this.#options.peer == null) throw new Error('there is no command for the peer');
    const rulesFolder = this.#writeRules('peer');
    const peer = await startPeer(this.#options.peer, { rulesFolder, redis: this.#store.address });
    this.#stops.push(() => peer.stop());
    return {
      name: 'peer',
      grpcPort: peer.grpcPort,
      httpPort: 0,
      watched: { service: peer.pid, store: this.#store.pid },
      service: null,
      rulesFolder,
      database: 0,
    };
  }

  #writeRules(name: ContestantName): string {
    const folder = join(this.#options.folder, `rules-${name}`);
    const { routes, limits, maps } = CONTESTANTS[name];
    writeRules(folder, { 'config/bench.yaml': ruleFile(benchRules(routes, limits), maps) });
    return folder;
  }

  async #startBaseline(database: number): Promise<Running> {
    const { routes } = CONTESTANTS.baseline;
    const url = `redis://${this.#store.address}/${database}`;
    const child = this.#fork('./baseline', [url, String(routes)]);
    const { pid, grpcPort, httpPort } = await child.ready<BaselineReady>();
    return {
      name: 'baseline',
      grpcPort,
      httpPort,
      watched: { service: pid, store: this.#store.pid },
      service: null,
      rulesFolder: '',
      database,
    };
  }

  async #startHello(): Promise<Running> {
    const { pid, port } = await this.#fork('./hello').ready<HelloReady>();
    return {
      name: 'hello',
      grpcPort: 0,
      httpPort: port,
      watched: { service: pid },
      service: null,
      rulesFolder: '',
      database: 0,
    };
  }

  async #startService(name: ContestantName, database: number): Promise<Running> {
    const { store, localCacheBytes, engine, env }: Contestant = CONTESTANTS[name];
    const rulesFolder = this.#writeRules(name);
    const { workers } = this.#options;
    const settings = {
      RUNTIME_ROOT: rulesFolder,
      RUNTIME_WATCH_ROOT: 'false',
      ...(store === 'redis' ? { KVCACHE_URL: `redis://${this.#store.address}/${database}` } : {}),
      ...(localCacheBytes === 0 ? {} : { LOCAL_CACHE_SIZE_IN_BYTES: String(localCacheBytes) }),
      ...(engine === undefined ? {} : { HTTP_SERVER_ENGINE: engine }),
      ...(workers === null ? {} : { WORKER_THREADS: String(workers) }),
      ...env,
      ...this.#options.env,
    };
    const service = await BenchService.start(settings, this.#options.root);
    this.#stops.push(() => service.stop());
    // For debugging while the service is under load.
    console.error(`${name}: process ${service.pid}, debug port http://127.0.0.1:${service.ports.debug}/`);
    return {
      name,
      grpcPort: service.ports.grpc,
      httpPort: service.ports.http,
      watched: { service: service.pid, ...(store === 'redis' ? { store: this.#store.pid } : {}) },
      service,
      rulesFolder,
      database,
    };
  }

  #fork<A extends Answers>(path: string, args: readonly string[] = []): ForkedChild<A> {
    const child = new ForkedChild<A>({ entry: entryOf(path), args });
    this.#stops.push(() => child.stop());
    return child;
  }
}
