import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'undici';
import { type PostgresServer, startPostgres } from '../../../test/support/postgres-server.ts';
import { type RedisServer, startRedis } from '../../../test/support/redis-server.ts';
import { BenchService } from '../decisions/service.ts';

export const STORES = ['sqlite', 'redis', 'postgres'] as const;
export type Store = (typeof STORES)[number];

/** Limits of the interface that nothing in a run reaches, and that are asked all the same. */
const RULES = `domain: sluice_api
descriptors:
  - key: tenant
    descriptors:
      - key: method
        rate_limit: { unit: second, requests_per_unit: 1000000000 }
      - key: user
        rate_limit: { unit: second, requests_per_unit: 1000000000 }
`;

const PROXY_RULES = `domain: bench
descriptors:
  - key: user
    rate_limit: { unit: year, requests_per_unit: 4000000000 }
`;

/** What an operator would set on a small machine. Writes are flushed to disk, as they are by default. */
const POSTGRES_SETTINGS = ['fsync=on', 'shared_buffers=512MB', 'max_wal_size=4GB'];

/** A tenant of the service, and the connections to it. */
export class BenchTenant {
  readonly domain: string;
  readonly #headers: Record<string, string>;
  readonly #pool: Pool;

  constructor(port: number, domain: string, token: string, connections: number) {
    this.domain = domain;
    this.#headers = {
      host: `${domain}.localhost`,
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
    };
    this.#pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1, bodyTimeout: 60_000 });
  }

  /** The text of the answer. Throws unless its status is one of those expected. */
  async call(method: 'GET' | 'POST' | 'PUT', path: string, body?: string): Promise<string> {
    const answer = await this.#pool.request({
      method,
      path: `/api/v1${path}`,
      headers: this.#headers,
      ...(body !== undefined && { body }),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) {
      throw new Error(`${method} ${path} was answered with ${answer.statusCode}: ${text.slice(0, 500)}`);
    }
    return text;
  }

  /** The answer as JSON. */
  async json(method: 'GET' | 'POST' | 'PUT', path: string, body?: object): Promise<Record<string, unknown>> {
    const text = await this.call(method, path, body === undefined ? undefined : JSON.stringify(body));
    return JSON.parse(text) as Record<string, unknown>;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

/** The service with tasks, its store, and what is needed to use it. */
export class TaskService {
  readonly store: Store;
  /** What BullMQ uses as well; null with another store. */
  readonly redis: RedisServer | null;
  readonly postgres: PostgresServer | null;
  readonly #env: Readonly<Record<string, string>>;
  readonly #tenants: BenchTenant[] = [];
  readonly #tokens = new Map<string, string>();
  #service: BenchService;

  private constructor(
    store: Store,
    { redis, postgres }: { readonly redis: RedisServer | null; readonly postgres: PostgresServer | null },
    env: Readonly<Record<string, string>>,
    service: BenchService,
  ) {
    this.store = store;
    this.redis = redis;
    this.postgres = postgres;
    this.#env = env;
    this.#service = service;
  }

  static async start(
    store: Store,
    folder: string,
    more: Readonly<Record<string, string>> = {},
  ): Promise<TaskService> {
    const home = join(folder, `${store}-${randomBytes(4).toString('hex')}`);
    mkdirSync(join(home, 'config'), { recursive: true });
    writeFileSync(join(home, 'config', 'sluice_api.yaml'), RULES);
    writeFileSync(join(home, 'config', 'bench.yaml'), PROXY_RULES);
    const redis =
      store === 'redis'
        ? await startRedis({
            args: ['--appendonly', 'yes', '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction'],
          })
        : null;
    const postgres = store === 'postgres' ? await startPostgres({ settings: POSTGRES_SETTINGS }) : null;
    const env = {
      RUNTIME_ROOT: home,
      RUNTIME_WATCH_ROOT: 'false',
      TASKS_ENABLED: 'true',
      ACCOUNTS_SIGNUP: 'loopback',
      SECRETS_MASTER_KEY: randomBytes(32).toString('base64'),
      TASKS_STORE: store,
      // Not beside the rules: their directory is watched, and each write to the file would wake up the service.
      TASKS_DATA_DIRECTORY: join(home, 'data'),
      TASKS_PUSH_HTTP: 'true',
      TASKS_PUSH_NETWORKS: '127.0.0.0/8',
      TASKS_MAX_OPEN: '10000000',
      TASKS_MAX_IN_FLIGHT: '100000',
      TASKS_DISPATCH_RATE: '1000000',
      TASKS_MAX_SCHEDULES: '100000',
      ...(redis !== null && { TASKS_REDIS_URL: `redis://127.0.0.1:${redis.port}` }),
      ...(postgres !== null && { TASKS_POSTGRES_URL: postgres.url() }),
      ...more,
    };
    return new TaskService(store, { redis, postgres }, env, await BenchService.start(env));
  }

  get dataDirectory(): string {
    return this.#env['TASKS_DATA_DIRECTORY'];
  }

  get pid(): number {
    return this.#service.pid;
  }

  get httpPort(): number {
    return this.#service.ports.http;
  }

  get grpcPort(): number {
    return this.#service.ports.grpc;
  }

  get debugPort(): number {
    return this.#service.ports.debug;
  }

  get faultLines(): readonly string[] {
    return this.#service.faultLines;
  }

  /** A new tenant with so many connections of its own. */
  async tenant(connections = 64): Promise<BenchTenant> {
    const domain = `t${randomBytes(6).toString('hex')}`;
    const pool = new Pool(`http://127.0.0.1:${this.httpPort}`, { connections: 1 });
    const answer = await pool.request({
      method: 'POST',
      path: '/accounts',
      headers: { host: 'localhost', 'content-type': 'application/json' },
      body: JSON.stringify({ domain }),
    });
    const text = await answer.body.text();
    await pool.destroy();
    if (answer.statusCode !== 201) throw new Error(`no account: ${answer.statusCode} ${text}`);
    const { token } = JSON.parse(text) as { readonly token: string };
    const tenant = new BenchTenant(this.httpPort, domain, token, connections);
    this.#tenants.push(tenant);
    this.#tokens.set(domain, token);
    return tenant;
  }

  /** The token of the tenant's owner. */
  tokenOf(tenant: BenchTenant): string {
    return this.#tokens.get(tenant.domain) ?? '';
  }

  /** The same tenant after the service was started again. */
  again(tenant: BenchTenant, connections = 64): BenchTenant {
    const renewed = new BenchTenant(this.httpPort, tenant.domain, this.tokenOf(tenant), connections);
    this.#tenants.push(renewed);
    return renewed;
  }

  /** Kills the service as a crash would, and starts it again. @returns milliseconds until its ports were open */
  async crashAndStart(): Promise<number> {
    process.kill(this.#service.pid, 'SIGKILL');
    await this.#service.stop();
    const begun = performance.now();
    this.#service = await BenchService.start(this.#env);
    return performance.now() - begun;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#tenants.map(tenant => tenant.close()));
    await this.#service.stop();
    await this.redis?.stop();
    await this.postgres?.stop();
  }
}

/** A payload of so many bytes, as JSON text. */
export function payloadOf(bytes: number): string {
  return JSON.stringify({ text: 'x'.repeat(Math.max(bytes - 11, 0)) });
}
