import type { Timer } from '../../../base/clock.ts';
import { MsgpackReader } from '../../../clients/redis/msgpack-reader.ts';
import type { DocumentKind } from '../../model/documents.ts';
import type { HistoryEntry, Task, TaskBody } from '../../model/task.ts';
import type { DocumentChange, DocumentQuery, DocumentRefusal, StoredDocument } from '../documents.ts';
import type {
  ApplyAnswer,
  Block,
  BlockQuery,
  ChangeAnswer,
  ClaimAnswer,
  ClaimRequest,
  CreateAnswer,
  CreateRequest,
  ExtendAnswer,
  FoundTasks,
  HistoryQuery,
  Idempotency,
  Overdue,
  Progress,
  PurgeAnswer,
  RemoveAnswer,
  SettleAnswer,
  Settlement,
  TaskChange,
  TaskQuery,
  TaskSearch,
  Wakeup,
} from '../requests.ts';
import type { TaskStore } from '../task-store.ts';
import type { UsageIncrement, UsageOfInterval, UsageQuery } from '../usage.ts';
import { AcrossTenants, DoubtfulTenants, type DueDocument } from './across-tenants.ts';
import type { RedisTaskStoreOptions } from './connection/options.ts';
import { type Argument, RedisClient } from './connection/redis-client.ts';
import { counts, dueOf } from './counts.ts';
import {
  blockArguments,
  changeArguments,
  claimArguments,
  createArguments,
  settlementText,
} from './encoding.ts';
import { Hints } from './hints.ts';
import { history, list, openOfSchedule, type ReadScript, search } from './lists.ts';
import {
  actorText,
  bodyOf,
  claimedOf,
  type Reply,
  resultsOf,
  settledOf,
  taskOf,
  tasksOf,
} from './lua/records.ts';
import { SCRIPTS, type Script } from './lua/scripts.ts';
import { RedisDocuments } from './redis-documents.ts';
import { addUsage, usage } from './redis-usage.ts';

/**
 * Tasks in Redis 7 or later, a single server or a cluster (specification 4.3).
 *
 * Each operation is one script on keys of one slot, so it happens completely or not at all. Operations over all tenants
 * use hints in other slots. A sweep restores hints that were lost in a crash.
 */
export class RedisTaskStore implements TaskStore {
  readonly name = 'redis';
  readonly #options: RedisTaskStoreOptions;
  readonly #redis: RedisClient;
  readonly #hints: Hints;
  readonly #across: AcrossTenants;
  readonly #doubtful: DoubtfulTenants;
  readonly #documents: RedisDocuments;
  #sweepTimer: Timer | null = null;
  #stopped = false;

  constructor(options: RedisTaskStoreOptions) {
    this.#options = options;
    this.#redis = new RedisClient(options);
    this.#hints = new Hints(this.#redis, options.keyPrefix, options.logger);
    const run = (script: Script, tenant: string, args: readonly Argument[]) =>
      this.#read(script, tenant, args);
    this.#across = new AcrossTenants(this.#hints, run);
    this.#doubtful = new DoubtfulTenants({
      sweep: tenant => this.#across.sweepTenant(tenant),
      clock: options.clock,
    });
    const [redis, across, doubtful] = [this.#redis, this.#across, this.#doubtful];
    this.#documents = new RedisDocuments({ redis, across, doubtful, run });
  }

  /** @throws Error that names the server, what is wrong with it and how to correct it */
  async start(): Promise<void> {
    await this.#redis.start();
    this.#planSweep();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#sweepTimer?.cancel();
    this.#doubtful.stop();
    this.#hints.flush();
    await this.#redis.stop();
  }

  ping(): Promise<void> {
    return this.#redis.ping();
  }

  async now(): Promise<number> {
    const { time } = this.#options;
    if (time !== null) return time.nowMs();
    const [seconds, micros] = (await this.#redis.send('time', [])) as [Buffer, Buffer];
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  /** Restores missing hints of all tenants. The store also does this regularly, see `sweepMs`. */
  sweep(): Promise<void> {
    return this.#across.sweep();
  }

  async create(tenant: string, request: CreateRequest): Promise<CreateAnswer> {
    const changes = request.documents ?? [];
    const note = request.idempotency?.note ?? '';
    const script = changes.length === 0 ? SCRIPTS.create : SCRIPTS.createWithDocuments;
    const [kind, first, second] = await this.#across.aroundDocuments(tenant, changes, () =>
      this.#write(script, tenant, createArguments(request)),
    );
    switch (String(kind)) {
      case 'reused':
        return { kind: 'reused' };
      case 'documents':
        return {
          kind: 'documents_refused',
          index: first as number,
          reason: String(second) as DocumentRefusal,
        };
      case 'replayed':
        return { kind: 'replayed', results: resultsOf(first as Buffer), note: String(second) };
      default:
        return { kind: 'done', results: resultsOf(first as Buffer), note };
    }
  }

  async get(tenant: string, id: string): Promise<Task | null> {
    const packed = (await this.#redis.sendOf(tenant, 'get', [
      `${this.#redis.keysOf(tenant)}k:${id}`,
    ])) as Buffer | null;
    return packed === null ? null : taskOf(id, packed);
  }

  async getWhole(
    tenant: string,
    id: string,
  ): Promise<{ readonly task: Task; readonly body: TaskBody } | null> {
    const keys = this.#redis.keysOf(tenant);
    const [task, body] = (await this.#redis.sendOf(tenant, 'mget', [
      `${keys}k:${id}`,
      `${keys}b:${id}`,
    ])) as Reply;
    return task === null ? null : { task: taskOf(id, task as Buffer), body: bodyOf(body as Buffer | null) };
  }

  async change(tenant: string, id: string, change: TaskChange): Promise<ChangeAnswer> {
    const [kind, packed] = await this.#write(SCRIPTS.change, tenant, [id, ...changeArguments(change)]);
    const word = String(kind);
    if (word === 'missing') return { kind: 'refused', reason: 'missing', task: null };
    const task = taskOf(id, packed as Buffer);
    if (word === 'done' || word === 'unchanged') return { kind: word, task };
    return { kind: 'refused', reason: word as 'status' | 'version' | 'key_taken', task };
  }

  async remove(tenant: string, id: string, expectVersion: number | null): Promise<RemoveAnswer> {
    const [answer] = await this.#write(SCRIPTS.remove, tenant, [id, expectVersion ?? '']);
    return String(answer) as RemoveAnswer;
  }

  list(tenant: string, query: TaskQuery): Promise<readonly Task[]> {
    return list(this.#readOf(tenant), query);
  }

  search(tenant: string, wanted: TaskSearch): Promise<FoundTasks> {
    return search(this.#readOf(tenant), wanted);
  }

  async bodies(tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, TaskBody | null>> {
    const found = new Map<string, TaskBody | null>();
    if (ids.length === 0) return found;
    const reply = await this.#read(SCRIPTS.bodies, tenant, ids);
    for (const [i, packed] of reply.entries()) {
      found.set(ids[i], packed === null ? null : bodyOf(packed as Buffer));
    }
    return found;
  }

  openOfSchedule(tenant: string, scheduleId: string, limit: number): Promise<readonly string[]> {
    return openOfSchedule(this.#readOf(tenant), scheduleId, limit);
  }

  history(tenant: string, id: string, query: HistoryQuery): Promise<readonly HistoryEntry[] | null> {
    return history(this.#readOf(tenant), id, query);
  }

  async claim(tenant: string, request: ClaimRequest): Promise<ClaimAnswer> {
    const reply = await this.#write(SCRIPTS.claim, tenant, claimArguments(request));
    const [now, next, blocked, ...started] = reply;
    const nextAt = next as number | null;
    this.#hintNextClaim(tenant, request, { now: now as number, nextAt, isBlocked: blocked !== null });
    return {
      tasks: claimedOf(started, request.leaseIds),
      now: now as number,
      nextAt,
      blocked: blocked === null ? null : (String(blocked) as ClaimAnswer['blocked']),
    };
  }

  async blocks(tenant: string, query: BlockQuery): Promise<readonly Block[]> {
    if (query.workers.length === 0) return [];
    const reply = await this.#read(SCRIPTS.blocks, tenant, blockArguments(query));
    return query.workers.map((_, i) => (reply[i] == null ? null : (String(reply[i]) as NonNullable<Block>)));
  }

  async settle(tenant: string, settlements: readonly Settlement[]): Promise<readonly SettleAnswer[]> {
    if (settlements.length === 0) return [];
    return settledOf(await this.#write(SCRIPTS.settle, tenant, settlements.map(settlementText)));
  }

  async extend(
    tenant: string,
    leaseId: string,
    ms: number | null,
    progress: Progress | null,
  ): Promise<ExtendAnswer> {
    const said: Argument[] =
      progress === null
        ? ['', '', '', '', '']
        : [
            '1',
            progress.percent ?? '',
            progress.note === null ? '' : '1',
            progress.note ?? '',
            actorText(progress.actor),
          ];
    const [until, isCanceled] = await this.#write(SCRIPTS.extend, tenant, [leaseId, ms ?? '', ...said]);
    if (until === undefined) return { kind: 'lost' };
    return { kind: 'extended', until: until as number, cancelRequested: isCanceled === 1 };
  }

  async leased(tenant: string, leaseId: string): Promise<Task | null> {
    const [task = null] = tasksOf(await this.#read(SCRIPTS.leased, tenant, [leaseId]));
    return task;
  }

  async overdue(max: number): Promise<readonly Overdue[]> {
    return this.#across.overdue(await this.now(), max);
  }

  wakeups(until: number, max: number): Promise<readonly Wakeup[]> {
    return this.#hints.wakeups(until, max);
  }

  setWakeup(tenant: string, workerId: string, at: number | null): Promise<void> {
    return this.#hints.setWake(tenant, workerId, at);
  }

  apply(tenant: string, changes: readonly DocumentChange[], idempotency?: Idempotency): Promise<ApplyAnswer> {
    return this.#documents.apply(tenant, changes, idempotency);
  }

  getDocument<K extends DocumentKind>(
    tenant: string,
    kind: K,
    id: string,
  ): Promise<StoredDocument<K> | null> {
    return this.#documents.get(tenant, kind, id);
  }

  findDocument(tenant: string, name: string): Promise<StoredDocument | null> {
    return this.#documents.find(tenant, name);
  }

  listDocuments(tenant: string, query: DocumentQuery): Promise<readonly StoredDocument[]> {
    return this.#documents.list(tenant, query);
  }

  countDocuments(tenant: string, kind: DocumentKind): Promise<number> {
    return this.#documents.count(tenant, kind);
  }

  async dueDocuments(max: number, after: string | null = null): Promise<readonly DueDocument[]> {
    return this.#across.dueDocuments(await this.now(), max, after);
  }

  recall(
    tenant: string,
    idempotency: Idempotency,
  ): Promise<{ readonly kind: 'new' | 'reused' } | { readonly kind: 'replayed'; readonly note: string }> {
    return this.#documents.recall(tenant, idempotency);
  }

  remember(tenant: string, idempotency: Idempotency): Promise<void> {
    return this.#documents.remember(tenant, idempotency);
  }

  counts(tenant: string, workerId: string | null): ReturnType<TaskStore['counts']> {
    return counts(this.#readOf(tenant), workerId);
  }

  /** As of the last sweep. */
  async countDue(max: number): Promise<number> {
    return Math.min(this.#across.dueTasks, max);
  }

  dueOf(tenant: string): ReturnType<TaskStore['dueOf']> {
    return dueOf(this.#readOf(tenant));
  }

  addUsage(tenant: string, increments: readonly UsageIncrement[]): Promise<void> {
    return addUsage(this.#readOf(tenant), increments);
  }

  usage(tenant: string, query: UsageQuery): Promise<readonly UsageOfInterval[]> {
    return usage(this.#readOf(tenant), query);
  }

  async purge(
    tenant: string,
    keep: { readonly succeededMs: number; readonly otherMs: number },
    max: number,
  ): Promise<PurgeAnswer> {
    const [count] = await this.#write(SCRIPTS.purge, tenant, [keep.succeededMs, keep.otherMs, max]);
    // Task keys, idempotency records and usage expire by themselves in Redis.
    return { tasks: count as number, more: count === max };
  }

  async forgetTenant(tenant: string, place: string | null): Promise<string | null> {
    const [next] = await this.#read(SCRIPTS.forget, tenant, [place ?? '0']);
    if (String(next) !== '0') return String(next);
    await this.#across.setReapHint(tenant);
    return null;
  }

  tenants(after: string | null, limit: number): Promise<readonly string[]> {
    return this.#hints.tenants(after, limit);
  }

  #run(script: Script, tenant: string, args: readonly Argument[]): Promise<unknown> {
    const { time } = this.#options;
    return this.#redis.run(script, tenant, [time === null ? '' : time.nowMs(), ...args]);
  }

  async #read(script: Script, tenant: string, args: readonly Argument[]): Promise<Reply> {
    return (await this.#run(script, tenant, args)) as Reply;
  }

  #readOf(tenant: string): ReadScript {
    return (script, args) => this.#read(script, tenant, args);
  }

  /** Runs a script whose reply begins with the hints to set. */
  async #write(script: Script, tenant: string, args: readonly Argument[]): Promise<Reply> {
    const [hints, ...answer] = await this.#doubtful.around(tenant, () => this.#read(script, tenant, args));
    if (hints !== null) {
      const reader = new MsgpackReader(hints as Buffer);
      reader.array();
      const reapAt = reader.value();
      if (reapAt !== false) this.#hints.lower('reap', tenant, tenant, reapAt as number);
      const wakes = reader.values();
      for (let i = 0; i < wakes.length; i += 2) {
        this.#hints.wake(tenant, wakes[i] as string, wakes[i + 1] as number);
      }
      const callbacksAt = reader.value();
      if (callbacksAt !== false) this.#hints.lower('docs', tenant, tenant, callbacksAt as number);
    }
    return answer;
  }

  /** Sets the hint of a worker to the time of the next claim. */
  #hintNextClaim(
    tenant: string,
    { workerId, lease }: ClaimRequest,
    { now, nextAt, isBlocked }: { now: number; nextAt: number | null; isBlocked: boolean },
  ): void {
    const isPush = lease.mode === 'push';
    const member = `${tenant}|${workerId}`;
    const at = isPush ? nextAt : null;
    // A worker that is blocked or has more due tasks is claimed for again soon. Only a worker that waits for its next task
    // can miss one that arrives between the claim and the hint.
    const mayMiss = isPush && !isBlocked && nextAt !== now;
    this.#hints.settle('wake', tenant, member, at, async () =>
      mayMiss ? ((await this.#run(SCRIPTS.peek, tenant, [workerId])) as number | null) : null,
    );
  }

  #planSweep(): void {
    const { sweepMs, clock, logger } = this.#options;
    if (sweepMs === null || this.#stopped) return;
    this.#sweepTimer = clock.after(sweepMs, async () => {
      try {
        await this.sweep();
      } catch (failure) {
        if (!this.#stopped)
          logger.info('Could not look for lost hints in Redis; retrying', { error: String(failure) });
      }
      this.#planSweep();
    });
  }
}
