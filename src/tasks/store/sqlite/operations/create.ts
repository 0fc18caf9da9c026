import { keptTexts, type OwnField, PRIORITIES } from '../../../model/task-content.ts';
import { resolveTime } from '../../../model/time.ts';
import { actorText } from '../../actor-text.ts';
import { isFinalCode, STATUS } from '../../codes.ts';
import { onFinishText } from '../../documents.ts';
import type { CreateAnswer, CreateRequest, CreateResult, NewTask } from '../../requests.ts';
import { applyDifference, difference } from '../rows/content.ts';
import { type KeyHolder, keyHolder, takeKey } from '../rows/keys.ts';
import { insertTask, saveTask } from '../rows/save.ts';
import { findTask, mapText, type StoredTask, shown, type TaskRow, taskAt } from '../rows/task-row.ts';
import { openTasks, type TenantTotals, type Work } from '../rows/work.ts';
import { applyChanges, isDocumented, lookUp, writeRecord } from './documents.ts';

const INSERT_BODY = 'INSERT INTO body (seq, payload, headers) VALUES (?, ?, ?)';

export function create(work: Work, tenant: string, request: CreateRequest): CreateAnswer {
  const known = lookUp(work, work.numbers.ofTenant(tenant), request.idempotency);
  if (known.kind !== 'new') return known;
  const make = () => makeAll(work, tenant, request);
  // Otherwise each task is created or refused independently.
  const mayFailHalfWay = (request.atomic && request.tasks.length > 1) || request.documents !== undefined;
  if (!mayFailHalfWay) return make();
  const answer = work.undoable(make, made => !isRefused(made, request));
  if (answer.kind !== 'done' || !isRefused(answer, request)) return answer;
  const results = answer.results.map<CreateResult>(result =>
    result.kind === 'refused' ? result : { kind: 'refused', reason: 'not_created' },
  );
  return { ...answer, results };
}

/** Whether the whole request is refused. */
function isRefused(answer: CreateAnswer, { atomic }: CreateRequest): boolean {
  if (answer.kind !== 'done') return true;
  return atomic && answer.results.some(({ kind }) => kind === 'refused');
}

function makeAll(work: Work, tenant: string, request: CreateRequest): CreateAnswer {
  const totals = work.tenant(tenant);
  const documents = applyChanges(work, totals, tenant, request.documents ?? []);
  if (documents.kind === 'refused') {
    return { kind: 'documents_refused', index: documents.index, reason: documents.reason };
  }
  const { maxOpen } = request;
  const creation = { work, tenant: totals, maxOpen, actor: actorText(request.actor) };
  const results = request.tasks.map(item => makeOne(creation, item));
  const { idempotency } = request;
  if (idempotency !== undefined && results.some(({ kind }) => kind !== 'refused')) {
    writeRecord(work, totals.number, idempotency, results);
  }
  return { kind: 'done', results, note: idempotency?.note ?? '' };
}

/** Properties that all tasks of a request share. */
interface Creation {
  readonly work: Work;
  readonly tenant: TenantTotals;
  readonly maxOpen: number;
  /** Actor of changes to replaced tasks, as `type:id`. */
  readonly actor: string;
}

function makeOne(creation: Creation, item: NewTask): CreateResult {
  const { work, tenant, maxOpen } = creation;
  const { workerId, key, heldBy } = item.task;
  if (!isDocumented(work, tenant, workerId)) return { kind: 'refused', reason: 'worker_missing' };
  const holder = key === null ? null : keyHolder(work, work.worker(tenant, workerId).number, key);
  const holding = holder === null ? null : taskAt(work, holder.seq);
  if (holder !== null && holding !== null) {
    const settled = onConflict(creation, item, holder, holding);
    if (settled !== null) return settled;
  }
  if (openTasks(tenant) >= maxOpen) return { kind: 'refused', reason: 'quota_exceeded' };
  const beside = holding !== null && !isFinalCode(holding.row.status) ? holding.row.id : null;
  const row = newRow(work, tenant, item, beside ?? liveTask(work, tenant, heldBy));
  insertTask(work, tenant, row, { event: 'created', actor: row.created_by });
  work.statements.run(INSERT_BODY, row.seq, item.body.payload, mapText(item.body.headers));
  takeKey(work, row);
  return { kind: 'created', task: shown(work, row) };
}

/** Handles a task whose key another one has. Null: the task is created. */
function onConflict(
  creation: Creation,
  item: NewTask,
  holder: KeyHolder,
  holding: StoredTask,
): CreateResult | null {
  const { work } = creation;
  const { row } = holding;
  if (item.onConflict === 'return')
    return { kind: 'existing', task: shown(work, row), keyFreeAt: holder.freeAt };
  if (item.onConflict === 'reject') return { kind: 'refused', reason: 'task_key_exists', taskId: row.id };
  if (isFinalCode(row.status) || row.started_at !== null) return null;
  replace(creation, holding, item);
  return { kind: 'replaced', task: shown(work, row) };
}

/** Gives a waiting task the content of the new task, which is not created. */
function replace(
  { work, tenant, actor }: Creation,
  stored: StoredTask,
  { task, body, onConflict: way, wake }: NewTask,
): void {
  const { row } = stored;
  const keepsTime = way === 'replace_keep_time';
  const { runAt, ...content } = { ...task, ...body };
  const found = difference(work, row, keepsTime ? content : { ...content, runAt });
  applyDifference(work, row, found);
  row.wake = wake ? 1 : 0;
  if (!keepsTime && row.held_by === null) row.due_at = row.run_at;
  const entry = { event: 'updated', actor, rest: { changed: found.names } } as const;
  saveTask(work, tenant, stored, found.names.length === 0 ? null : entry);
}

/** Returns the id if the task exists and is not final. */
function liveTask(work: Work, tenant: TenantTotals, id: string | null): string | null {
  const found = id === null ? null : findTask(work, tenant.number, id);
  return found === null || isFinalCode(found.row.status) ? null : found.row.id;
}

function newRow(work: Work, tenant: TenantTotals, { task, wake }: NewTask, heldBy: string | null): TaskRow {
  const runAt = resolveTime(task.runAt, work.now);
  return {
    seq: 0,
    tenant: tenant.number,
    id: task.id,
    worker: work.worker(tenant, task.workerId).number,
    status: STATUS.scheduled,
    band: PRIORITIES.indexOf(task.priority),
    due_at: heldBy === null ? runAt : null,
    run_at: runAt,
    expires_at: resolveTime(task.expiresAt, work.now),
    attempt: 0,
    deferrals: 0,
    events: 0,
    version: 1,
    created_at: task.createdAt,
    updated_at: work.now,
    started_at: null,
    finished_at: null,
    cancel_at: null,
    lease: null,
    lease_until: null,
    lease_cap: null,
    lease_event: null,
    began_at: null,
    key: task.key,
    key_ttl: task.keyTtlMs,
    grp: task.group,
    on_finish: onFinishText(task.onFinish),
    schedule: task.scheduleId,
    scheduled_for: task.scheduledFor,
    held_by: heldBy,
    wake: wake ? 1 : 0,
    timeout: task.timeoutMs,
    worker_name: task.worker,
    retry: JSON.stringify(task.retry),
    ...(keptTexts(task) as Record<OwnField, string | null>),
    created_by: actorText(task.createdBy),
    last_error: null,
  };
}
