import { DAY_MS, HOUR_MS } from '../../../base/clock.ts';
import type { ProblemPart } from '../../../base/schema/problem-part.ts';
import type { ObjectSchema, Schema } from '../../../base/schema/schema.ts';
import type { Account, TenantLimits } from '../../model/documents.ts';
import { DURATION_ACCEPTED, formatTime, formatTimeOrNull, parseDuration } from '../../model/time.ts';
import { DOMAIN_KEPT_MS } from '../../scheduler/upkeep/deletions.ts';
import { tenantOrigin } from '../access/tenant-host.ts';
import { LIMITS_SCHEMA, limitsView, USE_SCHEMA } from '../access/tenant-limits.ts';
import { Problem } from '../checks/problem.ts';
import type { RestConfig } from '../http/parts.ts';

/** A limit that the operator can change, and its bounds; for durations in milliseconds. */
interface LimitField {
  readonly field: keyof TenantLimits;
  readonly min: number;
  readonly max: number;
  readonly isDuration?: true;
}

const FIELDS: Readonly<Record<string, LimitField>> = {
  open_tasks: { field: 'openTasks', min: 1, max: 100_000_000 },
  retain_succeeded: { field: 'retainSucceededMs', min: HOUR_MS, max: 366 * DAY_MS, isDuration: true },
  retain_other: { field: 'retainOtherMs', min: HOUR_MS, max: 366 * DAY_MS, isDuration: true },
  payload_bytes: { field: 'payloadBytes', min: 1, max: 1024 * 1024 },
  workers: { field: 'workers', min: 1, max: 10_000 },
  schedules: { field: 'schedules', min: 1, max: 100_000 },
  users: { field: 'users', min: 1, max: 10_000 },
  tokens_per_user: { field: 'tokensPerUser', min: 1, max: 1_000 },
  in_flight: { field: 'inFlight', min: 1, max: 100_000 },
  dispatch_per_second: { field: 'dispatchPerSecond', min: 1, max: 100_000 },
};

/** A change of limits. */
export const LIMITS_CHANGE: ObjectSchema = {
  type: 'object',
  description: 'Limits that are left out stay unchanged; null restores the default.',
  properties: Object.fromEntries(
    Object.entries(FIELDS).map(([name, { min, max, isDuration }]): [string, Schema] => [
      name,
      isDuration === true
        ? { type: 'string', max: 64, optional: true, nullable: true, description: 'From 1h to 366d.' }
        : { type: 'number', integer: true, min, max, optional: true, nullable: true },
    ]),
  ),
};

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
};

const TIME = { type: 'string', format: 'date-time' } as const;
const ACCOUNT_PROPERTIES: ObjectSchema['properties'] = {
  id: { type: 'string' },
  domain: { type: 'string' },
  api_url: { type: 'string', format: 'uri' },
  status: { type: 'string', enum: ['active', 'suspended', 'deleting', 'deleted'] },
  created_at: TIME,
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
    owners: { type: 'number', integer: true, min: 0, description: 'Number of active owners.' },
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
        tasks_left: { type: 'number', integer: true, min: 0 },
        finished_at: { ...TIME, nullable: true },
        domain_free_at: { ...TIME, nullable: true, description: 'When the domain can be used again.' },
      },
    },
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
    changed_limits: Object.keys(FIELDS).filter(name => limits[FIELDS[name].field] !== undefined),
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

/**
 * Applies a change to the limits of an account.
 *
 * @param asked limits that {@link ACCOUNT_CHANGE} has accepted
 * @throws Problem validation_failed
 */
export function changedLimits(
  before: Account['limits'],
  asked: Readonly<Record<string, string | number | null>>,
): Account['limits'] {
  const after: Partial<Record<keyof TenantLimits, number>> = { ...before };
  const errors: ProblemPart[] = [];
  for (const [name, value] of Object.entries(asked)) {
    const { field, min, max, isDuration } = FIELDS[name];
    const read = isDuration === true ? parseDuration(value) : (value as number);
    if (value === null) delete after[field];
    else if (read !== null && read >= min && read <= max) after[field] = read;
    else {
      const detail = `/limits/${name} must be ${DURATION_ACCEPTED}, from 1h to 366d`;
      errors.push({ pointer: `/limits/${name}`, code: 'validation_failed', detail });
    }
  }
  if (errors.length > 0) throw new Problem('validation_failed', errors[0].detail, { errors });
  return after;
}
