import type { ApiToken, Scope } from '../../model/documents.ts';
import type { Actor } from '../../model/task.ts';
import type { PutDocument } from '../../store/documents.ts';
import type { RestParts } from '../http/parts.ts';
import { newToken, tokenHash } from './token-text.ts';

interface TokenRequest {
  readonly tenant: string;
  readonly userId: string;
  readonly name: string;
  /** Null: all that the role of the user allows. */
  readonly scopes: readonly Scope[] | null;
  readonly expiresAt: number;
  readonly createdBy: Actor;
  readonly atMost: number;
  readonly nowMs: number;
}

/** A token that is about to be made: its text, which is kept nowhere, and its document. */
interface MadeToken {
  readonly text: string;
  readonly change: PutDocument<'token'>;
}

export function makeToken(parts: Pick<RestParts, 'ids' | 'randomBytes'>, request: TokenRequest): MadeToken {
  const text = newToken('tk', request.tenant, parts.randomBytes);
  const body: ApiToken = {
    userId: request.userId,
    name: request.name,
    scopes: request.scopes,
    expiresAt: request.expiresAt,
    lastUsedAt: null,
    createdAt: request.nowMs,
    createdBy: request.createdBy,
  };
  const change: PutDocument<'token'> = {
    op: 'put',
    kind: 'token',
    id: parts.ids.next('token'),
    expect: 'absent',
    parent: request.userId,
    dueAt: null,
    unique: [`hash:${tokenHash(text)}`],
    body,
    atMost: request.atMost,
  };
  return { text, change };
}
