import type { User } from '../../model/documents.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { putAgain, putNew } from '../../store/put-document.ts';
import { readUser, requireChanging, requireRank, requireSeeing } from '../access/authorization.ts';
import { limitsOf } from '../access/tenant-limits.ts';
import { NEW_USER, showUser, USER, USER_CHANGE, withFields } from '../access/user-fields.ts';
import { acceptingAnswer, writableFields } from '../checks/field-reader.ts';
import { recordOf, replayOf } from '../http/idempotency.ts';
import { documentPage, PAGE_QUERY, pageSchema } from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import {
  type ExpectedVersions,
  entityTag,
  expectedVersion,
  expectedVersions,
} from '../http/request-headers.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { changeUser } from './user-changes.ts';

/** Fields that change when a user uses a token. */
const MOVING: ReadonlySet<string> = new Set(['last_seen_at', 'version']);

const USER_BODY = acceptingAnswer(USER_CHANGE, USER);

/** `/v1/users`: list, create, read, update, delete (specification 3.12). */
export function userRoutes(parts: RestParts): readonly Route[] {
  const one = { description: 'The user.', schema: USER };
  const changing = {
    operation: 'updateUser',
    summary: 'Change a user',
    path: '/v1/users/:id',
    access: { role: 'admin', scope: 'users:write' },
    body: USER_BODY,
    answers: { 200: one },
    problems: ['last_owner', 'name_taken', 'version_mismatch'],
    handle: (call: Call) => updateUser(parts, call),
  } as const;
  return [
    {
      method: 'GET',
      path: '/v1/users',
      operation: 'listUsers',
      summary: 'List users, newest first',
      access: { role: 'admin', scope: 'users:read' },
      query: PAGE_QUERY,
      answers: { 200: { description: 'A page of users.', schema: pageSchema('UserPage', USER) } },
      handle: call => listUsers(parts, call),
    },
    {
      method: 'POST',
      path: '/v1/users',
      operation: 'createUser',
      summary: 'Create a user',
      access: { role: 'admin', scope: 'users:write' },
      body: NEW_USER,
      answers: { 201: one },
      problems: ['name_taken', 'quota_exceeded'],
      handle: call => createUser(parts, call),
    },
    {
      method: 'GET',
      path: '/v1/users/:id',
      operation: 'getUser',
      summary: 'Read a user; only admins and owners can read other users',
      access: { role: 'viewer', scope: 'users:read' },
      answers: { 200: one },
      handle: call => getUser(parts, call),
    },
    { method: 'PUT', ...changing },
    { method: 'PATCH', ...changing, operation: 'patchUser' },
    {
      method: 'DELETE',
      path: '/v1/users/:id',
      operation: 'deleteUser',
      summary: 'Delete a user and their tokens',
      access: { role: 'admin', scope: 'users:write' },
      answers: { 204: { description: 'Deleted.' } },
      problems: ['last_owner', 'version_mismatch'],
      handle: call => removeUser(parts, call),
    },
  ];
}

async function listUsers(parts: RestParts, call: Call): Promise<RestAnswer> {
  const list = { kind: 'user', list: 'listUsers', view: showUser } as const;
  return documentPage(parts, call, list);
}

async function getUser(parts: RestParts, call: Call): Promise<RestAnswer> {
  const user = await readUser(parts.store, call);
  requireSeeing(call.caller, user);
  return shown(200, user);
}

async function createUser(parts: RestParts, call: Call): Promise<RestAnswer> {
  const { users: atMost } = limitsOf(parts, call);
  const body = withFields(emptyUser(call.nowMs), call.body, call.nowMs);
  requireRank(call.caller, body.role);
  const id = parts.ids.next('user');
  const answer = shown(201, { id, version: 1, body });
  const applied = await changeUser(parts, call, {
    plan: async () => ({ before: null, after: body, change: putNew('user', id, body, { atMost }) }),
    isConditional: false,
    record: recordOf(call, answer),
  });
  return replayOf(applied) ?? answer;
}

async function updateUser(parts: RestParts, call: Call): Promise<RestAnswer> {
  const meant = expectedVersions(call);
  let after: Pick<StoredDocument<'user'>, 'id' | 'version' | 'body'> | undefined;
  await changeUser(parts, call, {
    plan: async () => {
      const user = await readToChange(parts, call, meant);
      const fields = writableFields(call.body, USER_CHANGE, showUser(user), MOVING);
      const body = withFields(user.body, fields, call.nowMs);
      requireRank(call.caller, body.role);
      after = { id: user.id, version: user.version + 1, body };
      return { before: user.body, after: body, change: putAgain(user, body) };
    },
    isConditional: meant !== null,
  });
  return shown(200, after!);
}

async function removeUser(parts: RestParts, call: Call): Promise<RestAnswer> {
  const meant = expectedVersions(call);
  await changeUser(parts, call, {
    plan: async () => {
      const { id, version, body } = await readToChange(parts, call, meant);
      const change = { op: 'delete', kind: 'user', id, expect: version, children: 'token' } as const;
      return { before: body, after: null, change };
    },
    isConditional: meant !== null,
  });
  return { status: 204 };
}

async function readToChange(
  parts: RestParts,
  call: Call,
  meant: ExpectedVersions,
): Promise<StoredDocument<'user'>> {
  const user = await readUser(parts.store, call);
  requireChanging(call.caller, user, 'user');
  expectedVersion(meant, user.version);
  return user;
}

function shown(status: 200 | 201, user: Pick<StoredDocument<'user'>, 'id' | 'version' | 'body'>): RestAnswer {
  return {
    status,
    headers: {
      ETag: entityTag(user.version),
      ...(status === 201 && { Location: `/api/v1/users/${user.id}` }),
    },
    json: showUser(user),
  };
}

function emptyUser(nowMs: number): User {
  return {
    email: '',
    name: '',
    role: 'member',
    status: 'active',
    externalId: null,
    lastSeenAt: null,
    createdAt: nowMs,
    updatedAt: nowMs,
  };
}
