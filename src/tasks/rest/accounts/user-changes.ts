import type { ApiToken, User } from '../../model/documents.ts';
import {
  ACCOUNT_ID,
  type DocumentChange,
  type DocumentRefusal,
  type PutDocument,
  type StoredDocument,
} from '../../store/documents.ts';
import { putAgain } from '../../store/put-document.ts';
import type { ApplyAnswer, Idempotency } from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { type Audited, auditEntry } from '../access/audit.ts';
import { noSuchUser } from '../access/authorization.ts';
import { limitsOf, quotaExceeded } from '../access/tenant-limits.ts';
import { isActiveOwner } from '../access/user-fields.ts';
import { Problem } from '../checks/problem.ts';
import type { ProblemCode } from '../checks/problem-list.ts';
import { allDocuments } from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import { versionMismatch } from '../http/request-headers.ts';
import type { Call } from '../http/route.ts';
import { tryAgain } from '../http/try-again.ts';

/** A change of one user. It may require a change of the account. */
interface UserChange {
  /** Null for a new user. */
  readonly before: User | null;
  /** Null if the user is deleted. */
  readonly after: User | null;
  readonly change: DocumentChange;
}

interface UserChangeRequest {
  /** Reads the user and returns the change. It is called again if another request was faster. */
  readonly plan: () => Promise<UserChange>;
  /** Whether the request names versions of the user, which `plan` compares. */
  readonly isConditional: boolean;
  readonly record?: Idempotency | undefined;
}

type Applied = Exclude<ApplyAnswer, { readonly kind: 'refused' }>;

/**
 * Applies a change of a user. If the number of active owners changes, the account changes in the same step, conditional
 * on its version. So the last owner cannot be removed, even by concurrent requests.
 *
 * @throws Problem last_owner, version_mismatch, not_found, name_taken, quota_exceeded, store_unavailable
 */
export async function changeUser(
  parts: RestParts,
  call: Call,
  { plan, isConditional, record }: UserChangeRequest,
): Promise<Applied> {
  return tryAgain('owners', 'store_unavailable', async () => {
    const planned = await plan();
    const changes = [
      planned.change,
      ...(await accountChange(parts.store, call, planned)),
      auditEntry(parts, call, audited(planned, call)),
    ];
    const applied = await parts.store.apply(call.tenant, changes, record);
    if (applied.kind !== 'refused') {
      parts.directory.changed(call.tenant);
      return applied;
    }
    if (applied.reason !== 'version') {
      throw applied.index === 0 ? refused(parts, call, applied.reason) : noSuchUser();
    }
    if (applied.index === 0 && isConditional) throw versionMismatch();
    return null;
  });
}

function refused(parts: RestParts, call: Call, reason: DocumentRefusal): Problem {
  if (reason === 'name_taken') {
    return new Problem('name_taken', 'Another user of the account has this email or external_id.');
  }
  if (reason === 'too_many') {
    const { users } = limitsOf(parts, call);
    return quotaExceeded('users', users, `The account already has ${users} users, which is its limit.`);
  }
  return noSuchUser();
}

/** The entry has no email, because it would outlive the user. */
function audited({ before, after, change }: UserChange, { body }: Call): Audited {
  const targetId = change.id;
  if (after === null) return { action: 'user.deleted', targetId };
  const { role, status } = after;
  return {
    action: before === null ? 'user.created' : 'user.updated',
    targetId,
    changed: Object.keys(body),
    details: { role, status },
  };
}

/** @throws Problem last_owner */
async function accountChange(store: TaskStore, call: Call, change: UserChange): Promise<DocumentChange[]> {
  const { before, after } = change;
  const difference =
    Number(after !== null && isActiveOwner(after)) - Number(before !== null && isActiveOwner(before));
  if (difference === 0) return [];
  if (difference < 0) {
    const owners = (count: number) => count + difference;
    const leaving = { userId: change.change.id };
    return [await accountWithoutOwner(store, call.tenant, { leaving, owners, nowMs: call.nowMs })];
  }
  const account = await store.getDocument(call.tenant, 'account', ACCOUNT_ID);
  if (account === null) throw new Problem('tenant_not_found', 'The account no longer exists.');
  return [putAccount(account, account.body.owners + difference)];
}

/** The user or the token that is about to be removed. */
type Leaving = { readonly userId: string } | { readonly tokenId: string };

/**
 * The change of the account that must be part of each step that removes access of an owner. It changes the version of
 * the account, so that if two owners lock each other out at the same time, only one of them succeeds.
 *
 * @param owners returns the number of active owners after the change
 * @throws Problem `last_owner` or `last_owner_token` if no active owner with a token that can manage users would be left
 */
export async function accountWithoutOwner(
  store: TaskStore,
  tenant: string,
  { leaving, owners, nowMs }: { leaving: Leaving; owners: (before: number) => number; nowMs: number },
): Promise<PutDocument<'account'>> {
  // Read before the tokens, because each later change of them changes the version of the account.
  const account = await store.getDocument(tenant, 'account', ACCOUNT_ID);
  if (account === null) throw new Problem('tenant_not_found', 'The account no longer exists.');
  const left = owners(account.body.owners);
  if (left < 1) {
    throw new Problem('last_owner', 'This user is the last active owner. Make another user an owner first.');
  }
  if (!(await hasOwnerToken(store, tenant, leaving, nowMs))) throw lastToken(leaving);
  return putAccount(account, left);
}

/** Sets the number of active owners, on condition that the account has not changed since it was read. */
function putAccount(account: StoredDocument<'account'>, owners: number): PutDocument<'account'> {
  return putAgain(account, { ...account.body, owners });
}

function lastToken(leaving: Leaving): Problem {
  const [code, detail]: [ProblemCode, string] =
    'userId' in leaving
      ? ['last_owner', 'No other active owner has a token that can manage users. Create one first.']
      : [
          'last_owner_token',
          'This token is the last one of an active owner that can manage users. Create another one first.',
        ];
  return new Problem(code, detail);
}

async function hasOwnerToken(
  store: TaskStore,
  tenant: string,
  leaving: Leaving,
  nowMs: number,
): Promise<boolean> {
  for await (const user of allDocuments(store, tenant, 'user')) {
    if (!isActiveOwner(user.body) || ('userId' in leaving && user.id === leaving.userId)) continue;
    for await (const token of allDocuments(store, tenant, 'token', user.id)) {
      if (canManageUsers(token.body, nowMs) && !('tokenId' in leaving && token.id === leaving.tokenId))
        return true;
    }
  }
  return false;
}

function canManageUsers({ scopes, expiresAt }: ApiToken, nowMs: number): boolean {
  return expiresAt > nowMs && (scopes === null || scopes.includes('users:write'));
}
