import type { Schedule } from '../../model/documents.ts';
import type { IdMaker } from '../../model/ids.ts';
import {
  dueTimes,
  nextAfter,
  nominalTimes,
  reachedBy,
  runsLeft,
} from '../../model/schedules/schedule-times.ts';
import { tellLetGo } from '../../model/signals.ts';
import { type Actor, isFinal } from '../../model/task.ts';
import { formatTime } from '../../model/time.ts';
import type { PutDocument, StoredDocument } from '../../store/documents.ts';
import { putAgain } from '../../store/put-document.ts';
import type { NewTask } from '../../store/requests.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import { scheduledTask } from './schedule-task.ts';

/** The result of a nominal time, or (the last two) of a schedule that cannot fire now. */
export type ScheduleResult = 'fired' | 'skipped_overlap' | 'skipped_window' | 'postponed' | 'paused';

/** The writes for a due schedule, all of them or none. */
export interface ScheduleStep {
  readonly schedule: StoredDocument<'schedule'>;
  readonly put: PutDocument<'schedule'>;
  readonly tasks: readonly NewTask[];
  readonly counts: Readonly<Partial<Record<ScheduleResult, number>>>;
  /** Why it was paused; absent otherwise. */
  readonly pauseReason?: string;
}

/** What the step of a schedule uses of its thread. */
export type SteppingThread = ThreadPart<
  'openOfSchedule' | 'getDocument' | 'change',
  'directory' | 'signals'
> & {
  readonly ids: IdMaker;
};

/** How long a schedule waits that cannot fire for a reason that may pass: a quota, an account that is suspended. */
const POSTPONE_MS = 60_000;
/** Maximum number of open tasks that one step cancels. The next step continues. */
const MAX_CANCELED = 100;

/**
 * Works out the writes for a due schedule.
 *
 * @param now by the store's clock
 * @returns null if the schedule has changed in the meantime
 */
export async function scheduleStep(
  thread: SteppingThread,
  tenant: string,
  schedule: StoredDocument<'schedule'>,
  now: number,
): Promise<ScheduleStep | null> {
  const { body } = schedule;
  const times = nominalTimes(body, now);
  if (times.kind === 'fault') return pausedStep(schedule, `${times.field}: ${times.detail}`);
  if (body.paused) {
    // Times during the pause were not wanted, so they do not count as missed.
    const resumed = { paused: false, pauseReason: null, resumeAt: null, nextAt: nextAfter(body, times, now) };
    return { schedule, put: putAgain(schedule, { ...body, ...resumed }), tasks: [], counts: {} };
  }
  const left = runsLeft(body);
  if (body.nextAt === null || left === 0) {
    const put = putAgain(schedule, { ...body, nextAt: null });
    return { schedule, put, tasks: [], counts: {} };
  }
  const account = await thread.directory.account(tenant);
  if (account?.body.status !== 'active') return postponedStep(schedule, now);
  const worker = await workerOf(thread, tenant, body);
  if (worker === null) return pausedStep(schedule, goneReason(body.worker));
  const reached = reachedBy(schedule.id, body, times, now);
  const due = dueTimes(times, { ...body.catchUp, jitterMs: body.jitterMs }, body.nextAt, reached);
  const room = await roomFor(thread, tenant, schedule, due.fire);
  if (room === null) return null;
  const createdBy: Actor = { type: 'schedule', id: schedule.id };
  const tasks = room.fire.slice(0, left).map(scheduledFor => {
    const key = `${schedule.id}@${formatTime(scheduledFor)}`;
    const { heldBy } = room;
    return scheduledTask(thread.ids, schedule, worker, {
      scheduledFor,
      runAt: now,
      key,
      heldBy,
      createdBy,
      trace: null,
    });
  });
  const last = tasks.at(-1)?.task;
  const isOver = tasks.length === left;
  const after: Schedule = {
    ...body,
    nextAt: isOver ? null : (room.later ?? times.next(reached)),
    lastRun: last === undefined ? body.lastRun : { scheduledFor: last.scheduledFor!, taskId: last.id },
  };
  // Times after the last run of all are not skipped: the schedule has ended.
  const passed = isOver ? due.fire.filter(time => time <= last!.scheduledFor!) : due.fire;
  const counts = {
    fired: tasks.length,
    skipped_overlap: room.later === null || isOver ? passed.length - tasks.length : 0,
    skipped_window: due.skipped,
  };
  return { schedule, put: putAgain(schedule, counted(after, counts)), tasks, counts };
}

function counted(
  schedule: Schedule,
  counts: { readonly fired: number; readonly skipped_overlap: number; readonly skipped_window: number },
): Schedule {
  return {
    ...schedule,
    fired: schedule.fired + counts.fired,
    skippedOverlap: schedule.skippedOverlap + counts.skipped_overlap,
    skippedWindow: schedule.skippedWindow + counts.skipped_window,
  };
}

/** Pauses the schedule until a person resumes it. */
export function pausedStep(schedule: StoredDocument<'schedule'>, pauseReason: string): ScheduleStep {
  const body = { ...schedule.body, paused: true, pauseReason, resumeAt: null };
  return { schedule, put: putAgain(schedule, body), tasks: [], counts: { paused: 1 }, pauseReason };
}

/** Keeps the times of the schedule. They are late afterwards, and `catchUp` decides which of them still fire. */
export function postponedStep(schedule: StoredDocument<'schedule'>, now: number): ScheduleStep {
  const put = putAgain(schedule, schedule.body, { dueAt: now + POSTPONE_MS });
  return { schedule, put, tasks: [], counts: { postponed: 1 } };
}

export function goneReason(worker: string): string {
  return `worker ${worker} no longer exists: choose another worker`;
}

async function workerOf(
  { directory, store }: SteppingThread,
  tenant: string,
  { workerId }: Schedule,
): Promise<StoredDocument<'worker'> | null> {
  // The directory also caches for a second that a worker is missing, and the worker may be newer.
  return (await directory.worker(tenant, workerId)) ?? store.getDocument(tenant, 'worker', workerId);
}

interface Room {
  /** The times, of those that have come, for which there is a run. */
  readonly fire: readonly number[];
  /** The time that is to be looked at in the next step; null when all have been. */
  readonly later: number | null;
  readonly heldBy: string | null;
}

/**
 * Which times fire while tasks of earlier times may still be open (specification 3.9): as if they had come one after the
 * other. Null: the schedule has changed meanwhile.
 */
async function roomFor(
  thread: SteppingThread,
  tenant: string,
  schedule: StoredDocument<'schedule'>,
  times: readonly number[],
): Promise<Room | null> {
  const { store } = thread;
  if (times.length === 0) return { fire: times, later: null, heldBy: null };
  switch (schedule.body.overlap) {
    case 'allow':
      return { fire: times, later: null, heldBy: null };
    case 'skip': {
      const open = await store.openOfSchedule(tenant, schedule.id, 1);
      return { fire: times.slice(0, 1 - open.length), later: null, heldBy: null };
    }
    case 'queue_one': {
      // One runs, one waits for it. Both at once would be one that waits for a task that is not there yet.
      const open = await store.openOfSchedule(tenant, schedule.id, 2);
      const later = open.length === 0 ? (times[1] ?? null) : null;
      return { fire: open.length < 2 ? times.slice(0, 1) : [], later, heldBy: open[0] ?? null };
    }
    case 'cancel_running': {
      // Each would cancel the one before: only the last is worth making.
      const heldBy = await cancelOpen(thread, tenant, schedule);
      return heldBy === undefined ? null : { fire: times.slice(-1), later: null, heldBy };
    }
  }
}

/**
 * Cancels what is open of a schedule. A running attempt needs a while to end: the new run is held until then.
 *
 * Nothing is canceled unless the schedule is unchanged after the tasks were looked for: another process may have fired
 * it, and what is open is then the run that should go on. Canceling comes before the new run is made, so that a crash
 * between the two leaves a schedule that is still due.
 *
 * @returns the newest task that is still open, null for none; undefined when the schedule has changed
 */
async function cancelOpen(
  { store, signals }: SteppingThread,
  tenant: string,
  schedule: StoredDocument<'schedule'>,
): Promise<string | null | undefined> {
  const open = await store.openOfSchedule(tenant, schedule.id, MAX_CANCELED);
  if (open.length === 0) return null;
  const current = await store.getDocument(tenant, 'schedule', schedule.id);
  if (current?.version !== schedule.version) return undefined;
  const actor: Actor = { type: 'schedule', id: schedule.id };
  const change = { action: 'cancel', patch: {}, expectVersion: null, actor } as const;
  const answers = await Promise.all(open.map(id => store.change(tenant, id, change)));
  let newest: string | null = null;
  for (const { task } of answers) {
    if (task === null) continue;
    if (isFinal(task.status)) {
      tellLetGo(signals, tenant, task, task.updatedAt);
      continue;
    }
    newest = task.id;
    signals.tell('cancelRequested', tenant, task.id);
  }
  return newest;
}
