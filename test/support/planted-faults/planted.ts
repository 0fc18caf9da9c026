/** A fault of the product that is planted to see whether a test finds it: a text in a built file that is another. */
export interface PlantedFault {
  readonly name: string;
  /** Below `src/tasks`, without its extension. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Found by a scenario: random histories seldom have so many tasks. */
  readonly by?: 'scenarios';
}

/** Where the fault is, and how it changes the built text. Exactly one place must have the text. */
export const PLANTED: readonly PlantedFault[] = [
  {
    name: 'a claim ignores the due time',
    file: 'store/sqlite/operations/candidates',
    from: 'statements.all(DUE, number, band, now, now, max)',
    to: 'statements.all(DUE, number, band, now + 5_000, now, max)',
  },
  {
    name: 'a lost heartbeat is not noticed',
    file: 'scheduler/upkeep/reaper',
    from: 'const overdue = await thread.store.overdue(MAX_AT_ONCE);',
    to: 'const overdue = (await thread.store.overdue(MAX_AT_ONCE)).map(each => ({ ...each, leases: [] }));',
  },
  {
    name: 'a key is freed while its task waits for a retry',
    file: 'store/sqlite/rows/save',
    from: 'addEntry(work, row, from, entry);',
    to: 'addEntry(work, row, from, entry);\n    if (row.status === STATUS.retry) leaveKey(work, row, null, null);',
  },
  {
    name: 'a task has one attempt more than its policy says',
    file: 'store/sqlite/operations/leases',
    from: 'row.attempt >= maxAttempts',
    to: 'row.attempt > maxAttempts',
  },
  {
    name: 'a task that was canceled has no callback',
    file: 'store/sqlite/rows/save',
    from: 'if (row.on_finish !== null)',
    to: 'if (row.on_finish !== null && row.status !== STATUS.canceled)',
  },
  {
    name: 'the history drops that a task was resumed',
    file: 'store/sqlite/rows/history',
    from: 'const number = ++row.events;',
    to: "if (entry.event === 'resumed') return;\n    const number = ++row.events;",
  },
  {
    name: 'a paused worker gets tasks',
    file: 'scheduler/workers/worker-book',
    from: 'if (worker.body.paused)',
    to: 'if (false)',
  },
  {
    name: 'the end of a task counts twice in the usage',
    file: 'store/measured-store',
    from: 'usage?.count(tenant, task, status);',
    to: 'usage?.count(tenant, task, status);\n        usage?.count(tenant, task, status);',
  },
  {
    name: 'a schedule fires twice at the end of summer time',
    file: 'model/schedules/cron',
    from: "const once = appointment && dst.overlap === 'once';",
    to: 'const once = false;',
  },
  {
    name: 'an operation without an answer is repeated',
    file: 'scheduler/upkeep/usage-writer',
    from: "if (failure instanceof Fault && failure.code === 'overloaded')",
    to: 'if (failure instanceof Fault)',
  },
  {
    name: 'every-minute schedules are silent in the hour that comes twice',
    file: 'model/schedules/cron',
    from: 'const appointment = !expression.hour.star;',
    to: 'const appointment = true;',
  },
  {
    name: 'a repeated request creates another task',
    file: 'rest/tasks/task-create',
    from: '...remembering(call),',
    to: '',
  },
  {
    name: 'a worker runs one task more than its concurrency',
    file: 'store/sqlite/operations/claim',
    from: 'concurrency - running(worker))',
    to: 'concurrency + 1 - running(worker))',
  },
  {
    name: 'a task that waits for a retry does not block its group',
    file: 'store/sqlite/operations/candidates',
    from: 'return { ...NO_LOOK, dueAt, lookAt: Math.min(dueAt, expiresAt ?? dueAt) };',
    to: 'return this.#lookAtAll(group, room);',
  },
  {
    name: 'a suspended account gets tasks',
    file: 'scheduler/workers/worker-book',
    from: "if (account.body.status !== 'active')",
    to: 'if (false)',
  },
  {
    name: 'a request to cancel is forgotten when the attempt fails',
    file: 'store/sqlite/operations/leases',
    from: "event === 'canceled' || row.cancel_at !== null",
    to: "event === 'canceled'",
  },
  {
    name: 'a task of another process is never noticed',
    file: 'store/sqlite/rows/save',
    from: 'worker.wakeAt = row.due_at;',
    to: '',
  },
  {
    name: 'a worker that asked to be left alone gets tasks',
    file: 'store/sqlite/operations/leases',
    from: 'throttle(work, row, settlement.throttleMs);',
    to: '',
  },
  {
    name: 'starts do not count against the rate of the worker',
    file: 'store/sqlite/operations/claim',
    from: 'take(worker.bucket, tasks.length);',
    to: ';',
  },
  {
    name: 'hits are given back that were used',
    file: 'scheduler/attempts/start-limits',
    from: 'const unused = entry.taken - count;',
    to: 'const unused = entry.taken;',
  },
  {
    name: 'callbacks stay when their tasks were created',
    file: 'scheduler/schedules/callbacks',
    from: 'documents: tellings.map(deletionOf),',
    to: '',
  },
  {
    name: 'a task of a deleted account stays',
    file: 'scheduler/upkeep/deletions',
    from: '{ succeededMs: -1, otherMs: -1 }',
    to: '{ succeededMs: -1, otherMs: 3_600_000 }',
  },
  {
    name: 'a page skips a task',
    file: 'rest/http/page',
    from: 'placeOf(found[items.length - 1])',
    to: 'placeOf(found[items.length])',
  },
  {
    name: 'failed tasks are kept for as long as succeeded ones only',
    file: 'scheduler/upkeep/retention',
    from: 'otherMs: limits.retainOtherMs',
    to: 'otherMs: limits.retainSucceededMs',
  },
  {
    name: 'succeeded tasks are kept for as long as failed ones',
    file: 'scheduler/upkeep/retention',
    from: 'succeededMs: limits.retainSucceededMs',
    to: 'succeededMs: limits.retainOtherMs',
  },
  {
    name: 'tasks are removed before their time is over',
    file: 'store/sqlite/operations/removal',
    from: '? keep.succeededMs : keep.otherMs',
    to: '? keep.succeededMs / 2 : keep.otherMs',
  },
  {
    name: 'a disabled user may go on',
    file: 'rest/access/authentication',
    from: "(user === null || user.body.status === 'disabled')",
    to: '(user === null)',
  },
  {
    name: 'a viewer may do what a member may',
    file: 'rest/access/authorization',
    from: 'if (!isAtLeast(caller.role, access.role)) {',
    to: "if (access.role !== 'member' && !isAtLeast(caller.role, access.role)) {",
  },
  {
    name: 'a viewer sees payloads',
    file: 'rest/access/authorization',
    from: "caller.kind !== 'user' || caller.role === 'viewer'",
    to: "caller.kind !== 'user'",
  },
  {
    name: 'a call that waits for tasks gets them with a revoked token',
    file: 'rest/leases/lease-take',
    from: 'await call.stillAllowed();',
    to: '',
  },
  {
    name: 'a secret is used when its time is over',
    file: 'scheduler/workers/worker-secrets',
    from: 'return expiresAt === null || expiresAt > nowMs;',
    to: 'return true;',
  },
  {
    name: 'secrets of other processes are noticed late',
    file: 'scheduler/workers/worker-book',
    from: 'const FRESH_MS = 2_000;',
    to: 'const FRESH_MS = 60_000;',
  },
  {
    name: 'the answer to a new secret shows its value',
    file: 'rest/workers/secrets',
    from: 'value: made ? value : null',
    to: 'value',
  },
  {
    name: 'a payload may have any size',
    file: 'rest/fields/payload-fields',
    from: 'checkJsonSize(text, pointer, maxBytes);',
    to: '',
  },
  {
    name: 'an account may have any number of open tasks',
    file: 'rest/tasks/task-create',
    from: 'maxOpen: limits.openTasks,',
    to: 'maxOpen: 1_000_000,',
  },
  {
    name: 'a worker is deleted while it has tasks',
    file: 'store/sqlite/operations/documents',
    from: "worker !== null && openTasks(worker) > 0 ? 'has_tasks' : null",
    to: 'null',
  },
  {
    name: 'a deleted account answers',
    file: 'rest/rest-service',
    from: 'account === null || isGone(account.body)',
    to: 'account === null',
  },
  {
    name: 'a request to cancel that another process took is never noticed',
    file: 'scheduler/push/cancel-watch',
    from: 'if (cancelRequestedAt !== null && ours.has(id))',
    to: 'if (false)',
  },
  {
    name: 'a repeated request is forgotten after five seconds',
    file: 'rest/http/idempotency',
    from: 'const KEEP_MS = DAY_MS;',
    to: 'const KEEP_MS = 5_000;',
  },
  {
    name: 'a secret that is replaced is used for twice as long as its caller said',
    file: 'rest/workers/secrets',
    from: 'const until = nowMs + graceMs;',
    to: 'const until = nowMs + 2 * graceMs;',
  },
  {
    name: 'a schedule makes one run more than it may',
    file: 'model/schedules/schedule-times',
    from: 'Math.max(0, maxRuns - fired)',
    to: 'Math.max(0, maxRuns - fired + 1)',
  },
  {
    name: 'a new token is not in the audit log',
    file: 'rest/accounts/tokens',
    from: 'targetId: change.id,',
    to: 'targetId: user.id,',
  },
  {
    name: 'a suspended account may be changed',
    file: 'rest/rest-service',
    from: "account.body.status === 'suspended' && prepared.kind === 'write'",
    to: 'false',
  },
  {
    name: 'a process goes by its own clock',
    file: 'store/store-clock',
    from: 'if (this.#differenceMs === null)',
    to: 'if (true)',
  },
  {
    name: 'a push to a slow receiver keeps its slot',
    file: 'scheduler/push/push-slots',
    from: 'if (slot.step > this.#step - 2)',
    to: 'if (true)',
    by: 'scenarios',
  },
];
