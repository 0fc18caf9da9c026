import { DAY_MS } from '../../base/clock.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { Actor, FinalStatus, OnFinish, TaskBody, TaskError } from './task.ts';
import type { Priority, TemplateContent } from './task-content.ts';

/**
 * The bodies of documents, by kind. Stores keep everything except tasks as documents; `../store/documents.ts` describes
 * the id, the version and the unique names that each document has. Times are in milliseconds since the epoch.
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
  readonly master_keys: MasterKeyRecord;
  readonly move: MoveRecord;
}
export type DocumentKind = keyof DocumentBodies;

/** Limits of one tenant (specification 3.13). */
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

/** A tenant. The document has the id `account` and belongs to the tenant itself. */
export interface Account {
  /** `acc_…` */
  readonly id: string;
  readonly domain: string;
  /**
   * - `suspended`: its data can be read but not changed, and no task starts
   * - `deleting`: its data is being deleted; callers get the same response as for an unknown tenant
   * - `deleted`: all its data is deleted; its domain stays reserved for a while
   */
  readonly status: 'active' | 'suspended' | 'deleting' | 'deleted';
  /** Since when and why the account is suspended, for operators only. Absent if it is not, or if that was not recorded. */
  readonly suspension?: AccountSuspension;
  /** Present once deletion was requested. The document is due at the next step of the deletion. */
  readonly deletion?: AccountDeletion;
  readonly createdAt: number;
  /** Number of active owners. It changes in the same step as the users, so that the last owner cannot be removed. */
  readonly owners: number;
  /** Limits that the operator has changed. The defaults apply to the others. */
  readonly limits: Partial<TenantLimits>;
  /** The data key of the tenant, in base64, encrypted with the named master key. Null before the first secret. */
  readonly dataKey: { readonly masterKeyId: string; readonly wrapped: string } | null;
}

/** Which master keys may be used with the store. There is one such document, of the service itself (`SERVICE`). */
interface MasterKeyRecord {
  /** Ids of master keys, in the order in which processes began to use them. */
  readonly ids: readonly string[];
}

/** That the data of a store moves to another one. Each of both stores has one such document, of the service itself. */
export interface MoveRecord {
  /** Whether the data moves into this store, or was moved out of it. */
  readonly direction: 'in' | 'out';
  /** Address of the other store, without credentials. */
  readonly other: string;
  /** When the move into this store began, or the move out of it ended. */
  readonly at: number;
  /** How far the data has been copied into this store, as `../move` says it; null in the other one. */
  readonly progress: string | null;
}

interface AccountSuspension {
  readonly at: number;
  /** Null if the operator gave none. */
  readonly reason: string | null;
}

export interface AccountDeletion {
  readonly requestedAt: number;
  readonly requestId: string;
  /** Null while data remains. */
  readonly finishedAt: number | null;
  /** The position at which `TaskStore.forgetTenant` continues. Absent before its first call and after its last. */
  readonly place?: string;
}

export const ROLES = ['owner', 'admin', 'member', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** Unique names: `email:<email in lower case>`, and `external:<external id>` if the user has an external id. */
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

/** A token of a user, who is the parent. Unique name: `hash:<SHA-256 of the token, hex>`. The token itself is not stored. */
export interface ApiToken {
  readonly userId: string;
  readonly name: string;
  /** Null for all that the role of the user allows. */
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
  /** Null in pull mode, and if each task names its own URL. */
  readonly url: string | null;
  /** Push mode: each task names the URL that it is pushed to. Old documents lack this field. */
  readonly taskUrls?: boolean;
  readonly method: 'POST' | 'PUT' | 'PATCH';
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly leaseMs: number;
  readonly retry: RetryPolicy;
  /** Maximum number of concurrent attempts, over all processes; null for no limit. */
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
  /** When the worker is resumed, which is when the document is due. Null for never. */
  readonly resumeAt: number | null;
  /** The worker is paused when all attempts have failed for this long; null for never. */
  readonly autoPauseAfterMs: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** How tasks of the same group share a worker. */
export interface GroupRules {
  /** Maximum number of concurrent attempts of one group, over all processes. */
  readonly concurrency: number;
  /** Whether tasks of a group start in the order of `runAt`, then of id. Requires a concurrency of 1. */
  readonly fifo: boolean;
}

/** A limit of the decision service: each start of a task is one hit of this descriptor. */
export interface StartLimit {
  readonly domain: string;
  /** At least one. */
  readonly descriptor: readonly { readonly key: string; readonly value: string }[];
}

/** A token bucket: on average `limit` starts in `perMs`, and at most `burst` at once. */
export interface Rate {
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number;
}

/**
 * A secret of a worker, which is the parent. Unique name, for type `token` only: `hash:<SHA-256 of the token, hex>`. It has
 * the same form as the name of an {@link ApiToken}, so that one look-up finds either.
 */
export interface Secret {
  readonly workerId: string;
  readonly type: 'signing' | 'header' | 'token';
  readonly name: string;
  /**
   * Distinguishes values: the first bytes of a keyed hash of the value. For a token it is the whole SHA-256 in hex, which
   * is needed to write the unique name again; callers see the first 12 digits.
   */
  readonly fingerprint: string;
  /** The encrypted value in base64. Null for tokens, of which only the hash is stored. */
  readonly sealed: string | null;
  readonly createdAt: number;
  readonly createdBy: Actor;
  readonly lastUsedAt: number | null;
  /** Null if the secret is valid until it is replaced or deleted. */
  readonly expiresAt: number | null;
}

/**
 * A running task that is deleted when it has ended. The document has the id of the task, and is due when the task is
 * checked next. It is written before the task is canceled, so that a crash in between does not lose the deletion.
 */
interface Removal {
  readonly requestedAt: number;
  readonly actor: Actor;
}

/**
 * A notification of another worker, which is the parent, that a task has ended. Stores write the document, due at once, in
 * the step that ends the task. It is deleted in the step that creates the task for the notified worker. It contains
 * everything that is sent, because the ended task may be deleted or replayed in the meantime.
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
  /** JSON text. Null if there is no result, or if it is too large for a callback. */
  readonly result: string | null;
  readonly resultOmitted: boolean;
  readonly finishedAt: number;
  /** The trace context of the task, as its headers have it (`task-headers.ts`). Absent for a task without one. */
  readonly trace?: string;
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
 * A change and its author. It is written in the step that makes the change, and due when its retention time is over. It contains
 * names of fields but no values, except for those in {@link details}, which are not confidential.
 */
export interface AuditEntry {
  readonly at: number;
  readonly action: AuditAction;
  readonly actor: Actor;
  /** The token of the caller; null for the operator. */
  readonly tokenId: string | null;
  /** The id of the changed object; null if the action concerns several. */
  readonly targetId: string | null;
  /** The name of that object; null if it has none, or one that is personal. */
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
  /** The next nominal time; null if there are no more. */
  readonly nextAt: number | null;
  readonly lastRun: { readonly scheduledFor: number; readonly taskId: string } | null;
  readonly fired: number;
  readonly skippedOverlap: number;
  readonly skippedWindow: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The template of the tasks of a schedule. */
export interface ScheduledTask extends TemplateContent, Pick<TaskBody, 'payload' | 'headers'> {
  /** Undefined in documents of older versions, which means null. */
  readonly group?: string | null | undefined;
  /** A task expires if it has not started within this time after it may start. Undefined means null, as above. */
  readonly expiresInMs?: number | null | undefined;
}

/** The limits of a tenant that the operator has not changed. */
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
