import { OperatorProblem } from './problem.ts';
import { changes, type OperatorRoute, reads } from './route.ts';

/** The operations on the tenants of the task service, which a process has whether or not it serves tasks. */
export const TENANT_OPERATIONS = {
  list: reads('/tenants', 'listTenants', 'List the tenants of the task service with their figures'),
  read: reads(
    '/tenants/:domain',
    'getTenant',
    'Read a tenant: its figures, its limits and what it uses of them',
  ),
  suspend: changes(
    'POST',
    '/tenants/:domain/suspend',
    'suspendTenant',
    'Suspend a tenant: it becomes read-only, and its tasks do not start',
  ),
  resume: changes('POST', '/tenants/:domain/resume', 'resumeTenant', 'Resume a suspended tenant'),
  limits: changes('PUT', '/tenants/:domain/limits', 'changeTenantLimits', 'Change limits of a tenant'),
  ownerToken: changes(
    'POST',
    '/tenants/:domain/owner-token',
    'createOwnerToken',
    'Create a token for the first active owner of a tenant, if the owners have lost theirs',
  ),
};

const TEXT = { type: 'string', max: 64, optional: true } as const;

/** Accepts what the list of a process with tasks accepts, whose values are not known without the task service. */
const LIST_QUERY = { q: TEXT, status: TEXT, sort: TEXT, offset: TEXT, count: TEXT };

/** The routes of a process that does not serve tasks, and so has not loaded the task service: they say how to enable it. */
export function routesWithoutTasks(): OperatorRoute[] {
  return Object.values(TENANT_OPERATIONS).map(operation => ({
    ...operation,
    ...(operation === TENANT_OPERATIONS.list && { query: LIST_QUERY }),
    answer: {
      description: 'Only if the process serves tasks (TASKS_ENABLED).',
      schema: { type: 'object', properties: {} },
    },
    problems: ['tasks_disabled'],
    handle: () => {
      throw new OperatorProblem(
        'tasks_disabled',
        'This process does not serve tasks. Set TASKS_ENABLED=true and restart it.',
      );
    },
  }));
}
