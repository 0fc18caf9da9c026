import type { Clock } from '../../../src/base/clock.ts';
import type {
  Account,
  ApiToken,
  AuditEntry,
  DocumentBodies,
  DocumentKind,
  Schedule,
  Secret,
  User,
  Worker,
} from '../../../src/tasks/model/documents.ts';
import { type IdKind, IdMaker } from '../../../src/tasks/model/ids.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/tasks/model/retry-policy.ts';
import type { Actor } from '../../../src/tasks/model/task.ts';
import { NO_CONTENT } from '../../../src/tasks/model/task-content.ts';
import { ACCOUNT_ID, type PutDocument } from '../../../src/tasks/store/documents.ts';
import { SeededRandom } from '../seeded-random.ts';

export const USER: Actor = { type: 'user', id: 'usr_1' };

/** Where a document lies, beside its body. */
type Filing<K extends DocumentKind> = Partial<Omit<PutDocument<K>, 'op' | 'kind' | 'body'>>;

/** The worker that a task is for: its document, or what matters of it. */
export type WorkerOf = { readonly id: string; readonly body: Pick<Worker, 'name'> };

/** Makes documents. Ids follow from the clock and the seed alone; what is not said has a plain value. */
export class DocumentFactory {
  protected readonly random: SeededRandom;
  readonly #clock: Clock;
  readonly #ids: IdMaker;

  constructor(clock: Clock, seed = 1) {
    this.#clock = clock;
    this.random = new SeededRandom(seed);
    this.#ids = new IdMaker(
      () => clock.nowMs(),
      count => Uint8Array.from({ length: count }, () => this.random.below(256)),
    );
  }

  id(kind: IdKind): string {
    return this.#ids.next(kind);
  }

  account(
    domain: string,
    body: Partial<Account> = {},
    filing: Filing<'account'> = {},
  ): PutDocument<'account'> {
    return document('account', ACCOUNT_ID, filing, {
      id: this.id('account'),
      domain,
      status: 'active',
      createdAt: this.#clock.nowMs(),
      owners: 1,
      limits: {},
      dataKey: null,
      ...body,
    });
  }

  user(body: Partial<User> = {}, filing: Filing<'user'> = {}): PutDocument<'user'> {
    const { email = 'ann@example.com', externalId = null } = body;
    const unique = [`email:${email.toLowerCase()}`];
    if (externalId !== null) unique.push(`external:${externalId}`);
    return document(
      'user',
      this.id('user'),
      { unique, ...filing },
      {
        email,
        name: 'Ann',
        role: 'owner',
        status: 'active',
        externalId,
        lastSeenAt: null,
        createdAt: this.#clock.nowMs(),
        updatedAt: this.#clock.nowMs(),
        ...body,
      },
    );
  }

  /** @param hash the SHA-256 of the token, hex */
  token(userId: string, hash: string, body: Partial<ApiToken> = {}): PutDocument<'token'> {
    return document(
      'token',
      this.id('token'),
      { parent: userId, unique: [`hash:${hash}`] },
      {
        userId,
        name: 'laptop',
        scopes: null,
        expiresAt: this.#clock.nowMs() + 90 * 86_400_000,
        lastUsedAt: null,
        createdAt: this.#clock.nowMs(),
        createdBy: USER,
        ...body,
      },
    );
  }

  worker(body: Partial<Worker> = {}, filing: Filing<'worker'> = {}): PutDocument<'worker'> {
    const { name = 'mailer', resumeAt = null } = body;
    return document(
      'worker',
      this.id('worker'),
      { unique: [`name:worker:${name}`], dueAt: resumeAt, ...filing },
      {
        name,
        mode: 'push',
        url: 'https://mailer.example.com/tasks',
        method: 'POST',
        headers: {},
        timeoutMs: 30_000,
        leaseMs: 60_000,
        retry: DEFAULT_RETRY_POLICY,
        concurrency: null,
        rate: null,
        priority: 'normal',
        noRetryOn: [],
        paused: false,
        pauseReason: null,
        resumeAt,
        autoPauseAfterMs: null,
        createdAt: this.#clock.nowMs(),
        updatedAt: this.#clock.nowMs(),
        ...body,
      },
    );
  }

  secret(workerId: string, body: Partial<Secret> = {}, filing: Filing<'secret'> = {}): PutDocument<'secret'> {
    return document(
      'secret',
      this.id('secret'),
      { parent: workerId, ...filing },
      {
        workerId,
        type: 'signing',
        name: 'default',
        fingerprint: '0123456789ab',
        sealed: 'c2VhbGVk',
        createdAt: this.#clock.nowMs(),
        createdBy: USER,
        lastUsedAt: null,
        expiresAt: null,
        ...body,
      },
    );
  }

  audit(body: Partial<AuditEntry> = {}, filing: Filing<'audit'> = {}): PutDocument<'audit'> {
    return document('audit', this.id('audit'), filing, {
      at: this.#clock.nowMs(),
      action: 'user.created',
      actor: USER,
      tokenId: null,
      targetId: 'usr_1',
      targetName: null,
      changed: [],
      details: {},
      requestId: 'req_1',
      ...body,
    });
  }

  schedule(
    worker: WorkerOf,
    body: Partial<Schedule> = {},
    filing: Filing<'schedule'> = {},
  ): PutDocument<'schedule'> {
    const { name = 'nightly', nextAt = this.#clock.nowMs() + 60_000 } = body;
    return document(
      'schedule',
      this.id('schedule'),
      { unique: [`name:schedule:${name}`], dueAt: nextAt, ...filing },
      {
        name,
        workerId: worker.id,
        worker: worker.body.name,
        task: {
          ...NO_CONTENT,
          payload: null,
          headers: {},
          priority: null,
          timeoutMs: null,
          retry: null,
        },
        cron: null,
        everyMs: 60_000,
        phaseMs: 0,
        timezone: 'UTC',
        overlap: 'skip',
        catchUp: { mode: 'latest', windowMs: 3_600_000, max: 100 },
        dst: { gap: 'run_after', overlap: 'once' },
        paused: false,
        pauseReason: null,
        resumeAt: null,
        nextAt,
        lastRun: null,
        fired: 0,
        skippedOverlap: 0,
        skippedWindow: 0,
        createdAt: this.#clock.nowMs(),
        updatedAt: this.#clock.nowMs(),
        ...body,
      },
    );
  }
}

function document<K extends DocumentKind>(
  kind: K,
  id: string,
  filing: Filing<K>,
  body: DocumentBodies[K],
): PutDocument<K> {
  return { op: 'put', kind, id, expect: 'absent', parent: '', dueAt: null, unique: [], ...filing, body };
}
