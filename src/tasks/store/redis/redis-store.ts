import { DAY_MS, type Timer } from '../../../base/clock.ts';
import { MsgpackReader } from '../../../clients/redis/msgpack-reader.ts';
import type { TaskBody } from '../../model/task.ts';
import { actorText } from '../actor-text.ts';
import type { DocumentRefusal } from '../documents.ts';
import type { Block, ClaimAnswer, ClaimRequest, RemoveAnswer } from '../requests.ts';
import type { TaskStore } from '../task-store.ts';
import { AcrossTenants, DoubtfulTenants } from './across-tenants.ts';
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
import { bodyOf, claimedOf, type Reply, resultsOf, settledOf, taskOf, tasksOf } from './lua/records.ts';
import { SCRIPTS, type Script } from './lua/scripts.ts';
import { copyIn, copyOut, recallAll } from './redis-copies.ts';
import { RedisDocuments } from './redis-documents.ts';
import { addUsage, usage } from './redis-usage.ts';

/** For how long it is known when the store was last used. */
const USE_KNOWN_MS = 7 * DAY_MS;

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
    this.#doubtful = new DoubtfulTenants(tenant => this.#across.sweepTenant(tenant), options.clock);
    this.#documents = new RedisDocuments(this.#redis, this.#across, this.#doubtful, run);
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

  readonly ping: TaskStore['ping'] = async () => {
    await this.#redis.ping();
    // What matters is that Redis replies. If the node of this key does not, the next ping sets it. A call
    // of lastUse after this ping finds it, because both commands take the same connection.
    this.#redis.send('set', [this.#usedKey, '1', 'PX', USE_KNOWN_MS]).catch(() => {});
  };

  readonly lastUse: TaskStore['lastUse'] = async () => {
    const left = (await this.#redis.send('pttl', [this.#usedKey])) as number;
    return left < 0 ? null : (await this.now()) - (USE_KNOWN_MS - left);
  };

  /** Its expiry says when the store was last used. */
  get #usedKey(): string {
    return `${this.#options.keyPrefix}used`;
  }

  readonly now: TaskStore['now'] = async () => {
    const { time } = this.#options;
    if (time !== null) return time.nowMs();
    const [seconds, micros] = (await this.#redis.send('time', [])) as [Buffer, Buffer];
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  };

  /** Restores missing hints of all tenants. The store also does this regularly, see `sweepMs`. */
  sweep(): Promise<void> {
    return this.#across.sweep();
  }

  readonly create: TaskStore['create'] = async (tenant, request) => {
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
  };

  readonly get: TaskStore['get'] = async (tenant, id) => {
    const packed = (await this.#redis.sendOf(tenant, 'get', [
      `${this.#redis.keysOf(tenant)}k:${id}`,
    ])) as Buffer | null;
    return packed === null ? null : taskOf(id, packed);
  };

  readonly getWhole: TaskStore['getWhole'] = async (tenant, id) => {
    const keys = this.#redis.keysOf(tenant);
    const [task, body] = (await this.#redis.sendOf(tenant, 'mget', [
      `${keys}k:${id}`,
      `${keys}b:${id}`,
    ])) as Reply;
    return task === null ? null : { task: taskOf(id, task as Buffer), body: bodyOf(body as Buffer | null) };
  };

  readonly change: TaskStore['change'] = async (tenant, id, change) => {
    const [kind, packed] = await this.#write(SCRIPTS.change, tenant, [id, ...changeArguments(change)]);
    const word = String(kind);
    if (word === 'missing') return { kind: 'refused', reason: 'missing', task: null };
    const task = taskOf(id, packed as Buffer);
    if (word === 'done' || word === 'unchanged') return { kind: word, task };
    return { kind: 'refused', reason: word as 'status' | 'version' | 'key_taken', task };
  };

  readonly remove: TaskStore['remove'] = async (tenant, id, expectVersion) => {
    const [answer] = await this.#write(SCRIPTS.remove, tenant, [id, expectVersion ?? '']);
    return String(answer) as RemoveAnswer;
  };

  readonly list: TaskStore['list'] = (tenant, query) => list(this.#readOf(tenant), query);

  readonly search: TaskStore['search'] = (tenant, wanted) => search(this.#readOf(tenant), wanted);

  readonly bodies: TaskStore['bodies'] = async (tenant, ids) => {
    const found = new Map<string, TaskBody | null>();
    if (ids.length === 0) return found;
    const reply = await this.#read(SCRIPTS.bodies, tenant, ids);
    for (const [i, packed] of reply.entries()) {
      found.set(ids[i], packed === null ? null : bodyOf(packed as Buffer));
    }
    return found;
  };

  readonly openOfSchedule: TaskStore['openOfSchedule'] = (tenant, scheduleId, limit) =>
    openOfSchedule(this.#readOf(tenant), scheduleId, limit);

  readonly history: TaskStore['history'] = (tenant, id, query) => history(this.#readOf(tenant), id, query);

  readonly claim: TaskStore['claim'] = async (tenant, request) => {
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
  };

  readonly blocks: TaskStore['blocks'] = async (tenant, query) => {
    if (query.workers.length === 0) return [];
    const reply = await this.#read(SCRIPTS.blocks, tenant, blockArguments(query));
    return query.workers.map((_, i) => (reply[i] == null ? null : (String(reply[i]) as NonNullable<Block>)));
  };

  readonly settle: TaskStore['settle'] = async (tenant, settlements) => {
    if (settlements.length === 0) return [];
    return settledOf(await this.#write(SCRIPTS.settle, tenant, settlements.map(settlementText)));
  };

  readonly extend: TaskStore['extend'] = async (tenant, leaseId, ms, progress) => {
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
  };

  readonly leased: TaskStore['leased'] = async (tenant, leaseId) => {
    const [task = null] = tasksOf(await this.#read(SCRIPTS.leased, tenant, [leaseId]));
    return task;
  };

  readonly overdue: TaskStore['overdue'] = async max => {
    return this.#across.overdue(await this.now(), max);
  };

  readonly wakeups: TaskStore['wakeups'] = (until, max) => this.#hints.wakeups(until, max);

  readonly setWakeup: TaskStore['setWakeup'] = (tenant, workerId, at) =>
    this.#hints.setWake(tenant, workerId, at);

  readonly apply: TaskStore['apply'] = (tenant, changes, idempotency) =>
    this.#documents.apply(tenant, changes, idempotency);

  readonly getDocument: TaskStore['getDocument'] = (tenant, kind, id) =>
    this.#documents.get(tenant, kind, id);

  readonly findDocument: TaskStore['findDocument'] = (tenant, name) => this.#documents.find(tenant, name);

  readonly listDocuments: TaskStore['listDocuments'] = (tenant, query) => this.#documents.list(tenant, query);

  readonly countDocuments: TaskStore['countDocuments'] = (tenant, kind) =>
    this.#documents.count(tenant, kind);

  readonly dueDocuments: TaskStore['dueDocuments'] = async (max, after = null) => {
    return this.#across.dueDocuments(await this.now(), max, after);
  };

  readonly recall: TaskStore['recall'] = (tenant, idempotency) => this.#documents.recall(tenant, idempotency);

  readonly remember: TaskStore['remember'] = (tenant, idempotency) =>
    this.#documents.remember(tenant, idempotency);

  readonly counts: TaskStore['counts'] = (tenant, workerId) => counts(this.#readOf(tenant), workerId);

  /** As of the last sweep. */
  readonly countDue: TaskStore['countDue'] = async max => {
    return Math.min(this.#across.dueTasks, max);
  };

  readonly dueOf: TaskStore['dueOf'] = tenant => dueOf(this.#readOf(tenant));

  readonly addUsage: TaskStore['addUsage'] = (tenant, increments) =>
    addUsage(this.#readOf(tenant), increments);

  readonly usage: TaskStore['usage'] = (tenant, query) => usage(this.#readOf(tenant), query);

  readonly purge: TaskStore['purge'] = async (tenant, keep, max) => {
    const [count] = await this.#write(SCRIPTS.purge, tenant, [keep.succeededMs, keep.otherMs, max]);
    // Task keys, idempotency records and usage expire by themselves in Redis.
    return { tasks: count as number, more: count === max };
  };

  readonly forgetTenant: TaskStore['forgetTenant'] = async (tenant, place) => {
    const [next] = await this.#read(SCRIPTS.forget, tenant, [place ?? '0']);
    if (String(next) !== '0') return String(next);
    await this.#across.setReapHint(tenant);
    return null;
  };

  readonly copyOut: TaskStore['copyOut'] = (tenant, place) => copyOut(this.#readOf(tenant), this.now, place);

  readonly recallAll: TaskStore['recallAll'] = place => recallAll(this.#redis, this.now, place);

  readonly copyIn: TaskStore['copyIn'] = (tenant, copies) =>
    copyIn(this.#hints, (script, args) => this.#write(script, tenant, args), tenant, copies);

  readonly tenants: TaskStore['tenants'] = (after, limit) => this.#hints.tenants(after, limit);

  readonly accounts: TaskStore['accounts'] = async (after, limit) =>
    this.#documents.accounts(await this.#hints.tenants(after, limit));

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
