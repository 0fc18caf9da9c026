import type { GroupRules, Rate } from '../../../src/tasks/model/documents.ts';
import type { HistoryEntry, Task } from '../../../src/tasks/model/task.ts';
import { BAND_PENALTIES_MS } from '../../../src/tasks/model/task-content.ts';
import type { TenantSnapshot } from './snapshot.ts';

/** What all claims of a tenant asked for, always the same. */
export interface TenantBounds {
  readonly inFlight: number;
  readonly perSecond: number;
  readonly workers: ReadonlyMap<
    string,
    { readonly concurrency: number | null; readonly rate: Rate | null; readonly groups?: GroupRules | null }
  >;
}

/** An attempt, by the clock of the store; `end` is Infinity while it runs. */
interface Attempt {
  readonly task: Task;
  readonly start: number;
  readonly end: number;
  /** When it was due. */
  readonly dueAt: number | null;
}

/**
 * Whether more was started than was allowed, and whether tasks were overtaken. What was removed is not known any more.
 *
 * @param bounds undefined where claims differed: then only the order is looked at
 */
export function boundViolations(snapshot: TenantSnapshot, bounds: TenantBounds | undefined): string[] {
  const attempts = snapshot.tasks.flatMap(task => attemptsOf(task, snapshot));
  const violations = orderViolations(snapshot, attempts);
  if (bounds === undefined) return violations;
  const report = (name: string, text: string | null) => {
    if (text !== null) violations.push(`6: ${name} ${text}`);
  };
  report('the tenant', tooManyAtOnce(attempts, bounds.inFlight));
  const tenantRate = { limit: bounds.perSecond, perMs: 1_000, burst: bounds.perSecond };
  report('the tenant', tooManyStarts(attempts, tenantRate));
  for (const [workerId, { concurrency, rate, groups }] of bounds.workers) {
    const own = attempts.filter(({ task }) => task.workerId === workerId);
    if (concurrency !== null) report(workerId, tooManyAtOnce(own, concurrency));
    if (rate !== null) report(workerId, tooManyStarts(own, rate));
    if (groups != null)
      reportGroups(own, groups.concurrency, (group, text) => report(`${workerId}, group ${group},`, text));
  }
  return violations;
}

function attemptsOf(task: Task, { histories }: TenantSnapshot): Attempt[] {
  const attempts: Attempt[] = [];
  let dueAt: number | null = null;
  for (const { event, at, from, to, nextAttemptAt } of histories.get(task.id) ?? []) {
    if (event === 'started') attempts.push({ task, start: at, end: Infinity, dueAt });
    else if (from === 'running' && to !== 'running' && attempts.length > 0) {
      attempts.push({ ...attempts.pop()!, end: at });
    }
    dueAt = nextAttemptAt ?? null;
  }
  return attempts;
}

function reportGroups(
  attempts: readonly Attempt[],
  allowed: number,
  report: (group: string, text: string | null) => void,
): void {
  const names = new Set(attempts.map(({ task }) => task.group));
  for (const name of names) {
    if (name === null) continue;
    report(
      name,
      tooManyAtOnce(
        attempts.filter(({ task }) => task.group === name),
        allowed,
      ),
    );
  }
}

/** Ends come before starts of the same millisecond. */
function tooManyAtOnce(attempts: readonly Attempt[], allowed: number): string | null {
  const changes = attempts
    .flatMap(({ start, end }) => [
      { at: start, by: 1 },
      { at: end, by: -1 },
    ])
    .sort((a, b) => a.at - b.at || a.by - b.by);
  let running = 0;
  for (const { at, by } of changes) {
    running += by;
    if (running > allowed) return `had ${running} attempts at once at ${at}, ${allowed} are allowed`;
  }
  return null;
}

/** In any window no more than what is refilled in it and the burst. */
function tooManyStarts(attempts: readonly Attempt[], { limit, perMs, burst }: Rate): string | null {
  const starts = attempts.map(({ start }) => start).sort((a, b) => a - b);
  let tokens = burst;
  for (const [i, at] of starts.entries()) {
    const passed = i === 0 ? 0 : at - starts[i - 1];
    tokens = Math.min(burst, tokens + (passed * limit) / perMs) - 1;
    // Sums of fractions are not exact; a start too many is a whole token.
    if (tokens < -0.5)
      return `started too often at ${at}: more than ${limit} in ${perMs} ms and ${burst} at once`;
  }
  return null;
}

/**
 * A task is overtaken only by work that became due within its penalty. Tasks that were updated or could expire are left
 * out: their history does not say which priority they had, or whether they could start. So are tasks of groups, which may
 * have to wait for others of their group.
 */
function orderViolations({ tasks, histories }: TenantSnapshot, attempts: readonly Attempt[]): string[] {
  const violations: string[] = [];
  const plain = new Set(tasks.filter(task => isPlain(task, histories.get(task.id) ?? [])));
  for (const waiting of plain) {
    const entries = histories.get(waiting.id) ?? [];
    const penalty = BAND_PENALTIES_MS[waiting.priority];
    for (const [i, entry] of entries.entries()) {
      const due = entry.nextAttemptAt;
      if (due === undefined || entry.to === 'paused') continue;
      const from = Math.max(entry.at, due);
      const until = entries[i + 1]?.at ?? Infinity;
      const overtaking = attempts.find(
        ({ task, start, dueAt }) =>
          plain.has(task) &&
          task.workerId === waiting.workerId &&
          start > from &&
          start < until &&
          dueAt !== null &&
          dueAt > due + penalty,
      );
      if (overtaking === undefined) continue;
      violations.push(
        `13: ${waiting.id}, due at ${due}, was overtaken at ${overtaking.start} by ${overtaking.task.id}, ` +
          `due at ${overtaking.dueAt}`,
      );
    }
  }
  return violations;
}

/**
 * Its history tells of all its changes, and of none but those of its status. One that was replaced may have others; one
 * that was replayed may have had a time to start by.
 */
function isPlain({ version, expiresAt, group }: Task, entries: readonly HistoryEntry[]): boolean {
  const changes = entries.filter(({ event }) => event !== 'heartbeat_progress');
  const plain = changes.every(({ event }) => !['updated', 'replayed', 'gap'].includes(event));
  return plain && changes.length === version && expiresAt === null && group === null;
}
