import { FNV_START, fnvOver, scramble } from '../../../base/hash.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Wakeup } from '../requests.ts';
import type { Argument, RedisClient } from './connection/redis-client.ts';
import { thoseThatAnswer } from './those-that-answer.ts';

/**
 * - `wake`: `tenant|worker` → when the worker may have a task that is due
 * - `reap`: tenant → when a lease may end, or a task expire
 * - `docs`: tenant → when a document may be due
 */
type HintKind = 'wake' | 'reap' | 'docs';

/** Hints of a cluster are spread over so many keys, and so over its nodes. */
const CLUSTER_SHARDS = 16;

/**
 * What concerns all tenants, in keys of its own: where to look, and when. Hints are never the truth: one that is too
 * early costs a look, and one that is lost, as when a process dies after its script, is put back by the sweep. Only the
 * list of tenants is needed: a name is added before the tenant is made.
 */
export class Hints {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  readonly #shards: number;
  readonly #logger: Logger;
  /** What goes out at the end of this turn: by key and member, the earliest time. */
  readonly #pending = new Map<string, Map<string, number>>();

  constructor(redis: RedisClient, prefix: string, logger: Logger) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#shards = redis.isCluster ? CLUSTER_SHARDS : 1;
    this.#logger = logger;
  }

  /** Makes the hint earlier, unless it is as early already. Those of one turn are sent together. */
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

  /** Sends what was made earlier in this turn. */
  flush(): void {
    for (const [key, members] of this.#pending) {
      const args: Argument[] = [key, 'LT'];
      for (const [member, at] of members) args.push(at, member);
      this.#forget(this.#redis.send('zadd', args));
    }
    this.#pending.clear();
  }

  /** Sets the hint whatever it was, or takes it away. */
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
   * Sets the hint after a look at the truth, and looks once more: what came between the look and the setting would be
   * without a hint. Nobody waits for it, and nobody learns of a failure but the log: the sweep makes it good.
   */
  settle(
    kind: HintKind,
    tenant: string,
    member: string,
    at: number | null,
    look: () => Promise<number | null>,
  ): void {
    const isSet = this.set(kind, tenant, member, at);
    // Whoever awaits it below may have failed before.
    isSet.catch(() => {});
    const again = async () => {
      // On one connection the order of sending is that of Redis; in a cluster these go to different nodes.
      if (this.#redis.isCluster) await isSet;
      const found = await look();
      await isSet;
      if (found !== null && (at === null || found < at)) this.lower(kind, tenant, member, found);
    };
    this.#forget(again());
  }

  /** Members whose time has come, the earliest first: of all nodes that answer. */
  async due(kind: HintKind, until: number, max: number): Promise<{ member: string; at: number }[]> {
    this.flush();
    const limit = ['BYSCORE', 'LIMIT', 0, max, 'WITHSCORES'];
    const asked = this.#everyShard(kind, key => this.#redis.send('zrange', [key, '-inf', until, ...limit]));
    const failures: unknown[] = [];
    const replies = await thoseThatAnswer(asked, failures);
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
      this.#logger.debug('a hint could not be left in Redis; the next sweep does it', {
        reason: failure.message,
      });
    });
  }
}
