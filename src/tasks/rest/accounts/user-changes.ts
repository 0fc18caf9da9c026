import type { User } from '../../model/documents.ts';
import { ACCOUNT_ID, type DocumentChange, type DocumentRefusal } from '../../store/documents.ts';
import type { ApplyAnswer, Idempotency } from '../../store/requests.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { type Audited, auditEntry } from '../access/audit.ts';
import { accountWithoutOwner, putAccount } from '../access/owner-tokens.ts';
import { noSuchUser } from '../access/user-access.ts';
import { isActiveOwner } from '../access/user-fields.ts';
import { Problem } from '../checks/problem.ts';
import { versionMismatch } from '../http/entity-tag.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call } from '../http/route.ts';

/** Changes of owners meet at the account: so often one that came second begins again. */
const MAX_TRIES = 8;

/** A change of one user, beside which the account may have to change. */
interface UserChange {
  /** Null for a new user. */
  readonly before: User | null;
  /** Null for one that is deleted. */
  readonly after: User | null;
  readonly change: DocumentChange;
}

type Applied = Exclude<ApplyAnswer, { readonly kind: 'refused' }>;

/**
 * Makes a change of a user. Where the number of active owners changes, the account changes in the same step, under its
 * version: so the last owner stays, whoever else is at it.
 *
 * @param plan reads what there is, and says what to do; called again when somebody else was faster
 * @param isConditional whether the caller asks for a version of the user, which `plan` compares
 * @throws Problem last_owner, version_mismatch, not_found, name_taken, quota_exceeded, store_unavailable
 */
export async function changeUser(
  parts: Pick<RestParts, 'store' | 'ids'>,
  call: Call,
  plan: () => Promise<UserChange>,
  refusal: (reason: DocumentRefusal) => Problem,
  isConditional: boolean,
  idempotency?: Idempotency,
): Promise<Applied> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const planned = await plan();
    const changes = [
      planned.change,
      ...(await accountChange(parts.store, call, planned)),
      auditEntry(parts, call, audited(planned, call)),
    ];
    const applied = await parts.store.apply(
      call.tenant,
      changes,
      ...(idempotency === undefined ? [] : [idempotency]),
    );
    if (applied.kind !== 'refused') return applied;
    if (applied.reason !== 'version') throw applied.index === 0 ? refusal(applied.reason) : noSuchUser();
    if (applied.index === 0 && isConditional) throw versionMismatch();
  }
  throw new Problem('store_unavailable', 'others change owners at the same time: repeat the request', {
    headers: { 'Retry-After': '1' },
  });
}

/** The email of a user is personal, and is not kept after it. */
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
  if (account === null) throw new Problem('tenant_not_found', 'the account is gone');
  return [putAccount(account, account.body.owners + difference)];
}
