import { crc32 } from 'node:zlib';
import type { Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { MemcachedConnection, NodeTarget } from './connection.ts';
import { MemcachedNode, type NodeOptions } from './node.ts';

/** How long to wait for the responses of a node that was removed from the list, as a multiple of the timeout. */
const LEAVING_TIMEOUTS = 4;

/**
 * The nodes that share the keys. The index of the node of a key is the CRC-32 of the key modulo the number of nodes, as
 * in envoyproxy/ratelimit, so that both can use the same nodes. The keys of an unavailable node do not move.
 */
export class MemcachedNodes {
  readonly #source: NodeSource;
  readonly #options: NodeOptions;
  /** In order. A node that is listed twice is contained twice. */
  #nodes: readonly MemcachedNode[] = [];
  #timer: Timer | null = null;
  readonly #firstUp = Promise.withResolvers<void>();
  readonly #stopping = Promise.withResolvers<void>();
  /** Nodes that are being closed after their last responses. */
  readonly #leaving = new Set<Promise<void>>();
  #stopped = false;

  constructor(source: NodeSource, options: NodeOptions) {
    this.#source = source;
    this.#options = options;
  }

  /**
   * Finds the nodes and connects to them. Resolves after one attempt per node, when at least one node is connected.
   * @throws Error if the DNS record cannot be looked up, or `stop` is called meanwhile
   */
  async start(): Promise<void> {
    await this.#find();
    await Promise.race([connectAll(this.#nodes), this.#stopping.promise]);
    if (!this.anyUp && !this.#stopped) {
      await Promise.race([this.#firstUp.promise, this.#stopping.promise]);
    }
    if (this.#stopped)
      throw new Error('connecting to memcached was canceled because the service is shutting down');
  }

  get anyUp(): boolean {
    return this.#nodes.some(node => node.connectionFor(0) !== null);
  }

  /** The reasons why the nodes are not connected. */
  get reason(): string {
    const shown = this.#distinct().slice(0, MAX_SHOWN);
    return shown.map(node => `${node.address}: ${node.reason}`).join('; ');
  }

  /** The connection for a key (one character per byte), or the node of the key if the node has no connection. */
  connectionFor(key: string): MemcachedConnection | MemcachedNode {
    const nodes = this.#nodes;
    const hash = crc32(Buffer.from(key, 'latin1'));
    const node = nodes[hash % nodes.length];
    return node.connectionFor(Math.floor(hash / nodes.length)) ?? node;
  }

  /** Resolves when no response is outstanding. */
  async idle(): Promise<void> {
    await Promise.all(this.#distinct().map(node => node.idle()));
  }

  /** Waits for outstanding responses, within a limit, and closes all connections. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopping.resolve();
    this.#timer?.cancel();
    for (const node of this.#distinct()) this.#remove(node);
    await Promise.all(this.#leaving);
  }

  async #find(): Promise<void> {
    const source = this.#source;
    if ('addresses' in source) {
      this.#use(this.#nodesAt(source.addresses));
      return;
    }
    try {
      this.#use(this.#nodesAt(await nodesOfRecord(source.record, source.lookUp)));
    } catch (cause) {
      const text = `the servers of ${source.record} (ALTCACHE_SRV) cannot be looked up: ${asError(cause).message}`;
      throw new Error(text, { cause });
    }
    if (source.refreshMs > 0) this.#refreshLater(source);
  }

  #refreshLater(source: RecordSource): void {
    this.#timer = this.#options.clock.after(source.refreshMs, async () => {
      try {
        await this.#refresh(await nodesOfRecord(source.record, source.lookUp));
      } catch (failure) {
        this.#options.logger.warning('Could not look up the memcached servers; keeping the known ones', {
          record: source.record,
          reason: asError(failure).message,
        });
      }
      if (!this.#stopped) this.#refreshLater(source);
    });
  }

  /** Switches to a new list after one connection attempt per server. */
  async #refresh(addresses: readonly NodeAddress[]): Promise<void> {
    if (this.#stopped) return;
    if (addresses.map(address => address.shown).join() === this.#nodes.map(node => node.address).join())
      return;
    const nodes = this.#nodesAt(addresses);
    await Promise.race([connectAll(nodes), this.#stopping.promise]);
    if (!this.#stopped) this.#use(nodes);
    else for (const node of nodes) this.#remove(node);
  }

  /** The nodes of a list. Known nodes are reused, with their connections. */
  #nodesAt(addresses: readonly NodeAddress[]): MemcachedNode[] {
    const known = new Map(this.#nodes.map(node => [node.address, node]));
    return addresses.map(({ shown, target }) => {
      const node = known.get(shown) ?? new MemcachedNode(shown, target, this.#options, this.#firstUp.resolve);
      known.set(shown, node);
      return node;
    });
  }

  #use(nodes: readonly MemcachedNode[]): void {
    const before = this.#distinct();
    this.#nodes = nodes;
    const servers = this.#distinct().slice(0, MAX_SHOWN);
    this.#options.logger.info('Using these memcached servers', {
      servers: servers.map(node => node.address).join(', '),
    });
    for (const node of before) if (!nodes.includes(node)) this.#remove(node);
  }

  #remove(node: MemcachedNode): void {
    const leaving = this.#closeWhenIdle(node).finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }

  async #closeWhenIdle(node: MemcachedNode): Promise<void> {
    const { clock, timeoutMs } = this.#options;
    const bound = Promise.withResolvers<void>();
    const timer = clock.after(LEAVING_TIMEOUTS * timeoutMs, bound.resolve);
    await Promise.race([node.idle(), bound.promise]);
    timer.cancel();
    node.close();
  }

  #distinct(): MemcachedNode[] {
    return [...new Set(this.#nodes)];
  }
}

async function connectAll(nodes: readonly MemcachedNode[]): Promise<void> {
  await Promise.all(nodes.map(node => node.connect()));
}

type RecordSource = Extract<NodeSource, { readonly record: string }>;

/** Maximum number of nodes in a log line or an error. */
const MAX_SHOWN = 8;

/** A node as the settings or a DNS record name it. */
interface NodeAddress {
  /** `host:port`, or the path of a unix socket. Shown in log lines; the nodes of a DNS record are sorted by it. */
  readonly shown: string;
  readonly target: NodeTarget;
}

/** Looks up the targets of a DNS SRV record, as `resolveSrv` of `node:dns`. */
export type LookUpService = (
  name: string,
) => Promise<readonly { readonly name: string; readonly port: number }[]>;

/** The nodes: a fixed list, or a DNS SRV record that is looked up every `refreshMs` (0: only once). */
export type NodeSource =
  | { readonly addresses: readonly NodeAddress[] }
  | { readonly record: string; readonly refreshMs: number; readonly lookUp: LookUpService };

/**
 * The nodes of a DNS SRV record, sorted, so that all instances use the same order.
 * @throws Error with the reason if the record cannot be looked up or has no targets
 */
async function nodesOfRecord(record: string, lookUp: LookUpService): Promise<NodeAddress[]> {
  const targets = await lookUp(record);
  if (targets.length === 0) throw new Error('it has no targets');
  const addresses = targets.map(({ name, port }) => ({
    shown: `${name}:${port}`,
    target: { host: name, port },
  }));
  return addresses.sort((a, b) => (a.shown < b.shown ? -1 : 1));
}
