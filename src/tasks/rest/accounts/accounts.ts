import { DAY_MS } from '../../../base/clock.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { schemaCheck } from '../../../base/schema/schema-check.ts';
import type { Account, User } from '../../model/documents.ts';
import { formatTime } from '../../model/time.ts';
import { ACCOUNT_ID, type DocumentChange } from '../../store/documents.ts';
import { putNew } from '../../store/put-document.ts';
import type { Idempotency } from '../../store/requests.ts';
import { makeToken } from '../access/api-token.ts';
import { auditEntry } from '../access/audit.ts';
import { isOperator, requireSignup } from '../access/authentication.ts';
import { isDomainText, tenantOrigin } from '../access/tenant-host.ts';
import { NAMED } from '../checks/example-names.ts';
import { Problem, problemAt } from '../checks/problem.ts';
import type { CallLimits } from '../http/call-limits.ts';
import type { RestRequest } from '../http/http.ts';
import { idempotencyOf, type RunningKeys, recordOf, replayOf } from '../http/idempotency.ts';
import { OPERATOR, type RestParts } from '../http/parts.ts';
import { readJsonBody, readQuery } from '../http/read-request.ts';
import { requireJsonAccepted } from '../http/request-headers.ts';
import type { AnswerDescription, OperatorDescription, RestAnswer } from '../http/route.ts';
import { ACCOUNT_PROPERTIES } from './account-fields.ts';

/** The name under which API limits count calls that create accounts. It is a reserved domain. */
const COUNTED_AS = 'accounts';
/** Lifetime of the first token of an account: the maximum for tokens. */
const OWNER_TOKEN_MS = 366 * DAY_MS;

/** Domains that belong to the service, or that callers could mistake for something else. */
const RESERVED: ReadonlySet<string> = new Set(
  'www api accounts auth admin app status docs mail static cdn localhost ns1 ns2 metrics'.split(' '),
);

const NO_PARAMETERS: ReadonlySet<string> = new Set();

const ACCOUNT_BODY: ObjectSchema = {
  type: 'object',
  name: 'NewAccount',
  properties: {
    domain: {
      type: 'string',
      max: 64,
      description:
        'The subdomain of the tenant: 3 to 40 of a-z, 0-9 and single hyphens, beginning with a letter. Uppercase ' +
        'letters are converted to lowercase. The domain never changes.',
    },
  },
  example: { domain: NAMED.domain },
};

const ACCOUNT_ANSWER: AnswerDescription = {
  description: 'The account, and the first token of its owner, which is shown only here.',
  schema: {
    type: 'object',
    name: 'Account',
    properties: {
      ...ACCOUNT_PROPERTIES,
      status: { type: 'string', enum: ['active', 'suspended', 'deleting'] },
      owner: { type: 'object', properties: { id: { type: 'string' } } },
      token: {
        type: 'string',
        nullable: true,
        description:
          'Null if the response is replayed for an `Idempotency-Key`, because the token is not stored.',
      },
      token_expires_at: { type: 'string', format: 'date-time' },
    },
    example: {
      owner: { id: NAMED.ids.user },
      token: 'tk_acme_…',
      token_expires_at: '2027-02-02T08:00:00.000Z',
    },
  },
};

/** `POST /accounts`, which {@link Accounts} handles. */
export const CREATE_ACCOUNT: OperatorDescription = {
  method: 'POST',
  path: '/accounts',
  operation: 'createAccount',
  summary: 'Create an account: a tenant with its own subdomain, and its first owner',
  body: ACCOUNT_BODY,
  answers: { 201: ACCOUNT_ANSWER },
  problems: ['domain_taken', 'invalid_domain'],
};

const checkBody = schemaCheck(ACCOUNT_BODY);

/** Creates accounts (specification 3.1). */
export class Accounts {
  readonly #parts: RestParts;
  readonly #limits: CallLimits;
  readonly #running: RunningKeys;

  constructor(parts: RestParts, limits: CallLimits, running: RunningKeys) {
    this.#parts = parts;
    this.#limits = limits;
    this.#running = running;
  }

  /** @throws Problem */
  async create(request: RestRequest, requestId: string): Promise<RestAnswer> {
    const { config } = this.#parts;
    const user = isOperator(request, config) ? OPERATOR : '';
    const headers = await this.#limits.count({ tenant: COUNTED_AS, kind: 'write', user }, request);
    requireSignup(request, config);
    requireJsonAccepted(request);
    readQuery(request.query, NO_PARAMETERS);
    if (request.takeBody !== undefined) throw bodyTooLarge();
    const domain = domainOf(readJsonBody(request, checkBody, false)['domain'] as string);
    const idempotency = idempotencyOf(request, COUNTED_AS);
    const answer = await this.#running.during(domain, idempotency, () =>
      this.#make(domain, idempotency, requestId),
    );
    return { ...answer, headers: { ...headers, ...answer.headers } };
  }

  async #make(domain: string, idempotency: Idempotency | null, requestId: string): Promise<RestAnswer> {
    const { store, directory, ids } = this.#parts;
    const nowMs = this.#parts.clock.nowMs();
    const account = newAccount(ids.next('account'), domain, nowMs);
    const ownerId = ids.next('user');
    const { text, change: token } = makeToken(this.#parts, {
      tenant: domain,
      userId: ownerId,
      name: 'first token of the owner',
      scopes: null,
      expiresAt: nowMs + OWNER_TOKEN_MS,
      createdBy: { type: 'system', id: 'accounts' },
      atMost: 1,
      nowMs,
    });
    const answer = this.#answer(account, ownerId, nowMs + OWNER_TOKEN_MS);
    const changes: DocumentChange[] = [
      putNew('account', ACCOUNT_ID, account),
      putNew('user', ownerId, newOwner(domain, nowMs)),
      token,
      auditEntry(
        this.#parts,
        { caller: null, requestId, nowMs },
        { action: 'account.created', targetName: domain },
      ),
    ];
    const applied = await store.apply(domain, changes, recordOf({ idempotency }, answer(null)));
    directory.changed(domain);
    if (applied.kind === 'refused') {
      throw new Problem('domain_taken', `The domain ${domain} is taken. Choose another one.`);
    }
    return replayOf(applied) ?? answer(text);
  }

  #answer(account: Account, ownerId: string, tokenExpiresAt: number): (token: string | null) => RestAnswer {
    const url = `${tenantOrigin(this.#parts.config, account.domain)}/api/v1`;
    return token => ({
      status: 201,
      headers: { Location: url },
      json: {
        id: account.id,
        domain: account.domain,
        api_url: url,
        status: account.status,
        created_at: formatTime(account.createdAt),
        owner: { id: ownerId },
        token,
        token_expires_at: formatTime(tokenExpiresAt),
      },
    });
  }
}

/**
 * Account creation may be open to everyone. A body so large that the caller must be identified before it is received is
 * therefore rejected.
 */
function bodyTooLarge(): Problem {
  return new Problem(
    'body_too_large',
    'The body is too large. The body of this request contains only a domain.',
  );
}

/** @throws Problem invalid_domain */
function domainOf(text: string): string {
  const domain = text.toLowerCase();
  const detail = !isDomainText(domain)
    ? '/domain must have 3 to 40 characters out of a-z, 0-9 and single hyphens, begin with a letter, and not end with a hyphen'
    : RESERVED.has(domain)
      ? `/domain must not be ${domain}, which is reserved for the service`
      : null;
  if (detail === null) return domain;
  throw problemAt({ pointer: '/domain' }, 'invalid_domain', detail);
}

function newAccount(id: string, domain: string, nowMs: number): Account {
  return { id, domain, status: 'active', createdAt: nowMs, owners: 1, limits: {}, dataKey: null };
}

/** The email of the owner is unknown, so the owner gets an address that receives no mail and can be changed later. */
function newOwner(domain: string, nowMs: number): User {
  return {
    email: `owner@${domain}.invalid`,
    name: 'Owner',
    role: 'owner',
    status: 'active',
    externalId: null,
    lastSeenAt: null,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
}
