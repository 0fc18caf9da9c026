import { asError } from '../../../base/fault.ts';
import { elsewhere, hostPort, type RedisEndpoint } from '../../../clients/redis/address.ts';
import { SideConnections } from '../connections/connection.ts';
import type { CountingServer, KeyServer } from '../connections/counting-server.ts';
import { type PoolOptions, RedisPool } from '../connections/pool.ts';
import type { RedisLinkParts } from '../connections/redis-link.ts';
import { startPatiently, Waits } from '../connections/waits.ts';
import type { Finding } from './finding.ts';
import { type NodeAddress, readClusterSlots, type SlotMap, slotOwners } from './slot-map.ts';

interface ClusterOptions {
  /** Configured nodes, which name the others. At least one. */
  readonly seeds: readonly RedisEndpoint[];
  readonly pool: PoolOptions;
  /** The slot map, which only one thread of the process reads from the nodes. */
  readonly slots: Finding<SlotMap>;
}

/** A node and the connections to it. */
export interface ClusterNode {
  readonly host: string;
  readonly pool: RedisPool;
}

/** Interval at which the slot map is refreshed. */
const EVERY_MS = 5_000;
/** Minimum time between two refreshes, when replies or failures show that the map is outdated. */
const AT_MOST_EVERY_MS = 250;
const NO_SCRIPTS =
  'The Redis cluster does not run scripts for this user; refunds are not atomic, and the local caches of other ' +
  'instances do not learn of them';
/** The maximum that Redis recommends. */
const MAX_NODES = 1_000;

/** The nodes of a cluster and its slot map, which is refreshed regularly, or follows that of another thread. */
export class ClusterNodes {
  readonly address: string;
  readonly #options: ClusterOptions;
  readonly #parts: RedisLinkParts;
  readonly #nodes = new Map<string, ClusterNode>();
  readonly #waits: Waits;
  readonly #connections: SideConnections;
  /** Nodes that the last map did not contain. */
  #unnamed = new Set<string>();
  #owners: readonly (string | undefined)[] = [];
  #stopped = false;
  #warned = false;
  #refreshing: Promise<void> | null = null;
  #refreshedMs = 0;
  /** Determines which node is asked first. */
  #turn = 0;
  readonly #closing = new Set<Promise<void>>();
  #unfollow: () => void = () => {};

  constructor(options: ClusterOptions, parts: RedisLinkParts) {
    this.#options = options;
    this.#parts = parts;
    this.#waits = new Waits(parts.clock);
    this.#connections = new SideConnections(parts.timeoutMs);
    this.address = options.seeds.map(seed => seed.shown).join(', ');
    if (options.slots.isFoundHere) options.slots.onLookAgain(() => this.refresh());
  }

  /** Reads the map and connects to all nodes. At least one must be reachable. */
  async start(): Promise<void> {
    const { startup: bounds, clock, random, outage } = this.#parts;
    const isStopped = () => this.#stopped;
    const failed = (reason: string): void => outage.lost(this.address, reason, true);
    const start = { address: this.address, bounds, clock, random, waits: this.#waits, isStopped, failed };
    const { slots } = this.#options;
    if (!slots.isFoundHere) this.#unfollow = slots.follow(map => this.#take(map));
    await startPatiently(start, async () => {
      if (slots.isFoundHere) await this.#find();
      else if (slots.latest === null) throw new Error('the primary thread has not read the slot map yet');
      await Promise.all([...this.#nodes.values()].map(node => node.pool.connected()));
      if ([...this.#nodes.values()].every(node => !node.pool.up)) throw new Error(this.#firstReason());
    });
    outage.left(this.address);
    if (slots.isFoundHere) void this.#refreshForEver();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unfollow();
    this.#parts.outage.left(this.address);
    this.#waits.cancelAll();
    await this.#connections.stop();
    await Promise.all([...this.#nodes.values()].map(node => node.pool.stop()));
    await Promise.all(this.#closing);
    await this.#refreshing;
  }

  /**
   * The source of refund notifications. Every node forwards messages that are published on any node. A node without
   * slots may leave the cluster and then receives none.
   */
  get feed(): CountingServer {
    const isNamed = (shown: string): boolean => !this.#unnamed.has(shown);
    return {
      address: this.address,
      find: async () => {
        const endpoints = this.#endpointsInTurn();
        return endpoints.find(({ shown }) => isNamed(shown)) ?? endpoints[0];
      },
      isUp: () => [...this.#nodes.values()].some(node => node.pool.up),
      isCurrent: shown => this.#nodes.has(shown) && isNamed(shown),
      mustBeMaster: false,
    };
  }

  /** The node that has a slot, for a key that is no counter. Follows the slot when it moves. */
  serverOf(slot: number): KeyServer {
    const pool = (): RedisPool | null => this.owner(slot)?.pool ?? null;
    return {
      address: this.address,
      // A node without the slot says so, which is a reason to look again.
      find: async () => (await pool()?.keyServer.find()) ?? this.#endpointsInTurn()[0],
      isUp: () => pool()?.up === true,
      isCurrent: shown => pool()?.address === shown,
      mustBeMaster: false,
      link: () => pool()?.keyServer.link() ?? null,
      lookAgain: () => this.refresh(),
    };
  }

  /** The node that has a slot; null if no node has it. */
  owner(slot: number): ClusterNode | null {
    const name = this.#owners[slot];
    return name === undefined ? null : (this.#nodes.get(name) ?? null);
  }

  /** The node at this address. It may be new and not connected yet. Null if no new node is allowed. */
  at(address: NodeAddress): ClusterNode | null {
    const known = this.#nodes.get(hostPort(address.host, address.port));
    if (known !== undefined) return known;
    return this.#stopped || this.#nodes.size >= MAX_NODES ? null : this.#node(address);
  }

  /** Reports that a node does not let this user run the refund script. */
  refusedScript(): void {
    if (this.#warned) return;
    this.#warned = true;
    this.#parts.logger.warning(NO_SCRIPTS, { address: this.address });
  }

  /** Refreshes the map in the background, because a reply or a failure showed that it may be outdated. */
  refresh(): void {
    const nowMs = this.#parts.clock.nowMs();
    // If the clock was set back, refreshes must not stop.
    const isSoon = Math.abs(nowMs - this.#refreshedMs) < AT_MOST_EVERY_MS;
    if (this.#refreshing !== null || this.#stopped || isSoon) return;
    this.#refreshedMs = nowMs;
    const { slots } = this.#options;
    if (!slots.isFoundHere) {
      slots.lookAgain();
      return;
    }
    this.#refreshing = this.#refreshOnce().finally(() => {
      this.#refreshing = null;
    });
  }

  async #refreshForEver(): Promise<void> {
    while (!this.#stopped) {
      await this.#waits.wait(EVERY_MS);
      this.refresh();
    }
  }

  async #refreshOnce(): Promise<void> {
    try {
      await this.#find();
    } catch (failure) {
      this.#keepMap(failure);
    }
  }

  async #find(): Promise<void> {
    const map = await this.#askAround();
    this.#adopt(map);
    if (!this.#stopped) this.#options.slots.set(map);
  }

  /** Adopts the map that another thread has found. */
  #take(map: SlotMap): void {
    try {
      this.#adopt(map);
    } catch (failure) {
      this.#keepMap(failure);
    }
  }

  #keepMap(failure: unknown): void {
    this.#parts.logger.debug('Could not refresh the slot map of the Redis cluster; keeping the known one', {
      address: this.address,
      error: asError(failure).message,
    });
  }

  /**
   * Returns the map of the first node that replies: a connected node, or else a configured one. Each time another node is
   * asked first, because a node that is isolated from the others continues to send an outdated map.
   */
  async #askAround(): Promise<SlotMap> {
    const problems: string[] = [];
    for (const endpoint of this.#endpointsInTurn()) {
      try {
        const map = await this.#ask(endpoint);
        if (map.ranges.length > 0) return map;
        problems.push(`${endpoint.shown}: it knows no node with slots`);
      } catch (failure) {
        problems.push(`${endpoint.shown}: ${asError(failure).message}`);
      }
      if (this.#stopped) break;
    }
    throw new Error(problems.join('; '));
  }

  /** The connected nodes, then the configured ones, each rotated by one more than last time. */
  #endpointsInTurn(): RedisEndpoint[] {
    const { seeds } = this.#options;
    const connected = [...this.#nodes.entries()].flatMap(([name, node]) =>
      node.pool.up ? [elsewhere(seeds[0], node.host, Number(name.slice(name.lastIndexOf(':') + 1)))] : [],
    );
    const turn = this.#turn++;
    return [...rotated(connected, turn), ...rotated(seeds, turn)];
  }

  #ask(endpoint: RedisEndpoint): Promise<SlotMap> {
    return this.#connections.use(endpoint, async connection => {
      const host = 'host' in endpoint.target ? endpoint.target.host : '127.0.0.1';
      return readClusterSlots(await connection.send('CLUSTER', ['SLOTS']), host);
    });
  }

  #adopt(map: SlotMap): void {
    if (this.#stopped) return;
    for (const { node } of map.ranges) this.#node(node);
    this.#owners = slotOwners(map);
    const named = new Set(this.#owners);
    const unnamed = new Set([...this.#nodes.keys()].filter(name => !named.has(name)));
    for (const name of unnamed) {
      // A node that receives its first slot can be used before a map contains it. Drop a node only after two maps.
      if (this.#unnamed.has(name) && this.#nodes.get(name)?.pool.idle) this.#forget(name);
    }
    this.#unnamed = unnamed;
  }

  #node({ host, port }: NodeAddress): ClusterNode {
    const name = hostPort(host, port);
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    if (this.#nodes.size >= MAX_NODES) throw new Error(`the cluster names more than ${MAX_NODES} nodes`);
    const endpoint = elsewhere(this.#options.seeds[0], host, port);
    const target = { address: name, find: async () => endpoint, mustBeMaster: false, scripts: false };
    const node = { host, pool: new RedisPool(target, this.#options.pool, this.#parts) };
    this.#nodes.set(name, node);
    void node.pool.connected();
    return node;
  }

  #forget(name: string): void {
    const node = this.#nodes.get(name);
    if (node === undefined) return;
    this.#nodes.delete(name);
    const closed = node.pool.stop();
    this.#closing.add(closed);
    void closed.then(() => this.#closing.delete(closed));
  }

  #firstReason(): string {
    const [node] = this.#nodes.values();
    return node === undefined ? 'the cluster has no nodes' : node.pool.reason;
  }
}

function rotated<T>(items: readonly T[], by: number): T[] {
  const first = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
