import type { Schedule } from '../../../src/tasks/model/documents.ts';
import { isFinal, type Task } from '../../../src/tasks/model/task.ts';
import type { DocumentChange, PutDocument } from '../../../src/tasks/store/documents.ts';
import type { CreateAnswer } from '../../../src/tasks/store/requests.ts';
import { MinuteByMinute } from '../../support/tasks/minute-by-minute.ts';
import type { HappenedOperation } from '../world/store-under-test.ts';
import type { KnownDocuments } from './known-documents.ts';
import type { KnownTasks } from './known-tasks.ts';
import type { Report } from './violations.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Times up to so long after the begin of a history are checked. */
const REACH_MS = 30 * HOUR_MS;
/** What was read in the hours before can come a second time. */
const BEFORE_MS = 4 * HOUR_MS;
/** How late a time may be that counts as not missed. */
const LATE_MS = 10_000;
/** From the moment at which a process decides to the one at which the store hears of it. */
const UNDERWAY_MS = 15_000;
/** Of an outage, no more missed times are counted. */
const MOST_COUNTED = 1_000;

const walks = new Map<string, MinuteByMinute>();
const found = new Map<string, readonly number[]>();

/**
 * Looks at each step of each schedule: that it fires at its times, at each of them once, and leaves out none without
 * counting it. The times are those of a walk over all minutes, which shares nothing with the product.
 */
export class ScheduleChecks {
  readonly #startMs: number;
  readonly #tasks: KnownTasks;
  readonly #documents: KnownDocuments;
  readonly #report: Report;
  readonly #jumpedWithin: (ms: number) => number;
  readonly #runs = new Set<string>();

  /** @param jumpedWithin by how much the clock of the store was set forward in the last milliseconds */
  constructor(
    startMs: number,
    tasks: KnownTasks,
    documents: KnownDocuments,
    report: Report,
    jumpedWithin: (ms: number) => number,
  ) {
    this.#jumpedWithin = jumpedWithin;
    this.#startMs = startMs - (startMs % HOUR_MS);
    this.#tasks = tasks;
    this.#documents = documents;
    this.#report = report;
  }

  /** To be told before the other checks know of the change. */
  heard({ operation, answer, at }: HappenedOperation): void {
    if (operation.name === 'apply') {
      const [tenant, changes] = operation.args;
      if ((answer as { kind: string }).kind === 'done') this.#steps(tenant, changes, [], at);
    } else if (operation.name === 'create') {
      const [tenant, { documents = [], atomic }] = operation.args;
      const said = answer as CreateAnswer;
      if (said.kind !== 'done' || (atomic && said.results.some(({ kind }) => kind === 'refused'))) return;
      const tasks = said.results.flatMap(result => (result.kind === 'created' ? [result.task] : []));
      this.#steps(tenant, documents, tasks, at);
    }
  }

  #steps(tenant: string, changes: readonly DocumentChange[], tasks: readonly Task[], at: number): void {
    for (const change of changes) {
      if (change.op !== 'put' || change.kind !== 'schedule') continue;
      const { id, body } = change as PutDocument<'schedule'>;
      const before = this.#documents.now(tenant, 'schedule', id);
      if (before === null) this.#first(body);
      // A person has changed it, so its times may be others.
      if (before === null || before.updatedAt !== body.updatedAt) continue;
      const own = tasks.filter(
        ({ scheduleId, createdBy }) => scheduleId === id && createdBy.type === 'schedule',
      );
      this.#step(tenant, id, before, body, own, at);
    }
  }

  /** The first time of a new schedule is the next one after it was created. */
  #first(body: Schedule): void {
    if (body.nextAt === null || body.paused) return;
    const [first] = this.#times(body, body.createdAt + 1, body.nextAt + 1) ?? [body.nextAt];
    if (first !== body.nextAt)
      this.#report(
        'one run for each time',
        `${body.name} (${body.cron}) first fires at ${iso(body.nextAt)}, not at ${first === undefined ? 'all' : iso(first)}`,
      );
  }

  #step(
    tenant: string,
    id: string,
    before: Schedule,
    after: Schedule,
    tasks: readonly Task[],
    at: number,
  ): void {
    const report = (text: string) =>
      this.#report(
        'one run for each time',
        `${before.name} (${before.cron ?? `${before.everyMs} ms`}): ${text}`,
      );
    if (before.nextAt === null || before.paused || after.paused) {
      if (tasks.length > 0)
        report(`fired for ${tasks.map(({ scheduledFor }) => iso(scheduledFor!))}, and has no next time`);
      return;
    }
    const firedFor = tasks.map(({ scheduledFor }) => scheduledFor!);
    for (const time of firedFor) {
      const run = `${tenant} ${id} ${time}`;
      if (this.#runs.has(run)) report(`fired twice for ${iso(time)}`);
      this.#runs.add(run);
      if (time > at) report(`fired at ${iso(at)} for ${iso(time)}`);
    }
    const counted = after.fired - before.fired;
    if (after.fired > (after.maxRuns ?? Number.POSITIVE_INFINITY))
      report(`has made ${after.fired} runs, of ${after.maxRuns}`);
    if (counted !== firedFor.length) report(`counts ${counted} runs, and made ${firedFor.length} tasks`);
    // The schedule has ended, with times left.
    if (after.nextAt === null && (before.maxRuns ?? null) !== null) return;
    const until = after.nextAt ?? at + 1;
    const times = this.#times(before, before.nextAt, until);
    if (times === null) return;
    const next =
      after.nextAt === null ? null : this.#times(before, Math.max(at, before.nextAt) + 1, after.nextAt + 1);
    if (next !== null && after.nextAt! > at && next[0] !== after.nextAt)
      report(
        `fires next at ${iso(after.nextAt!)}, and should at ${next.length > 0 ? iso(next[0]) : 'no time until then'}`,
      );
    const strange = firedFor.filter(time => !times.includes(time));
    if (strange.length > 0)
      report(`fired for ${strange.map(iso)}, which are none of its times: ${times.map(iso)}`);
    if (before.nextAt !== until && times[0] !== before.nextAt)
      report(
        `was to fire at ${iso(before.nextAt)}, and its next time is ${times.length > 0 ? iso(times[0]) : 'none'}`,
      );
    const skipped = after.skippedOverlap - before.skippedOverlap + after.skippedWindow - before.skippedWindow;
    if (times.length <= MOST_COUNTED && skipped + firedFor.length !== times.length)
      report(`passed ${times.map(iso)} with ${firedFor.length} runs and ${skipped} left out`);
    this.#catchUp(before, firedFor, at, report);
    this.#overlap(tenant, id, before, after, firedFor, report);
  }

  #catchUp(
    { catchUp, jitterMs = 0 }: Schedule,
    fired: readonly number[],
    at: number,
    report: (text: string) => void,
  ): void {
    const windowMs = catchUp.mode === 'none' ? LATE_MS : catchUp.windowMs;
    const oldest = at - windowMs - jitterMs - UNDERWAY_MS - this.#jumpedWithin(UNDERWAY_MS);
    for (const time of fired)
      if (time < oldest) report(`fired at ${iso(at)} for ${iso(time)}, which is too old`);
    const most = catchUp.mode === 'all' ? catchUp.max : 1;
    if (fired.length > most) report(`made up for ${fired.length} times`);
  }

  #overlap(
    tenant: string,
    id: string,
    { overlap }: Schedule,
    after: Schedule,
    fired: readonly number[],
    report: (text: string) => void,
  ): void {
    const open = [...this.#tasks.of(tenant).values()].filter(
      ({ scheduleId, status }) => scheduleId === id && !isFinal(status),
    );
    if (fired.length > 0 && overlap === 'skip' && open.length + fired.length > 1)
      report(`made ${fired.length} tasks while ${open.length} were open (${after.overlap})`);
    if (fired.length > 0 && overlap === 'queue_one' && open.length + fired.length > 2)
      report(`made ${fired.length} tasks while ${open.length} were open (${after.overlap})`);
  }

  /** Its times from one time on and before another; null where they are not known. */
  #times(schedule: Schedule, from: number, until: number): readonly number[] | null {
    const { cron, everyMs, phaseMs, timezone, dst, startAt = null, endAt = null } = schedule;
    const isWithin = (time: number) =>
      time >= from &&
      time < until &&
      (startAt === null || time >= startAt) &&
      (endAt === null || time < endAt);
    if (cron === null) {
      const times: number[] = [];
      const first = Math.ceil((from - phaseMs) / everyMs!) * everyMs! + phaseMs;
      for (let time = first; time < until && times.length <= MOST_COUNTED; time += everyMs!) times.push(time);
      return times.filter(isWithin);
    }
    if (cron.split(' ').length !== 5 || until > this.#startMs + REACH_MS || from < this.#startMs) return null;
    const name = `${timezone} ${this.#startMs} ${cron} ${dst.gap} ${dst.overlap}`;
    let all = found.get(name);
    if (all === undefined) {
      all = this.#walk(timezone).fires(cron, dst, BEFORE_MS / MINUTE_MS);
      found.set(name, all);
    }
    return all.filter(isWithin);
  }

  #walk(zone: string): MinuteByMinute {
    const name = `${zone} ${this.#startMs}`;
    let walk = walks.get(name);
    if (walk === undefined) {
      walk = new MinuteByMinute(zone, this.#startMs - BEFORE_MS, (BEFORE_MS + REACH_MS) / MINUTE_MS);
      walks.set(name, walk);
    }
    return walk;
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
