import { FNV_START, fnvOver, scramble } from '../../../base/hash.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Wakeup } from '../requests.ts';
import type { Argument, RedisClient } from './connection/redis-client.ts';

/**
 * - `wake`: `tenant|worker` → when the worker may have a task that is due
 * - `reap`: tenant → when a lease may end, or a task expire
 * - `docs`: tenant → when a document may be due
 */
type HintKind = 'wake' | 'reap' | 'docs';

/** In a cluster, the hints are distributed over this many keys, and therefore over its nodes. */
const CLUSTER_SHARDS = 16;

/**
 * Hints about all tenants, in keys of their own: which tenants or workers to look at, and when. The data of the tenants
 * decides; a hint that is too early only costs a look. A hint can be lost, for example if a process dies after its
 * script; the sweep restores it. Only the list of tenants must be complete: a name is added before its tenant is created.
 */
export class Hints {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  readonly #shards: number;
  readonly #logger: Logger;
  /** Hints that are sent at the end of this turn of the event loop: the earliest time by key and member. */
  readonly #pending = new Map<string, Map<string, number>>();

  constructor(redis: RedisClient, prefix: string, logger: Logger) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#shards = redis.isCluster ? CLUSTER_SHARDS : 1;
    this.#logger = logger;
  }

  /** Sets the hint to `at` if it is later or missing. The hints of one turn are sent together. */
  lower(kind: HintKind, tenant: string, member: string, at: number): void {
    if (this.#pending.size === 0) setImmediate(() => this.flush());
    const key = this.#key(kind, tenant);
    let members = this.#pending.get(key);
    if (members === undefined) {
      members = new Map();
      this.#pending.set(key, members);
    }
    const before = members.get(member);
    if (before === undefined || at < before) members.set(member, at);
  }

  wake(tenant: string, workerId: string, at: number): void {
    this.lower('wake', tenant, `${tenant}|${workerId}`, at);
  }

  /** Sends the hints that were lowered in this turn. */
  flush(): void {
    for (const [key, members] of this.#pending) {
      const args: Argument[] = [key, 'LT'];
      for (const [member, at] of members) args.push(at, member);
      this.#forget(this.#redis.send('zadd', args));
    }
    this.#pending.clear();
  }

  /** Sets the hint, or removes it if `at` is null. */
  async set(kind: HintKind, tenant: string, member: string, at: number | null): Promise<void> {
    this.flush();
    const key = this.#key(kind, tenant);
    if (at === null) await this.#redis.send('zrem', [key, member]);
    else await this.#redis.send('zadd', [key, at, member]);
  }

  setWake(tenant: string, workerId: string, at: number | null): Promise<void> {
    return this.set('wake', tenant, `${tenant}|${workerId}`, at);
  }

  /**
   * Sets the hint to the result of a look, and looks again: a change between the first look and the update would
   * otherwise have no hint. Runs in the background. Errors are only logged, because the sweep restores the hint.
   */
  settle(
    kind: HintKind,
    tenant: string,
    member: string,
    at: number | null,
    look: () => Promise<number | null>,
  ): void {
    const isSet = this.set(kind, tenant, member, at);
    // `look` may fail before this promise is awaited below.
    isSet.catch(() => {});
    const again = async () => {
      // A single server runs commands in the order in which they are sent. In a cluster they go to different nodes.
      if (this.#redis.isCluster) await isSet;
      const found = await look();
      await isSet;
      if (found !== null && (at === null || found < at)) this.lower(kind, tenant, member, found);
    };
    this.#forget(again());
  }

  /** The members that are due by `until`, earliest first, from all reachable nodes. */
  async due(kind: HintKind, until: number, max: number): Promise<{ member: string; at: number }[]> {
    this.flush();
    const limit = ['BYSCORE', 'LIMIT', 0, max, 'WITHSCORES'];
    const asked = this.#everyShard(kind, key => this.#redis.send('zrange', [key, '-inf', until, ...limit]));
    const failures: unknown[] = [];
    const replies = await ofReachableNodes(asked, failures);
    if (replies.length === 0) throw failures[0];
    const found: { member: string; at: number }[] = [];
    for (const reply of replies) {
      for (let i = 0; i < reply.length; i += 2) {
        found.push({ member: reply[i].toString(), at: Number(reply[i + 1]) });
      }
    }
    return found.sort((a, b) => a.at - b.at).slice(0, max);
  }

  async wakeups(until: number, max: number): Promise<Wakeup[]> {
    const found = await this.due('wake', until, max);
    return found.map(({ member, at }) => {
      const bar = member.indexOf('|');
      return { tenant: member.slice(0, bar), workerId: member.slice(bar + 1), at };
    });
  }

  async addTenant(tenant: string): Promise<void> {
    await this.#redis.send('zadd', [this.#key('tenants', tenant), 0, tenant]);
  }

  async removeTenant(tenant: string): Promise<void> {
    await this.#redis.send('zrem', [this.#key('tenants', tenant), tenant]);
  }

  async tenants(after: string | null, limit: number): Promise<string[]> {
    const from = after === null ? '-' : `(${after}`;
    const asked = this.#everyShard('tenants', key =>
      this.#redis.send('zrange', [key, from, '+', 'BYLEX', 'LIMIT', 0, limit]),
    );
    return (await Promise.all(asked))
      .flat()
      .map(name => name.toString())
      .sort()
      .slice(0, limit);
  }

  #everyShard(kind: string, ask: (key: string) => Promise<unknown>): Promise<Buffer[]>[] {
    const asked: Promise<unknown>[] = [];
    for (let shard = 0; shard < this.#shards; shard++) asked.push(ask(this.#shardKey(kind, shard)));
    return asked as Promise<Buffer[]>[];
  }

  #key(kind: string, tenant: string): string {
    const bytes = Buffer.from(tenant);
    const hash = scramble(fnvOver(FNV_START, bytes, 0, bytes.length)) >>> 0;
    return this.#shardKey(kind, hash % this.#shards);
  }

  #shardKey(kind: string, shard: number): string {
    return `${this.#prefix}${kind}:${shard}`;
  }

  #forget(sent: Promise<unknown>): void {
    sent.catch((failure: Error) => {
      this.#logger.debug('Could not update a hint in Redis; the next sweep will', {
        error: failure.message,
      });
    });
  }
}

/**
 * Waits for requests to several nodes of a cluster and returns the replies of the nodes that are reachable, in order.
 *
 * @param failures the errors of the other nodes are added to this list
 */
export async function ofReachableNodes<T>(
  requests: readonly Promise<T>[],
  failures: unknown[],
): Promise<T[]> {
  const replies: T[] = [];
  for (const result of await Promise.allSettled(requests)) {
    if (result.status === 'fulfilled') replies.push(result.value);
    else failures.push(result.reason);
  }
  return replies;
}
