import { DEFAULT_TENANT_LIMITS } from '../../../src/tasks/model/documents.ts';
import { callbackOf, isFinal, type Task } from '../../../src/tasks/model/task.ts';
import { violationsOf } from '../../exam/task-store/invariants.ts';
import { taskQuery } from '../../support/tasks/factories.ts';
import type { Arrival } from '../world/receivers.ts';
import type { HappenedOperation } from '../world/store-under-test.ts';
import type { World } from '../world/world.ts';
import { AcknowledgedChecks } from './acknowledged.ts';
import { CallbackChecks } from './callbacks.ts';
import { CancelChecks } from './cancels.ts';
import { DeletionChecks } from './deletions.ts';
import { EndChecks } from './ends.ts';
import { HistoryChecks } from './histories.ts';
import { KnownDocuments } from './known-documents.ts';
import { KnownTasks, type TaskChanged } from './known-tasks.ts';
import { ListChecks } from './lists.ts';
import { PaceChecks } from './paces.ts';
import { QuotaChecks } from './quotas.ts';
import { RetentionChecks } from './retention.ts';
import { RightChecks } from './rights.ts';
import { ScheduleChecks } from './schedules.ts';
import { SecretChecks } from './secrets.ts';
import { StartChecks } from './starts.ts';
import { UsageChecks } from './usage.ts';
import type { Promised, Violation } from './violations.ts';
import { WaitChecks } from './waits.ts';

/** What a process knows of a document is at most this old while nothing is wrong: a second, and the time of messages. */
const STALE_MS = 3_000;
/** And while something is, or was a moment ago. */
const STALE_IN_TROUBLE_MS = 15_000;
const TROUBLE_LASTS_MS = 15_000;
/** What needs several calls of the store may wait for so many times the usual delay of a message. */
const SLOW_MESSAGES = 100;
/** No steps create that many tasks. */
const MOST_TASKS = 3_000;
/** A task that has ended may be kept for so long after its time. */
const LONGEST_KEPT_MS = 60_000;
/** A history with more faults than this says nothing new. */
const MOST_VIOLATIONS = 20;

/** Watches a history from outside: what the store was asked and answered, and what workers and callers saw. */
export class Judge {
  readonly violations: Violation[] = [];
  readonly documents = new KnownDocuments();
  readonly tasks = new KnownTasks();
  readonly #world: World;
  readonly #starts: StartChecks;
  readonly #ends: EndChecks;
  readonly #callbacks: CallbackChecks;
  readonly #schedules: ScheduleChecks;
  readonly #usage = new UsageChecks();
  readonly #histories = new HistoryChecks();
  readonly #acknowledged: AcknowledgedChecks;
  readonly #lists = new ListChecks();
  readonly #waits: WaitChecks;
  readonly #paces: PaceChecks;
  readonly #cancels: CancelChecks;
  readonly #retention: RetentionChecks;
  readonly #quotas: QuotaChecks;
  readonly #deletions: DeletionChecks;
  readonly #rights: RightChecks;
  readonly #secrets: SecretChecks;
  readonly #staleMs: (atMs: number) => number;
  readonly #startMs: number;
  /** How often each task was started, and the pushes whose lease has ended. */
  readonly #started = new Map<string, number>();
  readonly #lapsed = new Set<string>();
  readonly #listeners: ((changed: TaskChanged) => void)[] = [];

  constructor(world: World) {
    this.#world = world;
    const { tasks, documents, report } = this;
    const { time, troubles, receivers, history } = world;
    this.#startMs = time.nowMs();
    const wasTroubled = (fromMs: number) => troubles.wereWithin(fromMs, time.nowMs());
    this.#staleMs = atMs =>
      troubles.wereWithin(atMs - TROUBLE_LASTS_MS, atMs) ? STALE_IN_TROUBLE_MS : STALE_MS;
    const staleMs = () => this.#staleMs(time.nowMs());
    this.#starts = new StartChecks({ tasks, documents, staleMs, report, defaults: DEFAULT_TENANT_LIMITS });
    this.#ends = new EndChecks(
      {
        pushed: (tenant, taskId, attempt) => receivers.succeeded(tenant, taskId, attempt),
        pulled: leaseId => world.pullWorkers.some(({ completed }) => completed.has(leaseId)),
      },
      report,
    );
    this.#callbacks = new CallbackChecks(documents);
    this.#schedules = new ScheduleChecks(this.#startMs, tasks, documents, report, ms =>
      world.storeJumpedWithin(ms),
    );
    this.#acknowledged = new AcknowledgedChecks(tasks, documents);
    const nowMs = () => time.nowMs();
    const messagesMs = SLOW_MESSAGES * history.delayMs;
    const prompt = { documents, wasTroubled, nowMs, messagesMs, report };
    this.#waits = new WaitChecks({ ...prompt, slots: history.slots });
    this.#cancels = new CancelChecks(prompt);
    this.#paces = new PaceChecks(documents, world.limits, report);
    this.#retention = new RetentionChecks(tasks, documents, report);
    this.#quotas = new QuotaChecks(documents, report);
    this.#deletions = new DeletionChecks(tasks, documents, report);
    const late = { documents, ledger: world.ledger, staleMs: this.#staleMs, report };
    this.#rights = new RightChecks(late);
    this.#secrets = new SecretChecks(late);
    world.store.listen(happened => this.#heard(happened));
  }

  /** How often each change of a status happened. */
  get transitions(): ReadonlyMap<string, number> {
    return this.#histories.transitions;
  }

  readonly report = (promise: Promised, text: string): void => {
    if (this.violations.length < MOST_VIOLATIONS) this.violations.push({ promise, text });
  };

  /** Calls `run` for each change of a task. */
  listen(run: (changed: TaskChanged) => void): void {
    this.#listeners.push(run);
  }

  #heard(happened: HappenedOperation): void {
    const fromMs = this.#knownFromMs(happened.askedMs);
    this.#schedules.heard(happened);
    this.#retention.heard(happened, fromMs);
    this.documents.heard(happened, this.#world.time.nowMs());
    this.#deletions.heard(happened);
    this.#quotas.operation(happened, fromMs);
    this.#acknowledged.operation(happened);
    for (const changed of this.tasks.heard(happened)) this.#changed(changed);
  }

  /** What a process knows of a document when it asks the store for something is not older. */
  #knownFromMs(askedMs: number): number {
    return askedMs - this.#staleMs(this.#world.time.nowMs());
  }

  #changed(changed: TaskChanged): void {
    const { before, after, by, tenant } = changed;
    if (before !== null && after !== null && after.version > before.version + 1)
      this.report(
        'the store agrees with itself',
        `${after.id}: version ${after.version} follows ${before.version}`,
      );
    if (
      by === 'lease_expired' &&
      after !== null &&
      this.documents.now(tenant, 'worker', after.workerId)?.mode === 'push'
    )
      this.#lapsed.add(after.id);
    if (by === 'started' && after !== null)
      this.#started.set(after.id, (this.#started.get(after.id) ?? 0) + 1);
    if (by === 'started') {
      this.#starts.heard(changed);
      this.#waits.started(changed, this.openOf(tenant).length);
    }
    if (by === 'created' && after !== null) {
      this.#key(changed);
      this.#deletions.created(changed);
      this.#quotas.created(changed, this.openOf(tenant).length, this.#knownFromMs(changed.happened.askedMs));
      const of = callbackOf(after);
      const ended = of === null ? null : (this.tasks.of(tenant).get(of)?.finishedAt ?? null);
      if (of !== null || after.createdBy.type === 'schedule') this.#waits.created(changed, ended);
    }
    if (this.tasks.of(tenant).size > MOST_TASKS) this.#world.time.giveUp(`${tenant} has ${MOST_TASKS} tasks`);
    if (by === 'update') this.#starts.updated(changed);
    this.#waits.ended(changed);
    this.#cancels.heard(changed);
    this.#secrets.heard(changed);
    this.#paces.heard(changed);
    this.#ends.heard(changed);
    this.#callbacks.heard(changed);
    this.#usage.heard(changed);
    this.#histories.heard(changed);
    this.#acknowledged.heard(changed);
    this.#lists.heard(changed);
    for (const listen of this.#listeners) listen(changed);
  }

  /** A second open task with the key of another waits for it. */
  #key({ tenant, after }: TaskChanged): void {
    if (after?.key == null) return;
    const others = this.openOf(tenant).filter(
      ({ id, key, workerId }) => id !== after.id && key === after.key && workerId === after.workerId,
    );
    if (others.length > 0 && !others.some(({ id }) => id === after.heldBy))
      this.report(
        'one task for a key',
        `${after.id} was created while ${others[0].id} has the key ${after.key}`,
      );
  }

  openOf(tenant: string): readonly Task[] {
    return [...this.tasks.of(tenant).values()].filter(({ status }) => !isFinal(status));
  }

  /** Open tasks that have no reason to wait for longer than a while. */
  unfinished(): readonly { readonly tenant: string; readonly task: Task }[] {
    const now = this.#world.storeMs();
    return this.tasks.tenants.flatMap(tenant => {
      const open = this.openOf(tenant);
      const isPaused = ({ status, heldBy }: Task): boolean => {
        const holder = heldBy === null ? undefined : this.tasks.of(tenant).get(heldBy);
        return status === 'paused' || (holder !== undefined && isPaused(holder));
      };
      return open
        .filter(task => !isPaused(task) && (task.dueAt ?? 0) <= now + 120_000)
        .map(task => ({ tenant, task }));
    });
  }

  /** Whether all work is done that has no reason to wait. */
  get isAllDone(): boolean {
    if (this.unfinished().length > 0 || this.#callbacks.areMissing) return false;
    return this.#retention.kept(this.#world.storeMs()) === undefined;
  }

  /** To be asked when all work is done and all processes have stopped. */
  async finish(): Promise<void> {
    const { store, ledger, callers, lives, troubles, receivers, pullWorkers } = this.#world;
    const { report } = this;
    for (const { tenant, task } of this.unfinished())
      report(
        'no one waits for ever',
        `${task.id} of ${tenant} is still ${task.status}, due at ${task.dueAt}`,
      );
    if (store.difference !== null) report('the store agrees with itself', store.difference);
    for (const text of callers.wrong) report('no bug is logged', text);
    for (const text of callers.shown) report('secrets are kept', text);
    this.#secrets.finish(receivers.arrivals);
    this.#rights.finish(pullWorkers.flatMap(({ takings }) => takings));
    this.#deletions.finish(ledger.calls, this.#staleMs);
    const kept = this.#retention.kept(this.#world.storeMs() - LONGEST_KEPT_MS);
    if (kept !== undefined)
      report('ended tasks are removed in time', `${kept.id} ended at ${kept.finishedAt}, and is still there`);
    for (const { logger, name } of lives) {
      for (const { message, fields } of logger.at('error').filter(line => !line.message.startsWith(OUTAGE)))
        report('no bug is logged', `${name}: ${message} ${JSON.stringify(fields).slice(0, 600)}`);
    }
    this.#callbacks.finish(report);
    const reports = pullWorkers.flatMap(worker => worker.reports);
    this.#acknowledged.finish(ledger, reports, report);
    this.#lists.finish(ledger, report);
    await this.#histories.finish(store.store, this.tasks, report);
    const isExact = [...troubles.seen.keys()].every(what => HARMLESS.some(name => what.startsWith(name)));
    const isKept = (tenant: string) => this.documents.account(tenant)?.status === 'active';
    await this.#usage.finish(store.store, this.#startMs, isKept, isExact, report);
    for (const text of await violationsOf(store.store)) report('the store agrees with itself', text);
    await this.#deleted();
    this.#undisturbed();
  }

  /** If nothing has gone wrong, no push is repeated and none is given up. */
  #undisturbed(): void {
    const { troubles, receivers } = this.#world;
    if ([...troubles.seen.keys()].some(what => what !== 'end of troubles')) return;
    for (const [task, { sent, started }] of this.#pushes(receivers.arrivals)) {
      if (sent > started)
        this.report('one attempt at a time', `${task} was sent ${sent} times, and started ${started} times`);
    }
    for (const id of this.#lapsed)
      this.report('one attempt at a time', `the lease of a push of ${id} has ended, and nothing went wrong`);
  }

  #pushes(arrivals: readonly Pick<Arrival, 'taskId'>[]) {
    const pushes = new Map<string, { sent: number; readonly started: number }>();
    for (const { taskId } of arrivals) {
      const known = pushes.get(taskId) ?? { sent: 0, started: this.#started.get(taskId) ?? 0 };
      known.sent++;
      pushes.set(taskId, known);
    }
    return pushes;
  }

  /** Of a tenant that was deleted, nothing is left but the account itself. */
  async #deleted(): Promise<void> {
    const { store } = this.#world.store;
    for (const { tenant } of this.documents.all('account')) {
      const status = this.documents.account(tenant)?.status;
      if (status === 'deleting') this.report('deleted is gone', `${tenant} is still being deleted`);
      if (status !== 'deleted') continue;
      const tasks = await store.list(tenant, taskQuery({ limit: 1 }));
      const workers = await store.countDocuments(tenant, 'worker');
      const schedules = await store.countDocuments(tenant, 'schedule');
      const callbacks = await store.countDocuments(tenant, 'callback');
      if (tasks.length + workers + schedules + callbacks > 0)
        this.report(
          'deleted is gone',
          `${tenant} was deleted, and has ${tasks.length} tasks, ${workers} workers, ${schedules} schedules, ${callbacks} callbacks`,
        );
    }
  }
}

/** Lines about outages of the store, which are part of histories. */
const OUTAGE = 'The task store is';
/** Troubles that lose no usage. */
const HARMLESS = ['clock of a process', 'network', 'receiver', 'restart', 'end of troubles', 'late'];
