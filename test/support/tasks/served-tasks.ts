import { randomBytes } from 'node:crypto';
import { Agent, type Dispatcher } from 'undici';
import type { PostgresServer } from '../postgres-server.ts';
import type { RedisServer } from '../redis-server.ts';
import { writeRules } from '../rule-files.ts';
import { type Teardown, tempDirectory } from '../temp-directory.ts';

/** Limits of the interface that no test reaches, and that are asked all the same. */
const RULES = `domain: sluice_api
descriptors:
  - key: tenant
    descriptors:
      - key: method
        rate_limit: { unit: second, requests_per_unit: 1000000 }
      - key: user
        rate_limit: { unit: second, requests_per_unit: 1000000 }
`;

/** Longest wait for an answer. */
const ANSWER_MS = 60_000;

/** Settings of a service with tasks in this directory, in Redis or in PostgreSQL; workers may be on loopback. */
export function taskSettings(
  t: Teardown,
  {
    directory = tempDirectory(t),
    redis,
    postgres,
  }: { readonly directory?: string; readonly redis?: RedisServer; readonly postgres?: PostgresServer } = {},
): Record<string, string> {
  const root = tempDirectory(t);
  writeRules(root, { 'config/sluice_api.yaml': RULES });
  return {
    RUNTIME_ROOT: root,
    RUNTIME_WATCH_ROOT: 'false',
    TASKS_ENABLED: 'true',
    ACCOUNTS_SIGNUP: 'loopback',
    SECRETS_MASTER_KEY: randomBytes(32).toString('base64'),
    TASKS_STORE: 'sqlite',
    TASKS_DATA_DIRECTORY: directory,
    TASKS_PUSH_HTTP: 'true',
    TASKS_PUSH_NETWORKS: '127.0.0.0/8',
    ...(redis !== undefined && { TASKS_STORE: 'redis', TASKS_REDIS_URL: `redis://${redis.address}` }),
    ...(postgres !== undefined && { TASKS_STORE: 'postgres', TASKS_POSTGRES_URL: postgres.url() }),
  };
}

export interface TaskAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects by comparing
  readonly json: any;
}

export interface TaskRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/api/v1` for tenants, with its query. */
  readonly path: string;
  readonly body?: object;
  readonly idempotencyKey?: string;
}

/** A caller of the tasks interface, of one tenant, on whichever process it is told. */
export class TaskCaller {
  readonly domain: string;
  readonly #agent = new Agent({ connections: 32, headersTimeout: ANSWER_MS, bodyTimeout: ANSWER_MS });
  #token = '';

  constructor(t: Teardown, domain = 'acme') {
    this.domain = domain;
    t.teardown(() => {
      this.#agent.destroy().catch(() => {});
    });
  }

  /** Makes the account. @param address `host:port` of a process */
  async signUp(address: string): Promise<void> {
    const { domain } = this;
    const answer = await this.#request(address, 'localhost', {
      method: 'POST',
      path: '/accounts',
      body: { domain },
    });
    if (answer.status !== 201) throw new Error(`no account: ${JSON.stringify(answer.json)}`);
    this.#token = answer.json.token;
  }

  /** @throws Error when there is no answer */
  ask(address: string, { path, ...request }: TaskRequest): Promise<TaskAnswer> {
    return this.#request(address, `${this.domain}.localhost`, { ...request, path: `/api/v1${path}` });
  }

  /** The body of an answer that must be a success. */
  async made(
    address: string,
    method: TaskRequest['method'],
    path: string,
    body?: object,
  ): Promise<TaskAnswer['json']> {
    const answer = await this.ask(address, { method, path, ...(body !== undefined && { body }) });
    if (answer.status >= 300) {
      throw new Error(`${method} ${path} was answered with ${answer.status}: ${JSON.stringify(answer.json)}`);
    }
    return answer.json;
  }

  /** A call of the operator, with a path of the host of the service. @throws Error when there is no answer */
  operate(address: string, token: string, request: TaskRequest): Promise<TaskAnswer> {
    return this.#request(address, 'localhost', request, token);
  }

  async #request(
    address: string,
    host: string,
    { method, path, body, idempotencyKey }: TaskRequest,
    token = this.#token,
  ): Promise<TaskAnswer> {
    const headers: Record<string, string> = { host };
    if (token !== '') headers['authorization'] = `Bearer ${token}`;
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
    const answer: Dispatcher.ResponseData = await this.#agent.request({
      origin: `http://${address}`,
      method,
      path,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    return {
      status: answer.statusCode,
      headers: answer.headers,
      json: text === '' ? undefined : JSON.parse(text),
    };
  }
}
