import { request as requestOverHttp } from 'node:http';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '../repository.ts';
import { type ServiceOptions, type ServiceProcess, serviceFor } from '../service.ts';
import { type Teardown, tempDirectory } from '../temp-directory.ts';
import { until } from '../until.ts';

/** A key that secrets are sealed with, and another one. */
export const MASTER_KEY = Buffer.alloc(32, 1).toString('base64');
export const OTHER_MASTER_KEY = Buffer.alloc(32, 2).toString('base64');

/** The part of a tap test that is needed. */
interface Test extends Teardown {
  teardown(run: () => unknown): void;
}

/**
 * Settings of a service with tasks: the sample rules, accounts for callers on this machine, workers on it over plain
 * HTTP, and a data directory that goes with the test.
 */
export function tasksEnv(t: Teardown, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    RUNTIME_ROOT: join(repositoryRoot(), 'ops', 'quickstart'),
    RUNTIME_APPDIRECTORY: 'config',
    RUNTIME_WATCH_ROOT: 'false',
    DISABLE_STATS: 'true',
    TASKS_ENABLED: 'true',
    TASKS_DATA_DIRECTORY: more['TASKS_DATA_DIRECTORY'] ?? tempDirectory(t),
    ...(more['SECRETS_MASTER_KEY_FILE'] === undefined && { SECRETS_MASTER_KEY: MASTER_KEY }),
    ACCOUNTS_SIGNUP: 'loopback',
    TASKS_PUSH_HTTP: 'true',
    TASKS_PUSH_NETWORKS: '127.0.0.0/8',
    ...more,
  };
}

/** A service with tasks, stopped with the test. */
export async function startTasksService(
  t: Test,
  more: Readonly<Record<string, string>> = {},
  options: Omit<ServiceOptions, 'env'> = {},
): Promise<ServiceProcess> {
  return await serviceFor(t, { ...options, env: tasksEnv(t, more) });
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  /** Null where the body is empty or no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects by comparing
  readonly json: any;
}

export interface ApiCallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request at `host:port`, under another `Host` than that. */
export function ask(
  address: string,
  call: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`,
  { body, headers = {} }: ApiCallOptions = {},
): Promise<ApiAnswer> {
  const [method, path] = call.split(' ');
  const [host, port] = address.split(':');
  const content = body === undefined ? '' : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = requestOverHttp(
      {
        ...{ host, port, method, path, agent: false },
        headers: {
          ...(content !== '' && { 'content-type': 'application/json' }),
          ...(method !== 'GET' && { 'content-length': Buffer.byteLength(content) }),
          ...headers,
        },
      },
      answer => {
        const chunks: Buffer[] = [];
        answer.on('data', chunk => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const fields = answer.headers as ApiAnswer['headers'];
          resolve({ status: answer.statusCode ?? 0, headers: fields, text, json: jsonOf(text) });
        });
      },
    );
    sent.on('error', reject);
    sent.end(content);
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A tenant of a running service. */
export class Tenant {
  readonly token: string;
  /** What `POST /accounts` answered. */
  readonly account: ApiAnswer['json'];
  readonly #address: string;
  readonly #host: string;

  constructor(address: string, account: ApiAnswer['json'], token: string = account.token) {
    this.#address = address;
    this.account = account;
    this.token = token;
    this.#host = new URL(account.api_url).hostname;
  }

  /** The same tenant, served at another address, such as after a restart. */
  at(address: string): Tenant {
    return new Tenant(address, this.account, this.token);
  }

  /** The same tenant, asked with another token. */
  withToken(token: string): Tenant {
    return new Tenant(this.#address, this.account, token);
  }

  /** Path relative to `/api/v1`. */
  ask(
    call: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ApiAnswer> {
    const [method, path] = call.split(' ') as ['GET', string];
    return ask(this.#address, `${method} /api/v1${path}`, {
      body,
      headers: { host: this.#host, authorization: `Bearer ${this.token}`, ...headers },
    });
  }

  /** The body of the answer, which must be a good one. */
  async make(path: string, body: unknown): Promise<ApiAnswer['json']> {
    const { status, json, text } = await this.ask(`POST /${path}`, body);
    if (status !== 200 && status !== 201) throw new Error(`POST /${path}: ${status} ${text}`);
    return json;
  }

  /** The task as it is once `holds` is true of it. */
  async taskUntil(id: string, holds: (task: ApiAnswer['json']) => boolean): Promise<ApiAnswer['json']> {
    let json: ApiAnswer['json'];
    await until(async () => {
      ({ json } = await this.ask(`GET /tasks/${id}`));
      return holds(json);
    });
    return json;
  }

  taskIn(id: string, status: string): Promise<ApiAnswer['json']> {
    return this.taskUntil(id, task => task.status === status);
  }

  /** Event by event, the oldest first. */
  async history(id: string): Promise<readonly ApiAnswer['json'][]> {
    return (await this.ask(`GET /tasks/${id}/history?order=asc`)).json.data;
  }
}

export function askForAccount(
  service: Pick<ServiceProcess, 'http'>,
  domain: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<ApiAnswer> {
  return ask(service.http, 'POST /accounts', {
    body: { domain },
    headers: { host: 'localhost', ...headers },
  });
}

/** A new tenant of a service that lets callers on this machine make one. */
export async function newTenant(
  service: Pick<ServiceProcess, 'http'>,
  domain = 'acme',
  headers: Readonly<Record<string, string>> = {},
): Promise<Tenant> {
  const { status, json, text } = await askForAccount(service, domain, headers);
  if (status !== 201) throw new Error(`no account ${domain}: ${status} ${text}`);
  return new Tenant(service.http, json);
}

/** An address of this machine that is not on the loopback interface; the loopback one where there is no other. */
export function outerAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap(each => each ?? []);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
}
