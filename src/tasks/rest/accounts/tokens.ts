import { DAY_MS } from '../../../base/clock.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import type { ApiToken } from '../../model/documents.ts';
import { isId } from '../../model/ids.ts';
import { formatTime, parseTime, TIME_ACCEPTED } from '../../model/time.ts';
import type { DocumentChange, DocumentRefusal, StoredDocument } from '../../store/documents.ts';
import { makeToken } from '../access/api-token.ts';
import { auditEntry } from '../access/audit.ts';
import {
  expandScopes,
  noSuchUser,
  readUser,
  requireChanging,
  requireRoleOf,
  requireSeeing,
  requireWithin,
  SCOPE_NAMES,
} from '../access/authorization.ts';
import { limitsOf, quotaExceeded } from '../access/tenant-limits.ts';
import { isActiveOwner } from '../access/user-fields.ts';
import { NAMED } from '../checks/example-names.ts';
import { Problem, problemAt } from '../checks/problem.ts';
import { type FieldTable, fieldsOf, shownBy, TEXT, TIME, takenBy, viewOf } from '../checks/resource.ts';
import { earlierAnswer, recordOf, replayOf } from '../http/idempotency.ts';
import { documentPage, PAGE_QUERY, pageSchema } from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { tryAgain } from '../http/try-again.ts';
import { accountWithoutOwner } from './user-changes.ts';

const DEFAULT_LIFE_MS = 90 * DAY_MS;
const MAX_LIFE_MS = 366 * DAY_MS;

const of = fieldsOf<ApiToken>();

/** All fields of a token (specification 3.12), apart from its id. */
const TOKEN_FIELDS: FieldTable<ApiToken> = {
  user_id: of.shown('userId', { ...TEXT, example: NAMED.ids.user }),
  name: {
    takes: { type: 'string', max: 100, description: 'The purpose of the token.' },
    shows: { ...TEXT, example: 'deployment' },
    show: ({ name }) => name,
  },
  scopes: {
    takes: {
      type: 'array',
      items: { type: 'string', enum: SCOPE_NAMES },
      min: 1,
      max: SCOPE_NAMES.length,
      nullable: true,
      description:
        'Restricts the token to these scopes. If null or left out, the token allows everything that the role of the user allows.',
    },
    shows: { type: 'array', items: TEXT, nullable: true, example: ['tasks:read', 'tasks:write'] },
    show: ({ scopes }) => scopes,
  },
  expires_at: {
    takes: {
      type: 'string',
      format: 'date-time',
      max: 64,
      description: 'At most 366 days ahead. Default: 90 days ahead.',
    },
    shows: { ...TIME, example: '2026-06-01T00:00:00.000Z' },
    show: ({ expiresAt }) => formatTime(expiresAt),
  },
  last_used_at: of.stamp('lastUsedAt', { nullable: true, description: 'Accurate to ten minutes.' }),
  created_at: of.stamp('createdAt'),
  created_by: of.shown('createdBy', {
    type: 'object',
    properties: { type: TEXT, id: TEXT },
    example: NAMED.actor,
  }),
};

const NEW_TOKEN: ObjectSchema = {
  type: 'object',
  name: 'NewToken',
  properties: takenBy(TOKEN_FIELDS, 'new'),
  example: {
    name: 'deployment',
    scopes: ['tasks:read', 'tasks:write'],
    expires_at: '2026-06-01T00:00:00.000Z',
  },
};

const TOKEN: ObjectSchema = {
  type: 'object',
  name: 'Token',
  properties: { id: { ...TEXT, example: NAMED.ids.token }, ...shownBy(TOKEN_FIELDS) },
};

const MADE_TOKEN: ObjectSchema = {
  ...TOKEN,
  name: 'MadeToken',
  properties: {
    ...TOKEN.properties,
    token: {
      type: 'string',
      nullable: true,
      description: 'Shown only here. Null if the response is replayed for an `Idempotency-Key`.',
      example: 'tk_acme_…',
    },
  },
};

/** `/v1/users/:id/tokens`: list, create, delete (specification 3.12). */
export function tokenRoutes(parts: RestParts): readonly Route[] {
  const path = '/v1/users/:id/tokens';
  return [
    {
      method: 'GET',
      path,
      operation: 'listTokens',
      summary: 'List the tokens of a user; only admins and owners can list those of other users',
      access: { role: 'viewer', scope: 'users:read' },
      query: PAGE_QUERY,
      answers: { 200: { description: 'A page of tokens.', schema: pageSchema('TokenPage', TOKEN) } },
      handle: call => listTokens(parts, call),
    },
    {
      method: 'POST',
      path,
      operation: 'createToken',
      summary:
        'Create a token of a user; only admins and owners can create tokens of other users, and only owners those of owners',
      access: { role: 'viewer', scope: 'users:write' },
      body: NEW_TOKEN,
      bodyOptional: true,
      answers: { 201: { description: 'The token.', schema: MADE_TOKEN } },
      problems: ['quota_exceeded'],
      handle: call => createToken(parts, call),
    },
    {
      method: 'DELETE',
      path: `${path}/:token_id`,
      operation: 'deleteToken',
      summary: 'Delete a token; requests with it are rejected after at most one second',
      access: { role: 'viewer', scope: 'users:write' },
      answers: { 204: { description: 'Deleted.' } },
      problems: ['last_owner_token'],
      handle: call => removeToken(parts, call),
    },
  ];
}

async function listTokens(parts: RestParts, call: Call): Promise<RestAnswer> {
  const { store } = parts;
  const user = await readUser(store, call);
  requireSeeing(call.caller, user);
  const list = { kind: 'token', list: 'listTokens', parent: user.id, view: showToken } as const;
  return documentPage(parts, call, list);
}

async function createToken(parts: RestParts, call: Call): Promise<RestAnswer> {
  const { store } = parts;
  const user = await readUser(store, call);
  requireChanging(call.caller, user, 'tokens');
  requireRoleOf(call.caller, user);
  const earlier = await earlierAnswer(store, call);
  if (earlier !== null) return earlier;
  const { tokensPerUser } = limitsOf(parts, call);
  const { name, scopes, expires_at: expiresAt } = call.body as NewToken;
  const narrowed = scopes === undefined || scopes === null ? null : expandScopes(scopes);
  requireWithin(call.caller, narrowed);
  const { text, change } = makeToken(parts, {
    tenant: call.tenant,
    userId: user.id,
    name: name ?? '',
    scopes: narrowed,
    expiresAt: readExpiry(expiresAt, call.nowMs),
    createdBy: call.caller.actor,
    atMost: tokensPerUser,
    nowMs: call.nowMs,
  });
  const answer = (token: string | null) => madeToken(user.id, change.id, change.body, token);
  const applied = await store.apply(
    call.tenant,
    [
      change,
      auditEntry(parts, call, {
        action: 'token.created',
        targetId: change.id,
        targetName: change.body.name,
        details: { user: user.id },
      }),
    ],
    recordOf(call, answer(null)),
  );
  parts.directory.changed(call.tenant);
  if (applied.kind === 'refused') throw refused(applied.reason, tokensPerUser);
  return replayOf(applied) ?? answer(text);
}

async function removeToken(parts: RestParts, call: Call): Promise<RestAnswer> {
  const { store, directory } = parts;
  const user = await readUser(store, call);
  requireChanging(call.caller, user, 'tokens');
  const id = call.params['token_id'];
  return tryAgain('owners', 'store_unavailable', async () => {
    const token = isId('token', id) ? await store.getDocument(call.tenant, 'token', id) : null;
    if (token === null || token.parent !== user.id) throw noSuchToken();
    const applied = await store.apply(call.tenant, [
      { op: 'delete', kind: 'token', id, expect: 'any' },
      ...(await accountChange(parts, call, user, id)),
      auditEntry(parts, call, {
        action: 'token.deleted',
        targetId: id,
        targetName: token.body.name,
        details: { user: user.id },
      }),
    ]);
    directory.changed(call.tenant);
    return applied.kind === 'done' ? { status: 204 } : null;
  });
}

/** @throws Problem last_owner_token */
async function accountChange(
  { store }: RestParts,
  call: Call,
  user: StoredDocument<'user'>,
  tokenId: string,
): Promise<readonly DocumentChange[]> {
  if (!isActiveOwner(user.body)) return [];
  const owners = (count: number) => count;
  const leaving = { tokenId };
  return [await accountWithoutOwner(store, call.tenant, { leaving, owners, nowMs: call.nowMs })];
}

interface NewToken {
  readonly name?: string;
  readonly scopes?: readonly string[] | null;
  readonly expires_at?: string;
}

/** @throws Problem validation_failed */
function readExpiry(text: string | undefined, nowMs: number): number {
  if (text === undefined) return nowMs + DEFAULT_LIFE_MS;
  const at = parseTime(text);
  if (at === null) throw expiryFault(`/expires_at must be ${TIME_ACCEPTED}`);
  if (at <= nowMs) throw expiryFault('/expires_at must be in the future');
  if (at > nowMs + MAX_LIFE_MS) throw expiryFault('/expires_at must be at most 366 days ahead');
  return at;
}

function expiryFault(detail: string): Problem {
  return problemAt({ pointer: '/expires_at' }, 'validation_failed', detail);
}

function refused(reason: DocumentRefusal, most: number): Problem {
  if (reason !== 'too_many') return noSuchUser();
  return quotaExceeded(
    'tokens_per_user',
    most,
    `The user already has ${most} tokens, which is the limit. Delete a token that is not needed.`,
  );
}

function noSuchToken(): Problem {
  return new Problem('not_found', 'The user has no such token. Token ids begin with tok_.');
}

function showToken({ id, body }: Pick<StoredDocument<'token'>, 'id' | 'body'>): object {
  return { id, ...viewOf(TOKEN_FIELDS, body) };
}

function madeToken(userId: string, id: string, body: ApiToken, token: string | null): RestAnswer {
  return {
    status: 201,
    headers: { Location: `/api/v1/users/${userId}/tokens/${id}` },
    json: { ...showToken({ id, body }), token },
  };
}
