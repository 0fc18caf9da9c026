import { DAY_MS } from '../../../base/clock.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import type { Account } from '../../model/documents.ts';
import { formatTime } from '../../model/time.ts';
import { ACCOUNT_ID, type DocumentChange, type StoredDocument } from '../../store/documents.ts';
import { putAgain } from '../../store/put-document.ts';
import type { Idempotency } from '../../store/requests.ts';
import { makeToken } from '../access/api-token.ts';
import { type Audited, auditEntry } from '../access/audit.ts';
import { isDomainText } from '../access/tenant-host.ts';
import { changedLimits, useOf } from '../access/tenant-limits.ts';
import { isActiveOwner } from '../access/user-fields.ts';
import { NAMED } from '../checks/example-names.ts';
import { Problem } from '../checks/problem.ts';
import { recordOf, replayOf } from '../http/idempotency.ts';
import { allDocuments, PAGE_QUERY, pageAnswer, pageSchema, readPage } from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import type { OperatorDescription, RestAnswer } from '../http/route.ts';
import { tryAgain } from '../http/try-again.ts';
import {
  ACCOUNT_CHANGE,
  ACCOUNT_STATE,
  accountState,
  LISTED_ACCOUNT,
  listedAccount,
} from './account-fields.ts';

/** A validated request of the operator. */
export interface OperatorCall {
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  readonly idempotency: Idempotency | null;
  readonly nowMs: number;
  /** Why an account is suspended; absent if the request has no reason. */
  readonly reason?: string;
}

export interface OperatorRoute extends OperatorDescription {
  handle(call: OperatorCall): Promise<RestAnswer>;
}

/** The name in cursors in place of a tenant. */
const LISTED_AS = 'accounts';
/** Lifetime of a token of an owner, and the maximum number of tokens of an owner if the operator creates them. */
const OWNER_TOKEN_MS = 366 * DAY_MS;
const MAX_OWNER_TOKENS = 10_000;
/** The deletion starts after all processes have seen the status, which they cache for one second. */
const DELETE_AFTER_MS = 3_000;

const OWNER_TOKEN: ObjectSchema = {
  type: 'object',
  name: 'OwnerToken',
  properties: {
    id: { type: 'string' },
    user_id: { type: 'string' },
    token: {
      type: 'string',
      nullable: true,
      description: 'Shown only here. Null if the response is replayed for an `Idempotency-Key`.',
    },
    expires_at: { type: 'string', format: 'date-time' },
  },
  example: {
    id: NAMED.ids.token,
    user_id: NAMED.ids.user,
    token: 'tk_acme_…',
    expires_at: '2027-03-02T10:00:00.000Z',
  },
};

const { limit, cursor } = PAGE_QUERY;
const ONE = { description: 'The account.', schema: ACCOUNT_STATE };

/** `/accounts`, except for the creation of accounts. */
export const OPERATOR_ROUTES = [
  {
    method: 'GET',
    path: '/accounts',
    operation: 'listAccounts',
    summary: 'List accounts by domain',
    query: { limit, cursor },
    answers: {
      200: { description: 'A page of accounts.', schema: pageSchema('AccountPage', LISTED_ACCOUNT) },
    },
  },
  {
    method: 'GET',
    path: '/accounts/:domain',
    operation: 'getAccount',
    summary: 'Read an account: its status, limits and use',
    answers: { 200: ONE },
  },
  {
    method: 'PATCH',
    path: '/accounts/:domain',
    operation: 'patchAccount',
    summary: 'Suspend or resume an account, or change its limits',
    body: ACCOUNT_CHANGE,
    answers: { 200: ONE },
    problems: ['invalid_transition'],
  },
  {
    method: 'DELETE',
    path: '/accounts/:domain',
    operation: 'deleteAccount',
    summary: 'Delete an account and everything in it; the deletion continues after the response',
    answers: { 202: { ...ONE, description: 'The deletion has started. `deletion` shows its progress.' } },
  },
  {
    method: 'POST',
    path: '/accounts/:domain/owner-token',
    operation: 'createOwnerToken',
    summary: 'Create a token for the first active owner of an account, if the owners have lost theirs',
    answers: { 201: { description: 'The token.', schema: OWNER_TOKEN } },
    problems: ['invalid_transition'],
  },
] as const satisfies readonly OperatorDescription[];

/** The routes with their handlers. */
export function operatorRoutes(parts: RestParts): readonly OperatorRoute[] {
  const accounts = new OperatorAccounts(parts);
  type Operation = (typeof OPERATOR_ROUTES)[number]['operation'];
  const handlers: Readonly<Record<Operation, OperatorRoute['handle']>> = {
    listAccounts: call => accounts.list(call),
    getAccount: call => accounts.read(call),
    patchAccount: call => accounts.change(call),
    deleteAccount: call => accounts.remove(call),
    createOwnerToken: call => accounts.createOwnerToken(call),
  };
  return OPERATOR_ROUTES.map(route => ({ ...route, handle: handlers[route.operation] }));
}

/** What the operator does with accounts. */
export class OperatorAccounts {
  readonly #parts: RestParts;

  constructor(parts: RestParts) {
    this.#parts = parts;
  }

  async list({ path, query }: OperatorCall): Promise<RestAnswer> {
    const { store, config } = this.#parts;
    const page = readPage(this.#parts, { tenant: LISTED_AS, path, query }, 'listAccounts', 'asc');
    const domains = await store.tenants(page.after, page.limit + 1);
    const found = await Promise.all(domains.map(domain => store.getDocument(domain, 'account', ACCOUNT_ID)));
    return pageAnswer(
      page,
      found.filter(account => account !== null),
      {
        placeOf: ({ body }) => body.domain,
        write: ({ body }) => JSON.stringify(listedAccount(body, config)),
      },
    );
  }

  async read(call: OperatorCall): Promise<RestAnswer> {
    return this.#shown(200, (await this.#account(call)).body);
  }

  async change(call: OperatorCall): Promise<RestAnswer> {
    const { status, limits } = call.body as AccountChange;
    const body = await this.#write(call, ({ body: before }) => {
      if (!isOpen(before)) throw isBeingDeleted(before);
      const after = {
        ...(status === undefined ? before : withStatus(before, status, call)),
        limits: limits === undefined ? before.limits : changedLimits(before.limits, limits),
      };
      return { after, dueAt: null, audited: auditedChange(before, after, limits) };
    });
    if (status === 'active') await this.#wakeWorkers(body.domain);
    return this.#shown(200, body);
  }

  async remove(call: OperatorCall): Promise<RestAnswer> {
    const dueAt = (await this.#parts.store.now()) + DELETE_AFTER_MS;
    const { requestId, nowMs } = call;
    const body = await this.#write(call, ({ body: before }) => {
      if (!isOpen(before)) return null;
      const deletion = { requestedAt: nowMs, requestId, finishedAt: null };
      const after = { ...before, status: 'deleting', deletion } as const;
      return { after, dueAt, audited: [{ action: 'account.deleted' }] };
    });
    return this.#shown(202, body);
  }

  async createOwnerToken(call: OperatorCall): Promise<RestAnswer> {
    const { store, directory } = this.#parts;
    const { body } = await this.#account(call);
    if (!isOpen(body)) throw isBeingDeleted(body);
    const userId = await this.#firstOwner(body.domain);
    const { text, change } = makeToken(this.#parts, {
      tenant: body.domain,
      userId,
      name: 'created by the operator',
      scopes: null,
      expiresAt: call.nowMs + OWNER_TOKEN_MS,
      createdBy: { type: 'system', id: 'operator' },
      atMost: MAX_OWNER_TOKENS,
      nowMs: call.nowMs,
    });
    const answer = (token: string | null): RestAnswer => ({
      status: 201,
      headers: { Location: `/api/v1/users/${userId}/tokens/${change.id}` },
      json: { id: change.id, user_id: userId, token, expires_at: formatTime(change.body.expiresAt) },
    });
    const details = { user: userId };
    const audited: Audited = { action: 'account.owner_token_created', targetId: change.id, details };
    const applied = await store.apply(
      body.domain,
      [change, this.#entry(call, audited)],
      recordOf(call, answer(null)),
    );
    directory.changed(body.domain);
    if (applied.kind === 'refused') throw noOwner(body.domain);
    return replayOf(applied) ?? answer(text);
  }

  /**
   * Changes the account in one step with the entries of the audit log.
   *
   * @param change returns null to leave the account unchanged
   */
  async #write(
    call: OperatorCall,
    change: (account: StoredDocument<'account'>) => {
      readonly after: Account;
      readonly dueAt: number | null;
      readonly audited: readonly Audited[];
    } | null,
  ): Promise<Account> {
    const { store, directory, signals, logger } = this.#parts;
    return tryAgain('the account', 'store_unavailable', async () => {
      const account = await this.#account(call);
      const changed = change(account);
      if (changed === null) return account.body;
      const { after: body, dueAt, audited } = changed;
      const applied = await store.apply(body.domain, [
        putAgain(account, body, { dueAt }),
        ...audited.map(each => this.#entry(call, each)),
      ]);
      if (applied.kind !== 'done') return null;
      directory.changed(body.domain);
      signals.tell('accountChanged', body.domain);
      for (const { action } of audited) {
        logger.info('Account changed by the operator', { tenant: body.domain, action });
      }
      return body;
    });
  }

  #entry({ requestId, nowMs }: OperatorCall, audited: Audited): DocumentChange {
    return auditEntry(this.#parts, { caller: null, requestId, nowMs }, audited);
  }

  /** Other processes have postponed the workers of the suspended account. They check them again within a second. */
  async #wakeWorkers(domain: string): Promise<void> {
    const { store } = this.#parts;
    const now = await store.now();
    for await (const { id, body } of allDocuments(store, domain, 'worker')) {
      if (body.mode === 'push' && !body.paused) await store.setWakeup(domain, id, now);
    }
  }

  async #firstOwner(domain: string): Promise<string> {
    for await (const { id, body } of allDocuments(this.#parts.store, domain, 'user')) {
      if (isActiveOwner(body)) return id;
    }
    throw noOwner(domain);
  }

  /** @throws Problem tenant_not_found */
  async #account({ params }: OperatorCall): Promise<StoredDocument<'account'>> {
    const domain = params['domain'].toLowerCase();
    const isPossible = isDomainText(domain);
    const account = isPossible ? await this.#parts.store.getDocument(domain, 'account', ACCOUNT_ID) : null;
    if (account === null) throw new Problem('tenant_not_found', 'There is no account with this domain.');
    return account;
  }

  async #shown(status: 200 | 202, account: Account): Promise<RestAnswer> {
    const { store, config } = this.#parts;
    const [use, counts] = await Promise.all([
      useOf(store, account.domain),
      store.counts(account.domain, null),
    ]);
    const tasks = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return { status, json: accountState(account, config, use, tasks) };
  }
}

interface AccountChange {
  readonly status?: 'active' | 'suspended';
  readonly limits?: Readonly<Record<string, string | number | null>>;
}

/** An account that is suspended again keeps the time of the first suspension. */
function withStatus(
  { suspension, ...account }: Account,
  status: 'active' | 'suspended',
  { nowMs, reason }: OperatorCall,
): Account {
  if (status === 'active') return { ...account, status };
  const known = { at: suspension?.at ?? nowMs, reason: reason ?? suspension?.reason ?? null };
  return { ...account, status, suspension: known };
}

function auditedChange(before: Account, after: Account, limits: AccountChange['limits']): Audited[] {
  const entries: Audited[] = [];
  if (before.status !== after.status) {
    entries.push({ action: after.status === 'active' ? 'account.resumed' : 'account.suspended' });
  }
  if (limits !== undefined) {
    const details = Object.fromEntries(
      Object.entries(limits).map(([name, value]) => [name, value ?? 'default']),
    );
    entries.push({ action: 'account.limits_changed', changed: Object.keys(limits), details });
  }
  return entries;
}

function isOpen({ status }: Account): boolean {
  return status === 'active' || status === 'suspended';
}

function isBeingDeleted({ domain, status }: Account): Problem {
  return new Problem(
    'invalid_transition',
    `The account ${domain} cannot be changed because its status is ${status}.`,
  );
}

function noOwner(domain: string): Problem {
  return new Problem('not_found', `The account ${domain} has no active owner.`);
}
