import { scheduleDueAt } from '../../model/schedules/schedule-times.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { seesPayloads } from '../access/authorization.ts';
import { limitsOf } from '../access/tenant-limits.ts';
import { acceptingAnswer, FieldReader, type Fields, writableFields } from '../checks/field-reader.ts';
import { changeNamed, createNamed, deleteNamed } from '../fields/named-changes.ts';
import { findWorker, readNamed } from '../fields/named-documents.ts';
import { unknownWorker } from '../fields/new-task.ts';
import { payloadView, readPayload } from '../fields/payload-fields.ts';
import { LargeReads } from '../http/bounded.ts';
import { earlierAnswer } from '../http/idempotency.ts';
import {
  PAGE_BYTES,
  PAGE_QUERY,
  PAGES_AT_ONCE,
  type Page,
  pageAnswer,
  pageSchema,
  readPage,
} from '../http/page.ts';
import type { RestParts } from '../http/parts.ts';
import { entityTag, expectedVersion, expectedVersions } from '../http/request-headers.ts';
import { type Call, changeRoutes, type RestAnswer, type Route } from '../http/route.ts';
import { MAX_TEMPLATE_PAYLOAD_BYTES, readScheduleFields } from './read-schedule.ts';
import { previewScheduleRoute, triggerScheduleRoute } from './schedule-actions.ts';
import { NEW_SCHEDULE, SCHEDULE_ANSWER, SCHEDULE_CHANGES, scheduleView } from './schedule-fields.ts';

/** Number of schedules that are read at once; each may have a payload of 64 KiB. */
const SCHEDULES_AT_ONCE = 20;

/** Fields that change over time or when the schedule fires. */
const MOVING: ReadonlySet<string> = new Set([
  ...['next_runs', 'last_run', 'runs_left', 'fired', 'skipped_overlap', 'skipped_window'],
  ...['updated_at', 'version'],
]);

const READS = { role: 'viewer', scope: 'schedules:read' } as const;
const WRITES = { role: 'admin', scope: 'schedules:write' } as const;

const FIELD_PROBLEMS = [
  'conflicting_fields',
  'invalid_cron',
  'invalid_timezone',
  'payload_too_large',
  'name_taken',
] as const;

const SCHEDULE_BODY = acceptingAnswer(SCHEDULE_CHANGES, SCHEDULE_ANSWER);

/** `/v1/schedules` (specification 3.9). */
export function scheduleRoutes(parts: RestParts): readonly Route[] {
  const reads = new LargeReads(PAGES_AT_ONCE);
  return [
    {
      method: 'POST',
      path: '/v1/schedules',
      operation: 'createSchedule',
      summary: 'Create a schedule',
      access: WRITES,
      body: NEW_SCHEDULE,
      answers: { 201: { description: 'The new schedule', schema: SCHEDULE_ANSWER } },
      problems: [...FIELD_PROBLEMS, 'quota_exceeded'],
      handle: call => createSchedule(parts, call),
    },
    {
      method: 'GET',
      path: '/v1/schedules',
      operation: 'listSchedules',
      summary: 'List schedules, newest first',
      access: READS,
      query: PAGE_QUERY,
      answers: {
        200: { description: 'A page of schedules', schema: pageSchema('SchedulePage', SCHEDULE_ANSWER) },
      },
      handle: call => reads.run(call.tenant, () => listSchedules(parts, call)),
    },
    {
      method: 'GET',
      path: '/v1/schedules/:id',
      operation: 'readSchedule',
      summary: 'Read a schedule, by id or name',
      access: READS,
      answers: { 200: { description: 'The schedule', schema: SCHEDULE_ANSWER } },
      handle: call => showSchedule(parts, call),
    },
    ...changeRoutes('Schedule', {
      path: '/v1/schedules/:id',
      summary: 'Change a schedule; fields that are left out stay unchanged, null restores the default',
      access: WRITES,
      body: SCHEDULE_BODY,
      answers: { 200: { description: 'The schedule after the change', schema: SCHEDULE_ANSWER } },
      problems: [...FIELD_PROBLEMS, 'version_mismatch'],
      handle: call => updateSchedule(parts, call),
    }),
    {
      method: 'DELETE',
      path: '/v1/schedules/:id',
      operation: 'deleteSchedule',
      summary: 'Delete a schedule; its tasks are kept',
      access: WRITES,
      answers: { 204: { description: 'Deleted' } },
      problems: ['version_mismatch'],
      handle: call => deleteSchedule(parts, call),
    },
    previewScheduleRoute(parts),
    triggerScheduleRoute(parts),
  ];
}

async function createSchedule(parts: RestParts, call: Call): Promise<RestAnswer> {
  const earlier = await earlierAnswer(parts.store, call);
  if (earlier !== null) return withPayload(earlier, call);
  const limits = limitsOf(parts, call);
  const worker = await namedWorker(parts, call, call.body['worker'] as string);
  const nowMs = await parts.store.now();
  const schedule = readScheduleFields(call.body, { before: null, worker, limits, nowMs });
  const id = parts.ids.next('schedule');
  const json = scheduleView({ id, version: 1, body: schedule }, call.caller, nowMs);
  const { answer, isReplay } = await createNamed(parts, call, {
    kind: 'schedule',
    id,
    body: schedule,
    json,
    noted: withoutPayload(json),
  });
  if (isReplay) return withPayload(answer, call);
  parts.signals.tell('scheduleDue', call.tenant, id, scheduleDueAt(id, schedule));
  return answer;
}

interface ScheduleJson {
  readonly task: Fields;
}

/** The payload is too large for a note. It is restored from the repeated request, which is identical. */
function withoutPayload({ task, ...json }: Fields): ScheduleJson {
  const { payload: _, payload_base64: __, content_type: ___, ...rest } = task as Fields;
  return { ...json, task: rest };
}

function withPayload(answer: RestAnswer, { body, caller }: Call): RestAnswer {
  if (!seesPayloads(caller)) return answer;
  const json = answer.json as ScheduleJson;
  const given = (body as { readonly task?: Fields | null }).task ?? {};
  const payload = readPayload(given, '/task', new FieldReader(), MAX_TEMPLATE_PAYLOAD_BYTES) ?? null;
  return { ...answer, json: { ...json, task: { ...json.task, ...payloadView(payload) } } };
}

async function listSchedules(parts: RestParts, call: Call): Promise<RestAnswer> {
  const page = readPage(parts, call, 'listSchedules');
  const found = await readSchedules(parts.store, call.tenant, page);
  return pageAnswer(
    // The last item was only read to determine whether the list continues.
    { ...page, limit: found.isCut ? found.schedules.length - 1 : page.limit },
    found.schedules,
    {
      placeOf: schedule => schedule.id,
      write: schedule => JSON.stringify(scheduleView(schedule, call.caller, call.nowMs)),
    },
  );
}

/** Reads one schedule more than the page holds, or fewer if their payloads reach the maximum size of a page. */
async function readSchedules(
  store: RestParts['store'],
  tenant: string,
  { after, order, limit }: Page,
): Promise<{ readonly schedules: readonly StoredDocument<'schedule'>[]; readonly isCut: boolean }> {
  const schedules: StoredDocument<'schedule'>[] = [];
  let characters = 0;
  while (characters <= PAGE_BYTES) {
    const some = Math.min(limit + 1 - schedules.length, SCHEDULES_AT_ONCE);
    const query = { kind: 'schedule', after: schedules.at(-1)?.id ?? after, order, limit: some } as const;
    const more = (await store.listDocuments(tenant, query)) as readonly StoredDocument<'schedule'>[];
    schedules.push(...more);
    if (more.length < some || schedules.length > limit) return { schedules, isCut: false };
    for (const { body } of more) characters += body.task.payload?.length ?? 0;
  }
  return { schedules, isCut: true };
}

async function showSchedule(parts: RestParts, call: Call): Promise<RestAnswer> {
  return shown(parts, call, await readNamed(parts.store, call, 'schedule'));
}

/** A schedule with the status of its last run. */
async function shown(
  { store }: RestParts,
  call: Call,
  schedule: Pick<StoredDocument<'schedule'>, 'id' | 'version' | 'body'>,
): Promise<RestAnswer> {
  const json = scheduleView(schedule, call.caller, call.nowMs);
  const { lastRun } = schedule.body;
  if (lastRun !== null) {
    const task = await store.get(call.tenant, lastRun.taskId);
    json.last_run = { ...(json.last_run as object), status: task?.status ?? null };
  }
  return { status: 200, headers: { ETag: entityTag(schedule.version) }, json };
}

async function updateSchedule(parts: RestParts, call: Call): Promise<RestAnswer> {
  const limits = limitsOf(parts, call);
  const { after } = await changeNamed(parts, call, 'schedule', async before => {
    const view = scheduleView(before, call.caller, call.nowMs);
    const fields = writableFields(call.body, SCHEDULE_CHANGES, view, MOVING);
    const named = fields.worker === before.body.worker ? undefined : fields.worker;
    const worker = await namedWorker(parts, call, (named as string | undefined) ?? before.body.workerId);
    const nowMs = await parts.store.now();
    return readScheduleFields(fields, { before: before.body, worker, limits, nowMs });
  });
  parts.signals.tell('scheduleDue', call.tenant, after.id, scheduleDueAt(after.id, after.body));
  return shown(parts, call, after);
}

async function deleteSchedule(parts: RestParts, call: Call): Promise<RestAnswer> {
  const meant = expectedVersions(call);
  const schedule = await readNamed(parts.store, call, 'schedule');
  await deleteNamed(parts, call, schedule, { expect: expectedVersion(meant, schedule.version) ?? 'any' });
  parts.signals.tell('scheduleDue', call.tenant, schedule.id, null);
  return { status: 204 };
}

/** @throws Problem `validation_failed` when there is no such worker */
async function namedWorker(
  { directory }: RestParts,
  call: Call,
  idOrName: string,
): Promise<StoredDocument<'worker'>> {
  const worker = await findWorker(directory, call.tenant, idOrName);
  if (worker === null) throw unknownWorker(idOrName);
  return worker;
}
