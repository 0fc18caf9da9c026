import { DAY_MS } from '../../base/clock.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { Actor, FinalStatus, OnFinish, Priority, TaskError } from './task.ts';

/**
 * Everything that stores keep, except tasks. Each kind has a body of its own; id, version and unique names
 * are the store's (`../store/documents.ts`). Times are milliseconds since the epoch.
 */
export interface DocumentBodies {
  readonly account: Account;
  readonly user: User;
  readonly token: ApiToken;
  readonly worker: Worker;
  readonly secret: Secret;
  readonly schedule: Schedule;
  readonly removal: Removal;
  readonly audit: AuditEntry;
  readonly callback: Callback;
}
export type DocumentKind = keyof DocumentBodies;

/** Bounds of one tenant (specification 3.13). */
export interface TenantLimits {
  readonly openTasks: number;
  readonly retainSucceededMs: number;
  readonly retainOtherMs: number;
  readonly payloadBytes: number;
  readonly workers: number;
  readonly schedules: number;
  readonly users: number;
  readonly tokensPerUser: number;
  readonly inFlight: number;
  readonly dispatchPerSecond: number;
}

/** A tenant. Its document has the id `account`, and is kept under the tenant's own domain. */
export interface Account {
  /** `acc_…` */
  readonly id: string;
  readonly domain: string;
  /**
   * - `suspended`: can be read; nothing in it changes, and no task starts
   * - `deleting`: what it holds is being removed; for callers it is not there
   * - `deleted`: nothing is left of it, and its domain is not free yet
   */
  readonly status: 'active' | 'suspended' | 'deleting' | 'deleted';
  /** Only of an account that is being deleted, or was. The document is due when there is something to do about it. */
  readonly deletion?: AccountDeletion;
  readonly createdAt: number;
  /** Number of active owners. Each change of an owner updates it in the same step, so that the last one cannot be removed. */
  readonly owners: number;
  /** Limits that the operator has changed; the others are the defaults. */
  readonly limits: Partial<TenantLimits>;
  /** The tenant's data key, wrapped by the master key: base64, and the id of that master key. Null before the first secret. */
  readonly dataKey: { readonly masterKeyId: string; readonly wrapped: string } | null;
}

export interface AccountDeletion {
  readonly requestedAt: number;
  readonly requestId: string;
  /** Null while something is left. */
  readonly finishedAt: number | null;
  /** Where `TaskStore.forgetTenant` continues. Absent when it begins, or has ended. */
  readonly place?: string;
}

export const ROLES = ['owner', 'admin', 'member', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** Unique names: `email:<email in lower case>`, and `external:<external id>` where there is one. */
export interface User {
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly status: 'invited' | 'active' | 'disabled';
  readonly externalId: string | null;
  readonly lastSeenAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export const SCOPES = [
  'tasks:read',
  'tasks:write',
  'tasks:payload',
  'workers:read',
  'workers:write',
  'schedules:read',
  'schedules:write',
  'users:read',
  'users:write',
  'leases',
] as const;
export type Scope = (typeof SCOPES)[number];

/** A token of a user, its parent. Unique name: `hash:<SHA-256 of the token, hex>`. The token itself is kept nowhere. */
export interface ApiToken {
  readonly userId: string;
  readonly name: string;
  /** Null: all that the user's role allows. */
  readonly scopes: readonly Scope[] | null;
  readonly expiresAt: number;
  readonly lastUsedAt: number | null;
  readonly createdAt: number;
  readonly createdBy: Actor;
}

/** Unique name: `name:worker:<name>`. */
export interface Worker {
  readonly name: string;
  readonly mode: 'push' | 'pull';
  /** Null in pull mode, and where each task names a URL. */
  readonly url: string | null;
  /** Push mode: each task names the URL that it is pushed to. Old documents lack this field. */
  readonly taskUrls?: boolean;
  readonly method: 'POST' | 'PUT' | 'PATCH';
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly leaseMs: number;
  readonly retry: RetryPolicy;
  /** Attempts at once, over all processes; null for no bound. */
  readonly concurrency: number | null;
  readonly rate: Rate | null;
  /** Undefined in documents of older versions, which means null. */
  readonly limit?: StartLimit | null;
  /** Undefined in documents of older versions, which means null. */
  readonly groups?: GroupRules | null;
  /** Undefined in documents of older versions, which means null. */
  readonly onFinish?: OnFinish | null;
  readonly priority: Priority;
  readonly noRetryOn: readonly number[];
  readonly paused: boolean;
  readonly pauseReason: string | null;
  /** The document is due then. */
  readonly resumeAt: number | null;
  /** Pauses the worker after only failures for this long; null for never. */
  readonly autoPauseAfterMs: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** How tasks of the same group share a worker. */
export interface GroupRules {
  /** Maximum number of concurrent attempts of one group, over all processes. */
  readonly concurrency: number;
  /** Tasks of a group start in the order of `runAt`, then of id. Only with a concurrency of 1. */
  readonly fifo: boolean;
}

/** A limit of the decision service: each start of a task is one hit of this descriptor. */
export interface StartLimit {
  readonly domain: string;
  /** At least one. */
  readonly descriptor: readonly { readonly key: string; readonly value: string }[];
}

/** A token bucket: on average `limit` starts in `perMs`, at once `burst`. */
export interface Rate {
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number;
}

/**
 * A secret of a worker, its parent. Unique name, for type `token` only: `hash:<SHA-256 of the token, hex>`, which is
 * the name that an {@link ApiToken} has as well: one look-up finds either.
 */
export interface Secret {
  readonly workerId: string;
  readonly type: 'signing' | 'header' | 'token';
  readonly name: string;
  /**
   * First bytes of a keyed hash of the value, to tell values apart. Of a token the SHA-256 of the whole, hex, which is
   * needed to write its unique name again; callers see the first 12 digits.
   */
  readonly fingerprint: string;
  /** Sealed value, base64; null for tokens, of which there is a hash only. */
  readonly sealed: string | null;
  readonly createdAt: number;
  readonly createdBy: Actor;
  readonly lastUsedAt: number | null;
  /** Null: until it is replaced or deleted. */
  readonly expiresAt: number | null;
}

/**
 * A running task that is to be removed once it has ended; the document has the task's id and is due when it is to be
 * looked at. It is written before the task is asked to stop, so that no crash forgets the removal.
 */
interface Removal {
  readonly requestedAt: number;
  readonly actor: Actor;
}

/**
 * The end of a task that another worker, the parent of this document, is notified of. Stores write it in the step that
 * ends the task, due at once. It is deleted in the step that creates the task for that worker. It contains everything that is sent,
 * because the ended task may be removed or replayed meanwhile.
 */
export interface Callback {
  readonly taskId: string;
  readonly workerId: string;
  readonly worker: string;
  readonly type: string | null;
  readonly key: string | null;
  readonly tags: readonly string[];
  readonly status: FinalStatus;
  readonly attempt: number;
  readonly lastError: TaskError | null;
  /** JSON text; null without a result, and for one that is larger than a callback tells. */
  readonly result: string | null;
  readonly resultOmitted: boolean;
  readonly finishedAt: number;
}

/** Actions that the audit log records. */
export const AUDIT_ACTIONS = [
  'account.created',
  'account.suspended',
  'account.resumed',
  'account.limits_changed',
  'account.deleted',
  'account.owner_token_created',
  'user.created',
  'user.updated',
  'user.deleted',
  'token.created',
  'token.deleted',
  'worker.created',
  'worker.updated',
  'worker.deleted',
  'secret.created',
  'secret.deleted',
  'schedule.created',
  'schedule.updated',
  'schedule.deleted',
  'tasks.bulk_action',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/**
 * Who changed what. Written in the step that makes the change; due when its time is over. It holds names of fields and
 * never their values, except for those in {@link details}, none of which is confidential.
 */
export interface AuditEntry {
  readonly at: number;
  readonly action: AuditAction;
  readonly actor: Actor;
  /** The token that the caller had; null for the operator. */
  readonly tokenId: string | null;
  /** The id of what was changed; null where there is no single one. */
  readonly targetId: string | null;
  /** Its name, where it has one that is not personal. */
  readonly targetName: string | null;
  /** Names of the fields that the caller gave. */
  readonly changed: readonly string[];
  readonly details: Readonly<Record<string, string | number>>;
  readonly requestId: string;
}

/** Unique name: `name:schedule:<name>`. The document is due at {@link nextAt} while it is not paused, else at {@link resumeAt}. */
export interface Schedule {
  readonly name: string;
  readonly workerId: string;
  readonly worker: string;
  /** Template of the tasks. */
  readonly task: ScheduledTask;
  /** Exactly one of `cron` and `everyMs` is given. */
  readonly cron: string | null;
  readonly everyMs: number | null;
  readonly phaseMs: number;
  readonly timezone: string;
  readonly overlap: 'skip' | 'allow' | 'queue_one' | 'cancel_running';
  readonly catchUp: {
    readonly mode: 'none' | 'latest' | 'all';
    readonly windowMs: number;
    readonly max: number;
  };
  readonly dst: { readonly gap: 'run_after' | 'skip'; readonly overlap: 'once' | 'twice' };
  /** Maximum delay of a run after its nominal time. Old documents lack this field and the next three. */
  readonly jitterMs?: number;
  /** Nominal times are at or after `startAt` and before `endAt`. Null for no bound. */
  readonly startAt?: number | null;
  readonly endAt?: number | null;
  /** The schedule ends when {@link fired} has reached it. Null for no bound. */
  readonly maxRuns?: number | null;
  readonly paused: boolean;
  readonly pauseReason: string | null;
  readonly resumeAt: number | null;
  /** The next nominal time; null when there is none any more. */
  readonly nextAt: number | null;
  readonly lastRun: { readonly scheduledFor: number; readonly taskId: string } | null;
  readonly fired: number;
  readonly skippedOverlap: number;
  readonly skippedWindow: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface ScheduledTask {
  readonly type: string | null;
  /** As tasks have it. */
  readonly payload: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: the worker's. */
  readonly priority: Priority | null;
  readonly timeoutMs: number | null;
  readonly retry: Partial<RetryPolicy> | null;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  /** Undefined in documents of older versions, which means null. */
  readonly group?: string | null | undefined;
  /** A task expires when it has not started this long after it may start. Undefined as above. */
  readonly expiresInMs?: number | null | undefined;
}

/** Limits of a tenant, unless its operator has changed them. */
export const DEFAULT_TENANT_LIMITS: TenantLimits = {
  openTasks: 1_000_000,
  retainSucceededMs: 7 * DAY_MS,
  retainOtherMs: 30 * DAY_MS,
  payloadBytes: 256 * 1024,
  workers: 100,
  schedules: 1_000,
  users: 100,
  tokensPerUser: 50,
  inFlight: 200,
  dispatchPerSecond: 500,
};
