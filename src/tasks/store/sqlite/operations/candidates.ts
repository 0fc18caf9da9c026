import { BAND_PENALTIES_MS, PRIORITIES } from '../../../model/task-content.ts';
import type { ClaimRequest } from '../../requests.ts';
import { LIMIT, type Row } from '../file/statements.ts';
import { FORGET_IDLE } from '../rows/save.ts';
import type { Work, WorkerTotals } from '../rows/work.ts';

/** The index covers all columns except `status`, which its condition implies. */
const WAITING = `FROM task INDEXED BY task_due WHERE worker = ? AND band = ? AND status IN (0, 2) AND grp IS NULL`;
const UNEXPIRED = '(expires_at IS NULL OR expires_at > ?)';
const DUE = `SELECT seq, due_at, id ${WAITING} AND due_at <= ? AND ${UNEXPIRED} ORDER BY due_at, id ${LIMIT}`;
const NEXT_DUE = `SELECT due_at ${WAITING} AND due_at IS NOT NULL AND ${UNEXPIRED} ORDER BY due_at LIMIT 1`;

const PENALTIES = PRIORITIES.map(priority => BAND_PENALTIES_MS[priority]);

/** A task that a claim may start. */
export interface Candidate {
  readonly seq: number;
  readonly id: string;
  /** Due time plus penalty of the priority. */
  readonly place: number;
  readonly group: string | null;
}

/** Due tasks without a group, at most `max` of each priority. */
export function dueTasks({ statements, now }: Work, { number }: WorkerTotals, max: number): Candidate[] {
  const found: Candidate[] = [];
  for (let band = 0; band < PENALTIES.length; band++) {
    for (const [seq, dueAt, id] of statements.all(DUE, number, band, now, now, max)) {
      const place = (dueAt as number) + PENALTIES[band];
      found.push({ seq: seq as number, id: id as string, place, group: null });
    }
  }
  return found;
}

/** Returns at most `max` candidates, in the order in which they start. */
export function inOrder(found: Candidate[], max: number): readonly Candidate[] {
  found.sort((a, b) => a.place - b.place || (a.id < b.id ? -1 : 1));
  return found.length > max ? found.slice(0, max) : found;
}

/** When the next waiting task of the worker without a group is due; null if no task waits. */
export function nextDue({ statements, now }: Work, { number }: WorkerTotals): number | null {
  let earliest: number | null = null;
  for (let band = 0; band < PENALTIES.length; band++) {
    const row = statements.one(NEXT_DUE, number, band, now);
    if (row !== undefined && (earliest === null || (row[0] as number) < earliest))
      earliest = row[0] as number;
  }
  return earliest;
}

/** Maximum number of groups that one claim reads for tasks to start. */
const MAX_GROUPS = 32;
/** Maximum number of groups that one claim reads for the next due time, or to find a full one. */
const MAX_CHECKED = 8;

const ANY = 'SELECT 1 FROM task_group WHERE worker = ? LIMIT 1';
const NEXT_GROUPS = `SELECT name, running, next_at FROM task_group INDEXED BY task_group_next
  WHERE worker = ? AND next_at IS NOT NULL ORDER BY next_at, name ${LIMIT}`;
const FULL_GROUPS = `SELECT name, running FROM task_group INDEXED BY task_group_full
  WHERE worker = ? AND full IS NOT NULL ${LIMIT}`;
const OTHER_LIMIT = `UPDATE task_group SET next_at = ?, full = NULL WHERE worker = ? AND full IS NOT NULL AND full <> ?`;
const PUT_OFF = 'UPDATE task_group SET next_at = ?, full = ? WHERE worker = ? AND name = ?';

const WAITING_IN_GROUP =
  'FROM task INDEXED BY task_group_due WHERE worker = ? AND grp = ? AND band = ? AND status IN (0, 2)';
const GROUP_DUE = `SELECT seq, due_at, id ${WAITING_IN_GROUP} AND due_at <= ? AND ${UNEXPIRED} ORDER BY due_at, id ${LIMIT}`;
const GROUP_NEXT_DUE = `SELECT due_at ${WAITING_IN_GROUP} AND due_at IS NOT NULL AND ${UNEXPIRED} ORDER BY due_at LIMIT 1`;
export const GROUP_FIRST = `SELECT seq, due_at, id, band, expires_at FROM task INDEXED BY task_group_line
  WHERE worker = ? AND grp = ? AND status IN (0, 2) AND due_at IS NOT NULL AND ${UNEXPIRED} ORDER BY run_at, id LIMIT 1`;

/** The state of a group. */
interface Look {
  /** Tasks that may start, by priority. */
  readonly candidates: readonly Candidate[];
  /** The group has due tasks and is at its limit. */
  readonly isFull: boolean;
  /** When the next task is due; null if no task waits or some are due. */
  readonly dueAt: number | null;
  /** When to read the group again. Earlier than `dueAt` if the first task expires before it is due. */
  readonly lookAt: number | null;
}

const NO_LOOK: Look = { candidates: [], isFull: false, dueAt: null, lookAt: null };

/** The groups of a worker, for one claim. */
export class GroupLines {
  readonly #work: Work;
  readonly #worker: number;
  readonly #request: ClaimRequest;
  readonly #exist: boolean;
  /** Running tasks of the groups with candidates. */
  readonly #running = new Map<string, number>();

  constructor(work: Work, worker: number, request: ClaimRequest) {
    this.#work = work;
    this.#worker = worker;
    this.#request = request;
    this.#exist = work.statements.one(ANY, worker) !== undefined;
  }

  /** Due tasks that their groups allow to start, in no particular order. */
  candidates(): readonly Candidate[] {
    if (!this.#exist) return [];
    const { statements, now } = this.#work;
    // No limit is stored as 0. No group can be full at a limit of 0.
    statements.run(OTHER_LIMIT, now, this.#worker, this.#request.groups?.concurrency ?? 0);
    const found: Candidate[] = [];
    for (const [name, running, nextAt] of this.#nextGroups(MAX_GROUPS)) {
      if ((nextAt as number) > now) break;
      const look = this.#look(name as string, running as number);
      if (look.candidates.length === 0) this.#putOff(name as string, look);
      else this.#running.set(name as string, running as number);
      found.push(...look.candidates);
    }
    return found;
  }

  /** Moves the groups of the started tasks to the end of the line. */
  served(started: readonly Candidate[]): void {
    const counts = new Map<string, number>();
    for (const { group } of started) if (group !== null) counts.set(group, (counts.get(group) ?? 0) + 1);
    for (const [name, count] of counts) {
      this.#putOff(name, this.#look(name, (this.#running.get(name) ?? 0) + count));
    }
  }

  /** When the next group has a task to start, and whether some group is full. */
  next(): { readonly at: number | null; readonly isFull: boolean } {
    if (!this.#exist) return { at: null, isFull: false };
    const isFull = this.#someIsFull();
    let at: number | null = null;
    let checked = 0;
    for (const [name, running, nextAt] of this.#nextGroups(MAX_CHECKED)) {
      const atMost = nextAt as number;
      if (at !== null && atMost >= at) break;
      if (++checked === MAX_CHECKED || atMost <= this.#work.now)
        return { at: Math.max(atMost, this.#work.now), isFull };
      const look = this.#look(name as string, running as number);
      this.#putOff(name as string, look);
      if (look.dueAt !== null) at = Math.min(at ?? look.dueAt, look.dueAt);
    }
    return { at, isFull };
  }

  /** Checks groups that are marked as full, because their due tasks may have changed or expired. */
  #someIsFull(): boolean {
    const full = this.#work.statements.all(FULL_GROUPS, this.#worker, MAX_CHECKED);
    for (const [name, running] of full) {
      const look = this.#look(name as string, running as number);
      if (look.isFull) return true;
      this.#putOff(name as string, look);
    }
    return full.length === MAX_CHECKED;
  }

  #nextGroups(max: number): readonly Row[] {
    return this.#work.statements.all(NEXT_GROUPS, this.#worker, max);
  }

  #putOff(name: string, { candidates, isFull, lookAt }: Look): void {
    const { statements, now } = this.#work;
    const full = isFull ? (this.#request.groups?.concurrency ?? null) : null;
    statements.run(PUT_OFF, candidates.length > 0 ? now : lookAt, full, this.#worker, name);
    if (!isFull && lookAt === null && candidates.length === 0)
      statements.run(FORGET_IDLE, this.#worker, name);
  }

  #look(name: string, running: number): Look {
    const { groups, leaseIds } = this.#request;
    const most = leaseIds.length + 1;
    const room = groups === null ? most : Math.min(most, Math.max(0, groups.concurrency - running));
    return groups?.fifo === true ? this.#lookAtFirst(name, room) : this.#lookAtAll(name, room);
  }

  #lookAtFirst(group: string, room: number): Look {
    const { statements, now } = this.#work;
    const first = statements.one(GROUP_FIRST, this.#worker, group, now);
    if (first === undefined) return NO_LOOK;
    const [seq, dueAt, id, band, expiresAt] = first as readonly [
      number,
      number,
      string,
      number,
      number | null,
    ];
    if (dueAt > now) return { ...NO_LOOK, dueAt, lookAt: Math.min(dueAt, expiresAt ?? dueAt) };
    if (room === 0) return { ...NO_LOOK, isFull: true };
    return { ...NO_LOOK, candidates: [{ seq, id, place: dueAt + PENALTIES[band], group }] };
  }

  #lookAtAll(group: string, room: number): Look {
    const { statements, now } = this.#work;
    const found: Candidate[] = [];
    for (let band = 0; band < PENALTIES.length; band++) {
      const due = statements.all(GROUP_DUE, this.#worker, group, band, now, now, Math.max(1, room));
      for (const [seq, dueAt, id] of due) {
        const place = (dueAt as number) + PENALTIES[band];
        found.push({ seq: seq as number, id: id as string, place, group });
      }
    }
    if (found.length > 0 && room === 0) return { ...NO_LOOK, isFull: true };
    if (found.length > 0) return { ...NO_LOOK, candidates: inOrder(found, room) };
    let next: number | null = null;
    for (let band = 0; band < PENALTIES.length; band++) {
      const row = statements.one(GROUP_NEXT_DUE, this.#worker, group, band, now);
      if (row !== undefined) next = Math.min(next ?? (row[0] as number), row[0] as number);
    }
    return { ...NO_LOOK, dueAt: next, lookAt: next };
  }
}
