import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { ROLES, SCOPES } from '../../model/documents.ts';
import { formatTime } from '../../model/time.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { NAMED } from '../checks/example-names.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { invalidToken } from './authentication.ts';

const ANSWER: ObjectSchema = {
  type: 'object',
  name: 'Me',
  properties: {
    account: {
      type: 'object',
      properties: {
        id: { type: 'string' },
        domain: { type: 'string' },
        status: {
          type: 'string',
          enum: ['active', 'suspended'],
          description: 'A suspended account can be read but not changed, and no task starts.',
        },
      },
    },
    user: {
      type: 'object',
      properties: { id: { type: 'string' }, email: { type: 'string' }, name: { type: 'string' } },
    },
    role: {
      type: 'string',
      enum: ROLES,
      description:
        'The role of this caller. A login at an identity provider can have another one than the user.',
    },
    token: {
      type: 'object',
      nullable: true,
      description: 'The token of this call; null for a login at an identity provider.',
      properties: {
        id: { type: 'string' },
        name: { type: 'string' },
        expires_at: { type: 'string', format: 'date-time' },
      },
    },
    scopes: {
      type: 'array',
      nullable: true,
      items: { type: 'string', enum: SCOPES },
      description: 'What the token may be used for; null for all that the role allows.',
    },
  },
  example: {
    account: { id: NAMED.ids.account, domain: NAMED.domain, status: 'active' },
    user: { id: NAMED.ids.user, email: NAMED.email, name: 'Ann' },
    role: 'admin',
    token: { id: NAMED.ids.token, name: 'deployment', expires_at: '2026-06-01T00:00:00.000Z' },
    scopes: ['tasks:read', 'tasks:write'],
  },
};

/** `GET /v1/me`: who the caller is, and what it may do. Interfaces for people need it to offer only what is allowed. */
export function meRoute({ directory }: Pick<RestParts, 'directory'>): Route {
  return {
    method: 'GET',
    path: '/v1/me',
    operation: 'getMe',
    summary: 'Read the user, the role and the scopes of the caller',
    access: { role: 'viewer', scope: null },
    answers: { 200: { description: 'The caller.', schema: ANSWER } },
    handle: async call => {
      const { caller, tenant } = call;
      // Workers have no role, so they do not get here.
      if (caller.kind !== 'user') throw invalidToken();
      const [user, token] = await Promise.all([
        directory.get(tenant, 'user', caller.userId),
        caller.tokenId === null ? null : directory.get(tenant, 'token', caller.tokenId),
      ]);
      if (user === null) throw invalidToken();
      return shown(call, user, token);
    },
  };
}

function shown(
  { account, caller }: Call,
  user: StoredDocument<'user'>,
  token: StoredDocument<'token'> | null,
): RestAnswer {
  const { role, scopes } = caller as Extract<Call['caller'], { kind: 'user' }>;
  return {
    status: 200,
    json: {
      account: { id: account.body.id, domain: account.body.domain, status: account.body.status },
      user: { id: user.id, email: user.body.email, name: user.body.name },
      role,
      token: token && { id: token.id, name: token.body.name, expires_at: formatTime(token.body.expiresAt) },
      scopes,
    },
  };
}
