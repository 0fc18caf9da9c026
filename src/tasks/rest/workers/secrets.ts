import { DAY_MS } from '../../../base/clock.ts';
import { newSigningSecret } from '../../delivery/signature.ts';
import type { Account, Secret } from '../../model/documents.ts';
import { isId } from '../../model/ids.ts';
import { RecordedKeys } from '../../scheduler/health/recorded-keys.ts';
import { ACCOUNT_ID, type DocumentChange, type StoredDocument } from '../../store/documents.ts';
import { putAgain, putNew } from '../../store/put-document.ts';
import { newToken, tokenHash } from '../access/api-token.ts';
import { auditEntry } from '../access/audit.ts';
import { quotaExceeded } from '../access/tenant-limits.ts';
import { Problem, retryLater } from '../checks/problem.ts';
import { readNamed } from '../fields/named-documents.ts';
import { workerChanged } from '../fields/stored-worker.ts';
import { earlierAnswer, recordOf, replayOf } from '../http/idempotency.ts';
import { documentPage, PAGE_QUERY, pageSchema } from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import type { Call, RestAnswer, Route } from '../http/route.ts';
import { tryAgain } from '../http/try-again.ts';
import {
  CREATED_SECRET,
  isLive,
  NEW_SECRET,
  readSecretFields,
  SECRET_ANSWER,
  type SecretFields,
  secretView,
} from './secret-fields.ts';

/** `/v1/workers/:id/secrets` (specification 3.5.4). */
export function secretRoutes(parts: RestParts): readonly Route[] {
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
      problems: ['quota_exceeded', 'wrong_master_key'],
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
      handle: call => listSecrets(parts, call),
    },
    {
      method: 'DELETE',
      path: '/v1/workers/:id/secrets/:sid',
      operation: 'deleteSecret',
      summary: 'Delete a secret; it is no longer used or accepted',
      access: { role: 'admin', scope: 'workers:write' },
      answers: { 204: { description: 'Deleted' } },
      handle: call => deleteSecret(parts, call),
    },
  ];
}

async function listSecrets(parts: RestParts, call: Call): Promise<RestAnswer> {
  const worker = await readNamed(parts.store, call, 'worker');
  return documentPage(parts, call, {
    kind: 'secret',
    list: 'listSecrets',
    parent: worker.id,
    view: secret => secretView(secret, call.nowMs),
  });
}

async function deleteSecret(parts: RestParts, call: Call): Promise<RestAnswer> {
  const { tenant } = call;
  const worker = await readNamed(parts.store, call, 'worker');
  const id = call.params['sid'];
  const secret = isId('secret', id) ? await parts.store.getDocument(tenant, 'secret', id) : null;
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
  parts.logger.info('Secret deleted', {
    tenant,
    worker: worker.id,
    secret: id,
    by: call.caller.actor.id,
  });
  return { status: 204 };
}

function noSuchSecret(id: string): Problem {
  return new Problem('not_found', `The worker has no secret ${JSON.stringify(id.slice(0, 64))}.`);
}

/** All active signing secrets sign each push, so there can be only a few. */
const MAX_LIVE_SIGNING = 5;
/** Maximum number of secrets of all types, including expired ones. */
const MAX_SECRETS = 100;
/** How long an expired secret is listed. After that, it is deleted when the next secret is created. */
const SHOW_EXPIRED_MS = 7 * DAY_MS;

/** Creates a secret. Earlier secrets with the same type and name get their expiry in the same step. */
async function createSecret(parts: RestParts, call: Call): Promise<RestAnswer> {
  const fields = readSecretFields(call.body);
  const earlier = await earlierAnswer(parts.store, call);
  if (earlier !== null) return earlier;
  const worker = await readNamed(parts.store, call, 'worker');
  return tryAgain('the secrets of the worker', 'store_unavailable', () =>
    tryCreate(parts, call, worker.id, fields),
  );
}

/** Null if another request has changed the secrets in the meantime. */
async function tryCreate(
  parts: RestParts,
  call: Call,
  workerId: string,
  fields: SecretFields,
): Promise<RestAnswer | null> {
  const { tenant, nowMs } = call;
  const older = await allSecrets(parts, tenant, workerId);
  checkRoom(older, fields, nowMs);
  const account = fields.type === 'token' ? NO_KEY : await withDataKey(parts, tenant);
  const id = parts.ids.next('secret');
  const made = fields.value === null;
  const value = fields.value ?? newValue(parts, tenant, fields.type);
  const secret = sealedSecret(parts, call, { id, workerId, fields, value, dataKey: account.dataKey });
  const json = secretView({ id, body: secret }, nowMs);
  const headers = { Location: `/api/v1/workers/${workerId}/secrets/${id}` };
  const answer: RestAnswer = { status: 201, headers, json: { ...json, value: null } };
  const ofOlder = older.flatMap(one => changesOfOlder(one, fields, nowMs));
  const atMost = mostSecrets(older.length - ofOlder.filter(({ op }) => op === 'delete').length, fields);
  const changes: DocumentChange[] = [
    ...account.changes,
    ...ofOlder,
    putNew('secret', id, secret, { atMost }),
    auditEntry(parts, call, {
      action: 'secret.created',
      targetId: id,
      targetName: fields.name,
      changed: Object.keys(call.body),
      details: { worker: workerId, type: fields.type },
    }),
  ];
  const applied = await parts.store.apply(tenant, changes, recordOf(call, answer));
  if (applied.kind === 'refused') {
    if (applied.reason === 'too_many' && atMost === MAX_SECRETS) throw tooMany('secrets', MAX_SECRETS);
    return null;
  }
  const earlier = replayOf(applied);
  if (earlier !== null) return earlier;
  workerChanged(parts, tenant, workerId);
  if (account.changes.length > 0) parts.signals.tell('accountChanged', tenant);
  parts.logger.info('Secret created', {
    tenant,
    worker: workerId,
    secret: id,
    type: fields.type,
    by: call.caller.actor.id,
  });
  return { ...answer, json: { ...json, value: made ? value : null } };
}

async function allSecrets(
  { store }: RestParts,
  tenant: string,
  workerId: string,
): Promise<readonly StoredDocument<'secret'>[]> {
  const query = { kind: 'secret', parent: workerId, after: null, limit: MAX_SECRETS, order: 'asc' } as const;
  return (await store.listDocuments(tenant, query)) as readonly StoredDocument<'secret'>[];
}

/** @throws Problem `quota_exceeded` */
function checkRoom(older: readonly StoredDocument<'secret'>[], fields: SecretFields, nowMs: number): void {
  if (fields.type !== 'signing') return;
  const live = older.filter(
    ({ body }) =>
      body.type === 'signing' && isLive(body, nowMs) && !(fields.graceMs === 0 && body.name === fields.name),
  );
  if (live.length >= MAX_LIVE_SIGNING) throw tooMany('signing_secrets', MAX_LIVE_SIGNING);
}

/**
 * Maximum number of secrets with the new one. Another signing secret that is created meanwhile may have taken the last
 * place of {@link MAX_LIVE_SIGNING}, so the secrets have to be read again.
 *
 * @param kept number of secrets that were read and stay
 */
function mostSecrets(kept: number, { type }: SecretFields): number {
  return type === 'signing' ? Math.min(kept + 1, MAX_SECRETS) : MAX_SECRETS;
}

function tooMany(limit: string, max: number): Problem {
  const words = limit.replaceAll('_', ' ');
  return quotaExceeded(
    limit,
    max,
    `The worker already has ${max} ${words}, which is the limit. Delete one, or wait until one expires.`,
  );
}

type DataKey = NonNullable<Account['dataKey']>;

interface KeyedAccount {
  readonly dataKey: DataKey | null;
  readonly changes: readonly DocumentChange[];
}

/** Tokens are stored as hashes, so they need no data key. */
const NO_KEY: KeyedAccount = { dataKey: null, changes: [] };

/**
 * The data key of the tenant, and the change that creates it for the first secret.
 *
 * @throws Problem `wrong_master_key`: other processes could not decrypt what this one would encrypt
 */
async function withDataKey({ store, sealer }: RestParts, tenant: string): Promise<KeyedAccount> {
  const account = await store.getDocument(tenant, 'account', ACCOUNT_ID);
  if (account === null) throw new Problem('tenant_not_found', 'The account no longer exists.');
  const { body } = account;
  if (body.dataKey !== null) {
    if (!sealer.knows(body.dataKey.masterKeyId)) throw wrongMasterKey();
    return { dataKey: body.dataKey, changes: [] };
  }
  if ((await new RecordedKeys({ store, sealer }).foreign()) !== null) throw wrongMasterKey();
  const dataKey = sealer.newDataKey(tenant);
  return { dataKey, changes: [putAgain(account, { ...body, dataKey })] };
}

function wrongMasterKey(): Problem {
  return retryLater(
    'wrong_master_key',
    'This instance has another master key than the task store, so it cannot encrypt secrets. Retry the request: another ' +
      'instance may have the right key. Otherwise, the operator has to set SECRETS_MASTER_KEY.',
    10,
  );
}

function newValue({ randomBytes }: RestParts, tenant: string, type: Secret['type']): string {
  if (type === 'token') return newToken('wkt', tenant, randomBytes);
  return newSigningSecret(randomBytes);
}

interface Unsealed {
  readonly id: string;
  readonly workerId: string;
  readonly fields: SecretFields;
  readonly value: string;
  /** Null for a token. */
  readonly dataKey: DataKey | null;
}

/** The stored form of a secret: the encrypted value, or the hash of a token. */
function sealedSecret(
  { sealer }: RestParts,
  { tenant, caller, nowMs }: Call,
  { id, workerId, fields: { type, name }, value, dataKey }: Unsealed,
): Secret {
  const kept =
    dataKey === null
      ? { fingerprint: tokenHash(value), sealed: null }
      : {
          fingerprint: sealer.fingerprint(value, dataKey, tenant),
          sealed: sealer.seal(value, dataKey, { tenant, workerId, secretId: id, type }),
        };
  return {
    workerId,
    type,
    name,
    ...kept,
    createdAt: nowMs,
    createdBy: caller.actor,
    lastUsedAt: null,
    expiresAt: null,
  };
}

/** Sets the expiry of an earlier secret with the same type and name, or deletes a secret that expired long ago. */
function changesOfOlder(
  secret: StoredDocument<'secret'>,
  { type, name, graceMs }: SecretFields,
  nowMs: number,
): readonly DocumentChange[] {
  const { id, version, body } = secret;
  const { expiresAt } = body;
  if (expiresAt !== null && expiresAt <= nowMs - SHOW_EXPIRED_MS) {
    return [{ op: 'delete', kind: 'secret', id, expect: version }];
  }
  const until = nowMs + graceMs;
  if (body.type !== type || body.name !== name || (expiresAt !== null && expiresAt <= until)) return [];
  return [putAgain(secret, { ...body, expiresAt: until })];
}
