import { exampleOf } from '../../../base/schema/example.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import type { Account } from '../../model/documents.ts';
import { formatTime, formatTimeOrNull } from '../../model/time.ts';
import { DOMAIN_KEPT_MS } from '../../scheduler/upkeep/deletions.ts';
import { tenantOrigin } from '../access/tenant-host.ts';
import {
  changedLimitNames,
  LIMITS_CHANGE,
  LIMITS_SCHEMA,
  limitsView,
  USE_SCHEMA,
} from '../access/tenant-limits.ts';
import { NAMED } from '../checks/example-names.ts';
import { COUNT, TEXT, TIME, TIME_OR_NULL } from '../checks/resource.ts';
import type { RestConfig } from '../http/parts.ts';

export const ACCOUNT_CHANGE: ObjectSchema = {
  type: 'object',
  name: 'AccountChange',
  properties: {
    status: {
      type: 'string',
      enum: ['active', 'suspended'],
      optional: true,
      description: 'A suspended account is read-only, and its tasks do not start.',
    },
    limits: { ...LIMITS_CHANGE, optional: true },
  },
  example: { limits: { in_flight: 50, retain_other: '14d' } },
};

export const ACCOUNT_PROPERTIES: ObjectSchema['properties'] = {
  id: { ...TEXT, example: NAMED.ids.account },
  domain: { ...TEXT, example: NAMED.domain },
  api_url: { type: 'string', format: 'uri', example: 'https://acme.tasks.example.com/api/v1' },
  status: { type: 'string', enum: ['active', 'suspended', 'deleting', 'deleted'] },
  created_at: { ...TIME, example: '2026-02-01T08:00:00.000Z' },
};

/** An account in a list. */
export const LISTED_ACCOUNT: ObjectSchema = {
  type: 'object',
  name: 'ListedAccount',
  properties: ACCOUNT_PROPERTIES,
};

export const ACCOUNT_STATE: ObjectSchema = {
  type: 'object',
  name: 'AccountState',
  properties: {
    ...ACCOUNT_PROPERTIES,
    owners: { ...COUNT, description: 'Number of active owners.', example: 1 },
    limits: LIMITS_SCHEMA,
    changed_limits: {
      type: 'array',
      items: { type: 'string' },
      description: 'Names of the limits that the operator has changed; the others have their defaults.',
    },
    use: USE_SCHEMA,
    deletion: {
      type: 'object',
      nullable: true,
      description: 'Null unless the account is being deleted or has been deleted.',
      properties: {
        requested_at: TIME,
        tasks_left: COUNT,
        finished_at: TIME_OR_NULL,
        domain_free_at: { ...TIME_OR_NULL, description: 'When the domain can be used again.' },
      },
    },
  },
  example: {
    limits: { ...(exampleOf(LIMITS_SCHEMA) as object), retain_other: '14d', in_flight: 50 },
    changed_limits: ['retain_other', 'in_flight'],
  },
};

export function listedAccount(account: Account, config: RestConfig): Record<string, unknown> {
  return {
    id: account.id,
    domain: account.domain,
    api_url: `${tenantOrigin(config, account.domain)}/api/v1`,
    status: account.status,
    created_at: formatTime(account.createdAt),
  };
}

/**
 * @param use in the form of {@link USE_SCHEMA}
 * @param tasksLeft number of tasks in all statuses
 */
export function accountState(
  account: Account,
  config: RestConfig,
  use: Record<string, number>,
  tasksLeft: number,
): Record<string, unknown> {
  const { limits, deletion } = account;
  const finishedAt = deletion?.finishedAt ?? null;
  return {
    ...listedAccount(account, config),
    owners: account.owners,
    limits: limitsView({ ...config.limits, ...limits }),
    changed_limits: changedLimitNames(limits),
    use,
    deletion:
      deletion === undefined
        ? null
        : {
            requested_at: formatTime(deletion.requestedAt),
            tasks_left: tasksLeft,
            finished_at: formatTimeOrNull(finishedAt),
            domain_free_at: formatTimeOrNull(finishedAt === null ? null : finishedAt + DOMAIN_KEPT_MS),
          },
  };
}
