import { DAY_MS } from '../../../base/clock.ts';
import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { AUDIT_ACTIONS, type AuditAction, type AuditEntry } from '../../model/documents.ts';
import type { Actor } from '../../model/task.ts';
import { formatTime } from '../../model/time.ts';
import type { PutDocument, StoredDocument } from '../../store/documents.ts';
import { putNew } from '../../store/put-document.ts';
import { NAMED } from '../checks/example-names.ts';
import { documentPage, PAGE_QUERY, pageSchema } from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, Route } from '../http/route.ts';

/** How long entries are kept, and the maximum number of entries per tenant. */
const KEEP_MS = 90 * DAY_MS;
const MAX_ENTRIES = 5_000;

/** The actor of entries about changes by the operator. */
const OPERATOR: Actor = { type: 'system', id: 'operator' };

/** The contents of an entry that do not follow from the call. */
export interface Audited {
  readonly action: AuditAction;
  readonly targetId?: string;
  readonly targetName?: string;
  /** Names of the fields in the request. */
  readonly changed?: readonly string[];
  /** Must not contain anything confidential. */
  readonly details?: AuditEntry['details'];
}

/** The parts of a call that an entry records. */
interface AuditedCall extends Pick<Call, 'requestId' | 'nowMs'> {
  /** Null for the operator. */
  readonly caller: Call['caller'] | null;
}

/** The change that adds an entry to the audit log. Apply it in the same step as the change that it records. */
export function auditEntry(
  { ids }: Pick<RestParts, 'ids'>,
  { caller, requestId, nowMs }: AuditedCall,
  { action, targetId, targetName, changed = [], details = {} }: Audited,
): PutDocument<'audit'> {
  const body: AuditEntry = {
    at: nowMs,
    action,
    actor: caller?.actor ?? OPERATOR,
    tokenId: caller?.kind === 'user' ? caller.tokenId : null,
    targetId: targetId ?? null,
    targetName: targetName ?? null,
    changed,
    details,
    requestId,
  };
  return putNew('audit', ids.next('audit'), body, { dueAt: nowMs + KEEP_MS, keepNewest: MAX_ENTRIES });
}

const ID = { type: 'string', nullable: true } as const;

const ENTRY: ObjectSchema = {
  type: 'object',
  name: 'AuditEntry',
  properties: {
    id: { type: 'string' },
    at: { type: 'string', format: 'date-time' },
    action: { type: 'string', enum: AUDIT_ACTIONS },
    actor: {
      type: 'object',
      description:
        'The caller that made the change; type `system` with id `operator` for the operator of the service.',
      properties: { type: { type: 'string' }, id: { type: 'string' } },
    },
    token_id: { ...ID, description: 'The token that was used.' },
    target_id: { ...ID, description: 'The id of the changed resource; null for bulk actions.' },
    target_name: { ...ID, description: 'The name of a worker, schedule, token or secret.' },
    changed: {
      type: 'array',
      items: { type: 'string' },
      description: 'Names of the fields in the request. Their values are not recorded.',
    },
    details: {
      type: 'record',
      values: { type: 'one_of', of: [{ type: 'string' }, { type: 'number' }] },
      description: 'Further details, such as the number of tasks that a bulk action changed.',
    },
    request_id: { type: 'string', description: 'The `X-Request-Id` of the request.' },
  },
  example: {
    id: 'aud_01KGES92M0YB0SV4FC4YSQC7XC',
    at: '2026-02-02T09:00:00.000Z',
    action: 'worker.created',
    actor: NAMED.actor,
    token_id: NAMED.ids.token,
    target_id: NAMED.ids.worker,
    target_name: NAMED.worker,
    changed: ['name', 'url'],
    details: {},
    request_id: NAMED.ids.request,
  },
};

/** `GET /v1/audit` (specification 3.12). */
export function auditRoutes(parts: RestParts): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/audit',
      operation: 'listAudit',
      summary:
        'List the audit log: changes of users, tokens, workers, secrets, schedules and the account, newest first',
      access: { role: 'admin', scope: 'users:read' },
      query: PAGE_QUERY,
      answers: {
        200: {
          description: `A page of entries. Entries are kept for 90 days, at most ${MAX_ENTRIES} of them.`,
          schema: pageSchema('AuditPage', ENTRY),
        },
      },
      handle: call => documentPage(parts, call, { kind: 'audit', list: 'listAudit', view: entryView }),
    },
  ];
}

function entryView({ id, body }: StoredDocument<'audit'>): object {
  return {
    id,
    at: formatTime(body.at),
    action: body.action,
    actor: body.actor,
    token_id: body.tokenId,
    target_id: body.targetId,
    target_name: body.targetName,
    changed: body.changed,
    details: body.details,
    request_id: body.requestId,
  };
}
