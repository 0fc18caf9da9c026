import type { DocumentBodies, DocumentKind, Secret, User } from '../model/documents.ts';
import { scheduleDueAt } from '../model/schedules/schedule-times.ts';
import type { PutDocument, StoredDocument } from './documents.ts';

/** The unique name of a worker or a schedule. */
export function documentName(kind: 'worker' | 'schedule', name: string): string {
  return `name:${kind}:${name}`;
}

/**
 * The unique name of a token of a user or a worker. It is the same for both, so that one look-up finds either.
 *
 * @param hash SHA-256 of the token in hex
 */
export function tokenName(hash: string): string {
  return `hash:${hash}`;
}

/** The unique name of a user of the identity provider. */
export function externalName(externalId: string): string {
  return `external:${externalId}`;
}

/**
 * The newest secret of a worker with this type and name has this unique name, until it gets an expiry. So of secrets that
 * are created at the same time, none can miss that another one replaces it.
 */
function newestSecretName({ workerId, type, name }: Secret): string {
  return `newest:${workerId}:${type}:${name}`;
}

function secretNames(secret: Secret): readonly string[] {
  const names = secret.expiresAt === null ? [newestSecretName(secret)] : [];
  return secret.type === 'token' ? [...names, tokenName(secret.fingerprint)] : names;
}

function userNames({ email, externalId }: User): readonly string[] {
  const names = [`email:${email.toLowerCase()}`];
  return externalId === null ? names : [...names, externalName(externalId)];
}

/** Where a document is filed: what stores know of it beside its body. */
type Filing<K extends DocumentKind> = Partial<Pick<PutDocument<K>, 'parent' | 'dueAt' | 'unique'>>;

/** The filing of documents by kind, as far as it follows from their bodies. */
const FILING: {
  readonly [K in DocumentKind]?: (body: DocumentBodies[K], id: string) => Filing<K>;
} = {
  user: body => ({ unique: userNames(body) }),
  token: ({ userId }) => ({ parent: userId }),
  // Due when the pause ends.
  worker: ({ name, paused, resumeAt }) => ({
    dueAt: paused ? resumeAt : null,
    unique: [documentName('worker', name)],
  }),
  secret: body => ({ parent: body.workerId, unique: secretNames(body) }),
  schedule: (body, id) => ({
    dueAt: scheduleDueAt(id, body),
    unique: [documentName('schedule', body.name)],
  }),
};

type More<K extends DocumentKind> = Partial<Omit<PutDocument<K>, 'op' | 'kind' | 'id' | 'body'>>;

/**
 * The change that creates a document.
 *
 * @param more what does not follow from the kind and the body
 */
export function putNew<K extends DocumentKind>(
  kind: K,
  id: string,
  body: DocumentBodies[K],
  more: More<K> = {},
): PutDocument<K> {
  const filing = FILING[kind]?.(body, id);
  return {
    op: 'put',
    kind,
    id,
    expect: 'absent',
    parent: '',
    dueAt: null,
    unique: [],
    ...filing,
    body,
    ...more,
  };
}

/**
 * The change that gives a document another body, if it still has the version that was read. Its parent and its due time
 * stay unless they follow from the body.
 *
 * @param more what does not follow from the kind and the body
 */
export function putAgain<K extends DocumentKind>(
  { kind, id, version, parent, dueAt }: Omit<StoredDocument<K>, 'body'>,
  body: DocumentBodies[K],
  more: More<K> = {},
): PutDocument<K> {
  const filing = FILING[kind]?.(body, id);
  return { op: 'put', kind, id, expect: version, parent, dueAt, unique: [], ...filing, body, ...more };
}
