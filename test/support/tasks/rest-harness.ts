import { createHash } from 'node:crypto';
import { SafeAddresses } from '../../../src/tasks/delivery/worker-url.ts';
import type { VerifiedTokens } from '../../../src/tasks/identity/verified-tokens.ts';
import { DEFAULT_TENANT_LIMITS, type DocumentKind } from '../../../src/tasks/model/documents.ts';
import { IdMaker } from '../../../src/tasks/model/ids.ts';
import { Signals } from '../../../src/tasks/model/signals.ts';
import { auditRoutes } from '../../../src/tasks/rest/access/audit.ts';
import { meRoute } from '../../../src/tasks/rest/access/me.ts';
import { limitRoutes } from '../../../src/tasks/rest/access/tenant-limits.ts';
import { tokenRoutes } from '../../../src/tasks/rest/accounts/tokens.ts';
import { userRoutes } from '../../../src/tasks/rest/accounts/users.ts';
import { PROBLEMS, type ProblemCode } from '../../../src/tasks/rest/checks/problem-list.ts';
import type { ReadHeader, RestRequest, RestResponse } from '../../../src/tasks/rest/http/http.ts';
import type {
  ApiCall,
  ApiLimits,
  ApiLimitVerdict,
  RestConfig,
  RestParts,
} from '../../../src/tasks/rest/http/parts.ts';
import type { Route } from '../../../src/tasks/rest/http/route.ts';
import { RestService } from '../../../src/tasks/rest/rest-service.ts';
import { UsedShares } from '../../../src/tasks/rest/threads/thread-signals.ts';
import { Directory } from '../../../src/tasks/store/directory.ts';
import type { DocumentChange, StoredDocument } from '../../../src/tasks/store/documents.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { KeepingLogger } from '../keeping-logger.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryStore } from './memory-store.ts';

/** 2026-03-01T10:00:00Z, and the time of all harnesses at first. */
export const HARNESS_START_MS = Date.UTC(2026, 2, 1, 10);

/** What a test asks; everything left out is usual. */
export interface Asked {
  readonly token?: string | undefined;
  /** Becomes JSON; text and bytes are sent as they are. */
  readonly body?: unknown;
  readonly headers?: Readonly<Partial<Record<ReadHeader, string>>>;
  /** `acme.tasks.test` unless given. */
  readonly host?: string;
  readonly remoteAddress?: string;
}

export interface Answered extends RestResponse {
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects by comparing
  readonly json: any;
}

/** Decides as a test says; allows everything, without a limit, at first. */
export class ScriptedLimits implements ApiLimits {
  readonly calls: ApiCall[] = [];
  verdict: ApiLimitVerdict | Error = { allowed: true, nearest: null };

  async ask(call: ApiCall): Promise<ApiLimitVerdict> {
    this.calls.push(call);
    if (this.verdict instanceof Error) throw this.verdict;
    return this.verdict;
  }
}

export const HARNESS_CONFIG: RestConfig = {
  serviceHost: 'tasks.test',
  scheme: 'https',
  publicPort: 0,
  signup: 'open',
  operatorToken: '',
  tenantHeader: false,
  jwt: { tenantClaim: '', autoProvision: false, defaultRole: 'member' },
  urls: { addresses: new SafeAddresses([]), allowHttp: false, ports: [] },
  limits: DEFAULT_TENANT_LIMITS,
  limitDomains: [],
  cursorKey: Buffer.alloc(32, 7),
};

/** A store that has started, and the clock that it takes its time from. */
export interface ClockedStore {
  readonly clock: ManualClock;
  readonly store: TaskStore;
}

export interface HarnessOptions {
  /** A new one in memory unless given. */
  readonly over?: ClockedStore | undefined;
  readonly config?: Partial<RestConfig>;
  /** Beside those of users, tokens and limits. */
  readonly routes?: (parts: RestParts) => readonly Route[];
  readonly parts?: Partial<RestParts>;
  /** Who logs in with an identity provider. */
  readonly identities?: (clock: ManualClock, logger: KeepingLogger) => VerifiedTokens;
}

/** A REST service, over a store in memory unless a test gives another, with a clock that stands still and randomness that repeats. */
export class RestHarness {
  readonly clock: ManualClock;
  readonly logger = new KeepingLogger();
  readonly limits = new ScriptedLimits();
  readonly store: TaskStore;
  readonly parts: RestParts;
  /** All that are served. */
  readonly routes: readonly Route[];
  readonly service: RestService;
  readonly answers: string[] = [];

  constructor({
    over = inMemory(),
    config = {},
    routes = () => [],
    parts = {},
    identities,
  }: HarnessOptions = {}) {
    this.clock = over.clock;
    this.store = over.store;
    const randomBytes = repeatableBytes();
    const signals = new Signals();
    this.parts = {
      store: this.store,
      directory: new Directory(parts.store ?? this.store, this.clock),
      signals,
      sealer: notNeeded('sealer'),
      pullDesk: notNeeded('pullDesk'),
      tester: notNeeded('tester'),
      usedShares: new UsedShares(this.clock, signals),
      limitAsker: notNeeded('limitAsker'),
      apiLimits: this.limits,
      identities: identities?.(this.clock, this.logger) ?? null,
      ids: new IdMaker(() => this.clock.nowMs(), randomBytes),
      clock: this.clock,
      randomBytes,
      logger: this.logger,
      config: { ...HARNESS_CONFIG, ...config },
      ...parts,
    };
    this.routes = [
      ...userRoutes(this.parts),
      ...tokenRoutes(this.parts),
      ...limitRoutes(this.parts),
      meRoute(this.parts),
      ...auditRoutes(this.parts),
      ...routes(this.parts),
    ];
    this.service = new RestService({
      parts: this.parts,
      limits: this.limits,
      version: '1.2.3',
      routes: this.routes,
      onAnswer: (operation, status) => this.answers.push(`${operation} ${status}`),
    });
  }

  /** Makes an account; its domain is `acme` unless given. */
  async signUp(domain = 'acme'): Promise<{ readonly token: string; readonly ownerId: string }> {
    const { status, json } = await this.ask('POST', '/', { host: 'accounts.tasks.test', body: { domain } });
    if (status !== 201) throw new Error(`no account: ${JSON.stringify(json)}`);
    return { token: json.token, ownerId: json.owner.id };
  }

  /** A user of this role with a token; made by the owner, whose token is given. */
  async addUser(
    owner: string,
    role: string,
    scopes?: readonly string[],
  ): Promise<{ readonly id: string; readonly token: string }> {
    const email = `${role}-${this.parts.ids.next('request').toLowerCase()}@acme.test`;
    const user = await this.ask('POST', '/api/v1/users', { token: owner, body: { email, role } });
    const made = await this.ask('POST', `/api/v1/users/${user.json.id}/tokens`, {
      token: owner,
      body: scopes === undefined ? {} : { scopes },
    });
    if (made.status !== 201) throw new Error(`no token: ${made.body}`);
    return { id: user.json.id, token: made.json.token };
  }

  /** @param target path and query */
  async ask(method: string, target: string, asked: Asked = {}): Promise<Answered> {
    const [path, query = ''] = target.split('?');
    const response = await this.service.handle(requestOf(method, path, query, asked));
    return { ...response, json: response.body === '' ? undefined : JSON.parse(response.body) };
  }

  /** Changes the body of a document behind the service's back. */
  async change<K extends DocumentKind>(
    tenant: string,
    kind: K,
    id: string,
    change: (body: StoredDocument<K>['body']) => StoredDocument<K>['body'],
    unique: readonly string[] = [],
  ): Promise<void> {
    const document = await this.store.getDocument(tenant, kind, id);
    if (document === null) throw new Error(`there is no ${kind} ${id}`);
    const { parent, dueAt, body } = document;
    const changed = { op: 'put', kind, id, expect: 'any', parent, dueAt, unique, body: change(body) };
    await this.store.apply(tenant, [changed as DocumentChange]);
    this.parts.directory.changed(tenant);
  }
}

function requestOf(method: string, path: string, query: string, asked: Asked): RestRequest {
  const { token, body, headers = {}, host = 'acme.tasks.test', remoteAddress = '192.0.2.1' } = asked;
  return {
    method,
    host,
    path,
    query,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    remoteAddress,
    body: bytesOf(body),
    gone: new AbortController().signal,
  };
}

function bytesOf(body: unknown): Uint8Array {
  if (body === undefined) return new Uint8Array(0);
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function inMemory(): ClockedStore {
  const clock = new ManualClock(HARNESS_START_MS);
  return { clock, store: new MemoryStore(clock) };
}

/** Bytes of a SHA-512. */
const BLOCK = 64;

/** The same bytes in each run, never the same twice in one. */
function repeatableBytes(): (count: number) => Buffer {
  let asked = 0;
  return count => {
    const blocks: Buffer[] = [];
    while (blocks.length * BLOCK < count) {
      blocks.push(createHash('sha512').update(`random ${asked++}`).digest());
    }
    return Buffer.concat(blocks, count);
  };
}

/** Fails as soon as somebody needs it. */
function notNeeded<T extends object>(name: string): T {
  return new Proxy({} as T, {
    get: (_, property) => {
      throw new Error(`${name}.${String(property)} is not part of this test`);
    },
  });
}

/** What an answer must have that is this problem, and what its body says beside. */
export function problem(code: ProblemCode, body: object = {}) {
  return { status: PROBLEMS[code].status, json: { code, ...body } };
}
