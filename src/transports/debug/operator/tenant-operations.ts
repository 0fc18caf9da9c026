import { OperatorProblem } from './problem.ts';
import type { OperatorRoute } from './route.ts';

type Operation = Pick<OperatorRoute, 'method' | 'path' | 'operation' | 'summary' | 'access'>;

/** The operations on the tenants of the task service, which a process has whether or not it serves tasks. */
export const TENANT_OPERATIONS = {
  list: {
    method: 'GET',
    path: '/tenants',
    operation: 'listTenants',
    summary: 'List the tenants of the task service with their figures',
    access: 'read',
  },
  read: {
    method: 'GET',
    path: '/tenants/:domain',
    operation: 'getTenant',
    summary: 'Read a tenant: its figures, its limits and what it uses of them',
    access: 'read',
  },
  suspend: {
    method: 'POST',
    path: '/tenants/:domain/suspend',
    operation: 'suspendTenant',
    summary: 'Suspend a tenant: it becomes read-only, and its tasks do not start',
    access: 'change',
  },
  resume: {
    method: 'POST',
    path: '/tenants/:domain/resume',
    operation: 'resumeTenant',
    summary: 'Resume a suspended tenant',
    access: 'change',
  },
  limits: {
    method: 'PUT',
    path: '/tenants/:domain/limits',
    operation: 'changeTenantLimits',
    summary: 'Change limits of a tenant',
    access: 'change',
  },
  ownerToken: {
    method: 'POST',
    path: '/tenants/:domain/owner-token',
    operation: 'createOwnerToken',
    summary: 'Create a token for the first active owner of a tenant, if the owners have lost theirs',
    access: 'change',
  },
} as const satisfies Record<string, Operation>;

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
