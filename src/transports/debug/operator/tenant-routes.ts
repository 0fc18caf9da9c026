import type { LogFields } from '../../../base/logger.ts';
import type { ObjectSchema, StringSchema } from '../../../base/schema/schema.ts';
import { LIMITS_CHANGE } from '../../../tasks/rest/access/tenant-limits.ts';
import { ACCOUNT_STATE } from '../../../tasks/rest/accounts/account-fields.ts';
import { Problem } from '../../../tasks/rest/checks/problem.ts';
import type { ProblemCode } from '../../../tasks/rest/checks/problem-list.ts';
import {
  TENANT_SORTS,
  TENANT_STATUSES,
  type TenantAsk,
  type TenantListAsk,
} from '../../../tasks/rest/http/tenant-ask.ts';
import { TENANT } from '../../../tasks/rest/tenants/tenant-figures.ts';
import type { Tenants } from '../../../tasks/rest/threads/asked-tenants.ts';
import { choice, list, object, optional, orNull, text, time, whole } from './fields.ts';
import { OperatorProblem, type OperatorProblemCode } from './problem.ts';
import type { OperatorAnswer, OperatorCall, OperatorRoute } from './route.ts';
import { TENANT_OPERATIONS } from './tenant-operations.ts';

/** Maximum number of tenants in an answer. The figures of each are read from the store. */
const MAX_COUNT = 100;
const DEFAULT_COUNT = 50;
const MAX_OFFSET = 100_000;

const LIST: ObjectSchema = {
  ...object({
    time: time('By the clock of the store. The figures are those of this time.'),
    ordered_at: time(
      'When the names, or the figures that the order or the selection by status needs, were read: seconds ago, or longer ' +
        'with very many tenants.',
    ),
    total: whole('Number of tenants that match.'),
    cut_at: orNull(
      whole(
        'There are more than this number of tenants. The others, by domain, are neither listed nor counted in `total`. Null ' +
          'if all are.',
      ),
    ),
    offset: whole(),
    tenants: { ...list(TENANT), max: MAX_COUNT },
    unreadable: list(
      text(),
      'Domains of the page whose figures could not be read, for example because the store did not answer in time. ' +
        'Orders by figures leave such tenants out.',
    ),
  }),
  name: 'TenantList',
};

const DETAILS: ObjectSchema = {
  type: 'object',
  name: 'TenantDetails',
  properties: { ...ACCOUNT_STATE.properties, ...TENANT.properties, time: time() },
};

const OWNER_TOKEN: ObjectSchema = {
  ...object({
    id: text(),
    user_id: text('The first active owner.'),
    token: text('Shown only here.'),
    expires_at: time(),
  }),
  name: 'OwnerToken',
};

const REASON: StringSchema = {
  type: 'string',
  max: 500,
  pattern: /\S/,
  accepts: 'say why',
  description: 'Why, for other operators and the log. The tenant does not see it.',
};
const REASON_ONLY = object({ reason: REASON });

const ONE = { description: 'The tenant after the change.', schema: DETAILS };

/** The routes for the tenants of the task service. */
export function tenantRoutes(tenants: Tenants): OperatorRoute[] {
  const change = (call: OperatorCall, fields: Pick<TenantChange, 'status' | 'limits'>) => {
    const domain = domainOf(call);
    const ask: TenantAsk = { kind: 'change', domain, reason: String(call.body['reason']), ...fields };
    return answer(tenants, ask, { tenant: domain });
  };
  return [
    {
      ...TENANT_OPERATIONS.list,
      query: {
        q: optional({ ...text('A part of the domain, in any letter case.'), max: 64 }),
        status: optional(choice(TENANT_STATUSES)),
        sort: optional(
          choice(
            TENANT_SORTS,
            'By `domain` (the default), by creation, the newest first (`created`), by the time since when the oldest task ' +
              'is due (`oldest_due`), or by a number, the largest first.',
          ),
        ),
        offset: optional({ ...whole(), min: 0, max: MAX_OFFSET }),
        count: optional({ ...whole(), min: 1, max: MAX_COUNT }),
      },
      answer: { description: 'A page of tenants.', schema: LIST },
      handle: ({ query }) => answer(tenants, listOf(query)),
    },
    {
      ...TENANT_OPERATIONS.read,
      answer: { description: 'The tenant.', schema: DETAILS },
      handle: call => answer(tenants, { kind: 'read', domain: domainOf(call) }),
    },
    {
      ...TENANT_OPERATIONS.suspend,
      body: REASON_ONLY,
      answer: ONE,
      handle: call => change(call, { status: 'suspended' }),
    },
    {
      ...TENANT_OPERATIONS.resume,
      body: REASON_ONLY,
      answer: ONE,
      handle: call => change(call, { status: 'active' }),
    },
    {
      ...TENANT_OPERATIONS.limits,
      body: object({ limits: LIMITS_CHANGE, reason: REASON }),
      answer: ONE,
      handle: call => change(call, { limits: call.body['limits'] as NonNullable<TenantChange['limits']> }),
    },
    {
      ...TENANT_OPERATIONS.ownerToken,
      body: REASON_ONLY,
      answer: { status: 201, description: 'The token.', schema: OWNER_TOKEN },
      handle: async call => {
        const domain = domainOf(call);
        const { json } = await answer(tenants, { kind: 'owner_token', domain });
        const { id, user_id: user } = json;
        return { status: 201, json, audit: { tenant: domain, token_id: String(id), user: String(user) } };
      },
    },
  ];
}

type TenantChange = Extract<TenantAsk, { kind: 'change' }>;

function listOf(query: OperatorCall['query']): TenantListAsk {
  const given = query as Partial<Omit<TenantListAsk, 'kind'>>;
  return {
    kind: 'list',
    q: (given.q ?? '').toLowerCase(),
    status: given.status ?? null,
    sort: given.sort ?? 'domain',
    offset: given.offset ?? 0,
    count: given.count ?? DEFAULT_COUNT,
  };
}

function domainOf({ params }: OperatorCall): string {
  return params['domain'].toLowerCase();
}

/** @throws OperatorProblem */
async function answer(
  tenants: Tenants,
  ask: TenantAsk,
  audit: LogFields = {},
): Promise<OperatorAnswer & { readonly json: Readonly<Record<string, unknown>> }> {
  try {
    return { json: await tenants.ask(ask), audit };
  } catch (thrown) {
    throw thrown instanceof Problem ? operatorProblem(thrown) : thrown;
  }
}

/** The codes of the task service that reach an operator; all others are bugs. */
const CODES: Readonly<Partial<Record<ProblemCode, OperatorProblemCode>>> = {
  tenant_not_found: 'not_found',
  not_found: 'not_found',
  invalid_transition: 'conflict',
  validation_failed: 'validation_failed',
  store_unavailable: 'store_unavailable',
  overloaded: 'overloaded',
  interrupted: 'overloaded',
};

/** Details for which the task service has words that do not fit here. */
const DETAILS_HERE: Readonly<Partial<Record<ProblemCode, string>>> = {
  store_unavailable: 'The task store is unavailable. Repeat the request when it works again.',
  interrupted:
    'The thread that handled the request has ended. A change may have been made: read the tenant, then repeat it.',
};

function operatorProblem({ code, message, status, extras }: Problem): OperatorProblem {
  const { errors } = extras;
  return new OperatorProblem(CODES[code] ?? 'internal', DETAILS_HERE[code] ?? message, {
    ...(errors !== undefined && { errors }),
    ...(status === 503 && { headers: { 'Retry-After': '1', ...extras.headers } }),
  });
}
