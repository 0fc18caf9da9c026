import type { ApiToken, DocumentBodies, DocumentKind } from '../../model/documents.ts';
import { ACCOUNT_ID, type PutDocument, type StoredDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { Problem, type ProblemCode } from '../checks/problem.ts';
import { isActiveOwner } from './user-fields.ts';

const PAGE = 100;

/** What is about to go: a user, or one token. */
export type Leaving = { readonly userId: string } | { readonly tokenId: string };

/**
 * The change of the account that must be made in the same step as anything that takes an owner's access away. It changes
 * nothing but the version, so that of two owners who lock each other out at the same time only one succeeds.
 *
 * @param owners how many active owners there are afterwards
 * @throws Problem `last_owner` or `last_owner_token` unless an active owner is left with a token that can manage users
 */
export async function accountWithoutOwner(
  store: TaskStore,
  tenant: string,
  { leaving, owners, nowMs }: { leaving: Leaving; owners: (before: number) => number; nowMs: number },
): Promise<PutDocument<'account'>> {
  // Read before the tokens: whatever changes them afterwards changes the version of the account.
  const account = await store.getDocument(tenant, 'account', ACCOUNT_ID);
  if (account === null) throw new Problem('tenant_not_found', 'the account is gone');
  const left = owners(account.body.owners);
  if (left < 1) {
    throw new Problem('last_owner', 'this is the last active owner: make somebody else an owner first');
  }
  if (!(await hasOwnerToken(store, tenant, leaving, nowMs))) throw lastToken(leaving);
  return putAccount(account, left);
}

/** Writes the account in place of the version that was read, with this number of active owners. */
export function putAccount(account: StoredDocument<'account'>, owners: number): PutDocument<'account'> {
  const { id, version, parent, dueAt, body } = account;
  const changed = { ...body, owners };
  return { op: 'put', kind: 'account', id, expect: version, parent, dueAt, unique: [], body: changed };
}

function lastToken(leaving: Leaving): Problem {
  const [code, detail]: [ProblemCode, string] =
    'userId' in leaving
      ? ['last_owner', 'no other active owner has a token: create a token for another owner first']
      : [
          'last_owner_token',
          'this is the last token of an active owner that can manage users: create another one first',
        ];
  return new Problem(code, detail);
}

async function hasOwnerToken(
  store: TaskStore,
  tenant: string,
  leaving: Leaving,
  nowMs: number,
): Promise<boolean> {
  for await (const user of allOf(store, tenant, 'user')) {
    if (!isActiveOwner(user.body) || ('userId' in leaving && user.id === leaving.userId)) continue;
    for await (const token of allOf(store, tenant, 'token', user.id)) {
      if (canManageUsers(token.body, nowMs) && !('tokenId' in leaving && token.id === leaving.tokenId))
        return true;
    }
  }
  return false;
}

function canManageUsers({ scopes, expiresAt }: ApiToken, nowMs: number): boolean {
  return expiresAt > nowMs && (scopes === null || scopes.includes('users:write'));
}

/** All documents of a kind, the oldest first, page by page. */
export async function* allOf<K extends DocumentKind>(
  store: Pick<TaskStore, 'listDocuments'>,
  tenant: string,
  kind: K,
  parent?: string,
): AsyncGenerator<StoredDocument<K> & { readonly body: DocumentBodies[K] }> {
  let after: string | null = null;
  for (;;) {
    const query = {
      kind,
      after,
      limit: PAGE,
      order: 'asc',
      ...(parent !== undefined && { parent }),
    } as const;
    const found = (await store.listDocuments(tenant, query)) as readonly StoredDocument<K>[];
    yield* found;
    if (found.length < PAGE) return;
    after = found[found.length - 1].id;
  }
}
