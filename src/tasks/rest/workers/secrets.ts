import type { StoredDocument } from '../../store/documents.ts';
import { auditEntry } from '../access/audit.ts';
import { Problem } from '../checks/problem.ts';
import { readWorker } from '../fields/find-worker.ts';
import { NEW_SECRET } from '../fields/secret-fields.ts';
import { CREATED_SECRET, SECRET_ANSWER, secretView } from '../fields/secret-view.ts';
import { Cursors } from '../http/cursor.ts';
import { PAGE_QUERY, pageAnswer, pageSchema, readPage } from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { createSecret } from './secret-create.ts';
import { workerChanged } from './worker-changed.ts';

/** `/v1/workers/:id/secrets` (specification 3.5.4). */
export function secretRoutes(parts: RestParts): readonly Route[] {
  const cursors = new Cursors(parts.config.cursorKey);
  return [
    {
      method: 'POST',
      path: '/v1/workers/:id/secrets',
      operation: 'createSecret',
      summary: 'Create a secret of a worker',
      access: { role: 'admin', scope: 'workers:write' },
      body: NEW_SECRET,
      bodyOptional: true,
      answers: { 201: { description: 'The new secret', schema: CREATED_SECRET } },
      problems: ['not_found', 'quota_exceeded', 'idempotency_key_reused', 'version_mismatch'],
      handle: call => createSecret(parts, call),
    },
    {
      method: 'GET',
      path: '/v1/workers/:id/secrets',
      operation: 'listSecrets',
      summary: 'List the secrets of a worker, without their values',
      access: { role: 'viewer', scope: 'workers:read' },
      query: PAGE_QUERY,
      answers: { 200: { description: 'A page of secrets', schema: pageSchema('SecretPage', SECRET_ANSWER) } },
      problems: ['not_found', 'invalid_parameter', 'invalid_cursor'],
      handle: call => listSecrets(parts, cursors, call),
    },
    {
      method: 'DELETE',
      path: '/v1/workers/:id/secrets/:sid',
      operation: 'deleteSecret',
      summary: 'Delete a secret: from now on it is good for nothing',
      access: { role: 'admin', scope: 'workers:write' },
      answers: { 204: { description: 'It is gone' } },
      problems: ['not_found'],
      handle: call => deleteSecret(parts, call),
    },
  ];
}

async function listSecrets(parts: RestParts, cursors: Cursors, call: Call): Promise<RestAnswer> {
  const worker = await readWorker(parts.store, call.tenant, call.params['id']);
  const page = readPage(call, `listSecrets ${worker.id}`, cursors);
  const { after, order, limit } = page;
  const query = { kind: 'secret', parent: worker.id, after, order, limit: limit + 1 } as const;
  const found = (await parts.store.listDocuments(call.tenant, query)) as readonly StoredDocument<'secret'>[];
  return pageAnswer(
    page,
    found,
    cursors,
    secret => secret.id,
    secret => JSON.stringify(secretView(secret, call.nowMs)),
  );
}

async function deleteSecret(parts: RestParts, call: Call): Promise<RestAnswer> {
  const { tenant } = call;
  const worker = await readWorker(parts.store, tenant, call.params['id']);
  const id = call.params['sid'];
  const secret = await parts.store.getDocument(tenant, 'secret', id);
  if (secret === null || secret.body.workerId !== worker.id) throw noSuchSecret(id);
  const applied = await parts.store.apply(tenant, [
    { op: 'delete', kind: 'secret', id, expect: 'any' },
    auditEntry(parts, call, {
      action: 'secret.deleted',
      targetId: id,
      targetName: secret.body.name,
      details: { worker: worker.id, type: secret.body.type },
    }),
  ]);
  if (applied.kind === 'refused') throw noSuchSecret(id);
  workerChanged(parts, tenant, worker.id);
  parts.logger.info('tasks: a secret was deleted', {
    tenant,
    worker: worker.id,
    secret: id,
    by: call.caller.actor.id,
  });
  return { status: 204 };
}

function noSuchSecret(id: string): Problem {
  return new Problem('not_found', `the worker has no secret ${JSON.stringify(id.slice(0, 64))}`);
}
