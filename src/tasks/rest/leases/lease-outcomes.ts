import { DAY_MS } from '../../../base/clock.ts';
import { recentlyUsed } from '../../../base/collections/recently-used.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import type { Task } from '../../model/task.ts';
import type { PullDesk } from '../../scheduler/pull/pull-desk.ts';
import type { PullOutcome } from '../../scheduler/pull/pull-leases.ts';
import { FieldReader, type Fields } from '../checks/field-reader.ts';
import { Problem } from '../checks/problem.ts';
import { durationField } from '../checks/resource.ts';
import { checkJsonSize, jsonText } from '../fields/payload-fields.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call } from '../http/route.ts';

const PUT_OFF = { minMs: 0, maxMs: 7 * DAY_MS };
const MAX_RESULT_BYTES = 16 * 1024;
const MAX_DETAILS_BYTES = 4 * 1024;
const MAX_MESSAGE_LENGTH = 1_000;
const LEASE_ID = /^[0-9a-f]{32}$/;

/** The ways to end an attempt, which are the last segments of the paths. */
export const OUTCOMES = ['complete', 'fail', 'release'] as const;
export type OutcomeKind = (typeof OUTCOMES)[number];

export const COMPLETION: ObjectSchema = {
  type: 'object',
  name: 'Completion',
  properties: {
    result: { type: 'any', optional: true, nullable: true, description: 'At most 16 KiB of JSON.' },
  },
  example: { result: { message_id: 'm-4711' } },
};

export const FAILURE: ObjectSchema = {
  type: 'object',
  name: 'Failure',
  properties: {
    error: {
      type: 'object',
      properties: {
        code: { type: 'string', min: 1, max: 64 },
        message: { type: 'string', max: MAX_MESSAGE_LENGTH },
        details: {
          type: 'any',
          optional: true,
          nullable: true,
          description: 'At most 4 KiB of JSON. Appended to the message, which is cut to 1,000 characters.',
        },
      },
    },
    retry: { type: 'boolean', optional: true, description: 'false: the task fails without further retries.' },
    retry_after: durationField('Minimum delay until the next attempt, at most 7d.'),
  },
  example: { error: { code: 'smtp_timeout', message: 'mail.example.com did not answer' }, retry_after: '5m' },
};

export const RELEASE: ObjectSchema = {
  type: 'object',
  name: 'Release',
  properties: { delay: durationField('Delay until the next attempt, at most 7d. Default: none.') },
  example: { delay: '30s' },
};

/** @throws Problem `validation_failed` or `payload_too_large` */
export function readOutcome(kind: OutcomeKind, fields: Fields): PullOutcome {
  const reader = new FieldReader();
  const retryAfterMs = reader.duration(fields.retry_after, '/retry_after', PUT_OFF);
  const delayMs = reader.duration(fields.delay, '/delay', PUT_OFF);
  reader.finish();
  switch (kind) {
    case 'complete':
      return { kind, result: boundedJson(fields.result, '/result', MAX_RESULT_BYTES) };
    case 'release':
      return { kind, delayMs: delayMs ?? 0 };
    case 'fail': {
      const { code, message, details } = fields.error as { code: string; message: string; details?: unknown };
      const more = boundedJson(details, '/error/details', MAX_DETAILS_BYTES);
      const whole = (more === null ? message : `${message} ${more}`).slice(0, MAX_MESSAGE_LENGTH);
      const retry = fields.retry !== false;
      return { kind, error: { code, message: whole }, retry, retryAfterMs: retryAfterMs ?? null };
    }
  }
}

/**
 * The JSON text of a value of limited size; null if it is absent.
 *
 * @throws Problem `payload_too_large` or `validation_failed`
 */
function boundedJson(value: unknown, pointer: string, maxBytes: number): string | null {
  if (value === undefined || value === null) return null;
  const text = jsonText(value);
  if (text === null) throw new Problem('validation_failed', `${pointer} is nested too deeply`);
  checkJsonSize(text, pointer, maxBytes);
  return text;
}

type Asked = Pick<Call, 'tenant' | 'caller'>;

/**
 * Ends the attempt that has this lease. Reporting the same outcome again succeeds.
 *
 * @throws Problem `lease_lost`
 */
export async function endAttempt(
  { pullDesk }: RestParts,
  owners: LeaseOwners,
  asked: Asked,
  lease: string,
  outcome: PullOutcome,
): Promise<Task> {
  const { tenant, caller } = asked;
  const leaseId = await ownLease(owners, asked, lease);
  const answer = await pullDesk.leases.end(tenant, leaseId, outcome, caller.actor);
  if (answer.kind === 'lost') throw leaseLost();
  const { task } = answer;
  if (caller.kind === 'worker' && task.workerId !== caller.workerId) throw leaseLost();
  return task;
}

/**
 * Checks that the caller may use a lease, and returns its id. The token of a worker allows only the leases of this worker.
 * Whether a lease is still active is only known when it is used.
 *
 * @throws Problem `lease_lost`
 */
export async function ownLease(
  owners: LeaseOwners,
  { tenant, caller }: Asked,
  leaseId: string,
): Promise<string> {
  if (!LEASE_ID.test(leaseId)) throw leaseLost();
  if (caller.kind === 'worker' && !(await owners.mayBeOf(tenant, leaseId, caller.workerId))) {
    throw leaseLost();
  }
  return leaseId;
}

/** The response for a lease that is unknown or no longer active. */
export function leaseLost(): Problem {
  return new Problem(
    'lease_lost',
    'The lease is unknown or no longer active. Stop working on the task; its result is not recorded.',
  );
}

const MAX_LEASES = 20_000;

/**
 * Knows the worker of each lease, for callers with the token of a worker. It remembers leases that were taken here, and
 * asks the store about others. The worker of a lease never changes, so the cache cannot be outdated.
 */
export class LeaseOwners {
  readonly #pullDesk: PullDesk;
  readonly #known = recentlyUsed<string, string>(MAX_LEASES);

  constructor(pullDesk: PullDesk) {
    this.#pullDesk = pullDesk;
  }

  took(leaseId: string, workerId: string): void {
    this.#known.set(leaseId, workerId);
  }

  /** False if the lease is known to belong to another worker. Inactive leases are only known if they were taken here. */
  async mayBeOf(tenant: string, leaseId: string, workerId: string): Promise<boolean> {
    const known = this.#known.get(leaseId);
    if (known !== undefined) return known === workerId;
    const task = await this.#pullDesk.leases.leased(tenant, leaseId);
    return task === null || task.workerId === workerId;
  }
}
