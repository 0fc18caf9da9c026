import type { DocumentBodies } from '../../model/documents.ts';
import type { DeleteDocument, DocumentChange, StoredDocument } from '../../store/documents.ts';
import { putAgain, putNew } from '../../store/put-document.ts';
import { auditEntry } from '../access/audit.ts';
import { limitsOf, quotaExceeded } from '../access/tenant-limits.ts';
import { type Problem, problemAt } from '../checks/problem.ts';
import { recordOf, replayOf } from '../http/idempotency.ts';
import type { RestParts } from '../http/parts.ts';
import { entityTag, expectedVersion, expectedVersions, versionMismatch } from '../http/request-headers.ts';
import type { Call, RestAnswer } from '../http/route.ts';
import { tryAgain } from '../http/try-again.ts';
import { type NamedKind, noSuch, readNamed } from './named-documents.ts';

type Named<K extends NamedKind> = Pick<StoredDocument<K>, 'kind' | 'id' | 'body'>;

interface NewNamed<K extends NamedKind> extends Named<K> {
  /** The response. */
  readonly json: object;
  /** The response as it is remembered for repeated requests. */
  readonly noted?: object;
}

/**
 * Creates a worker or a schedule.
 *
 * @returns the response, and whether it is that to an earlier request
 * @throws Problem `name_taken`, `quota_exceeded` or `idempotency_key_reused`
 */
export async function createNamed<K extends NamedKind>(
  parts: RestParts,
  call: Call,
  { kind, id, body, json, noted = json }: NewNamed<K>,
): Promise<{ readonly answer: RestAnswer; readonly isReplay: boolean }> {
  const headers = { Location: `/api/v1/${kind}s/${id}`, ETag: entityTag(1) };
  const limit = `${kind}s` as const;
  const most = limitsOf(parts, call)[limit];
  const applied = await parts.store.apply(
    call.tenant,
    [putNew(kind, id, body, { atMost: most }), auditOf(parts, call, 'created', { kind, id, body })],
    recordOf(call, { status: 201, headers, json: noted }),
  );
  if (applied.kind === 'refused') {
    if (applied.reason === 'name_taken') throw nameTaken(kind, body.name);
    const detail = `The account already has ${most} ${limit}, which is its limit. Delete a ${kind} first.`;
    throw quotaExceeded(limit, most, detail);
  }
  const earlier = replayOf(applied);
  return { answer: earlier ?? { status: 201, headers, json }, isReplay: earlier !== null };
}

/** A worker or a schedule before and after a change. */
interface ChangedNamed<K extends NamedKind> {
  readonly before: StoredDocument<K>;
  readonly after: StoredDocument<K>;
}

/**
 * Changes the worker or the schedule that the path of a call names, if the call allows its version.
 *
 * @param change returns the new body; it is called again if the document has changed in the meantime
 * @throws Problem `not_found`, `name_taken` or `version_mismatch`
 */
export async function changeNamed<K extends NamedKind>(
  parts: RestParts,
  call: Call,
  kind: K,
  change: (before: StoredDocument<K>) => Promise<DocumentBodies[K]>,
): Promise<ChangedNamed<K>> {
  const meant = expectedVersions(call);
  return tryAgain('the resource', 'version_mismatch', async () => {
    const before = await readNamed(parts.store, call, kind);
    expectedVersion(meant, before.version);
    const { id } = before;
    const body = await change(before);
    const applied = await parts.store.apply(call.tenant, [
      putAgain(before, body),
      auditOf(parts, call, 'updated', { kind, id, body }),
    ]);
    if (applied.kind === 'done') return { before, after: { ...before, version: applied.versions[0], body } };
    if (applied.kind !== 'refused') throw replayedWithoutKey();
    if (applied.reason === 'name_taken') throw nameTaken(kind, body.name);
    if (applied.reason === 'missing') throw noSuch(kind, call.params['id']);
    return null;
  });
}

/**
 * Deletes a worker or a schedule.
 *
 * @returns false if it is a worker with open tasks
 * @throws Problem `not_found` or `version_mismatch`
 */
export async function deleteNamed<K extends NamedKind>(
  parts: RestParts,
  call: Call,
  { kind, id, body }: Named<K>,
  terms: Pick<DeleteDocument, 'expect' | 'noOpenTasksOf' | 'children'>,
): Promise<boolean> {
  const applied = await parts.store.apply(call.tenant, [
    { op: 'delete', kind, id, ...terms },
    auditOf(parts, call, 'deleted', { kind, id, body }),
  ]);
  if (applied.kind === 'done') return true;
  if (applied.kind !== 'refused') throw replayedWithoutKey();
  if (applied.reason === 'missing') throw noSuch(kind, call.params['id']);
  if (applied.reason === 'version') throw versionMismatch();
  return false;
}

function auditOf(
  parts: RestParts,
  call: Call,
  what: 'created' | 'updated' | 'deleted',
  { kind, id, body }: Named<NamedKind>,
): DocumentChange {
  const changed = Object.keys(call.body);
  return auditEntry(parts, call, { action: `${kind}.${what}`, targetId: id, targetName: body.name, changed });
}

function nameTaken(kind: NamedKind, name: string): Problem {
  const detail = `Another ${kind} has the name ${JSON.stringify(name)}. Choose another name.`;
  return problemAt({ pointer: '/name' }, 'name_taken', detail);
}

function replayedWithoutKey(): Error {
  return new Error('a change without an idempotency key must not be replayed');
}
