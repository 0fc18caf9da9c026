import { crc32 } from 'node:zlib';
import type { Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { MemcachedConnection, NodeTarget } from './connection.ts';
import { MemcachedNode, type NodeOptions } from './node.ts';

/** How long a node that left the list may take to answer what it was sent, in parts of its bound for an answer. */
const LEAVING_TIMEOUTS = 4;

/**
 * The nodes among which the keys are shared out: by the CRC-32 of the key, modulo their number, in their order. That is
 * how the reference implementation does it, so both can count in one set of nodes. A node that is away keeps its keys.
 */
export class MemcachedNodes {
  readonly #source: NodeSource;
  readonly #options: NodeOptions;
  /** In order; a node that is listed twice is here twice. */
  #nodes: readonly MemcachedNode[] = [];
  #timer: Timer | null = null;
  readonly #firstUp = Promise.withResolvers<void>();
  readonly #stopping = Promise.withResolvers<void>();
  /** Nodes that answer what they were sent before they are closed. */
  readonly #leaving = new Set<Promise<void>>();
  #stopped = false;

  constructor(source: NodeSource, options: NodeOptions) {
    this.#source = source;
    this.#options = options;
  }

  /**
   * Finds the nodes and connects to them; resolves when each was tried once and one of them answers.
   * @throws Error when the DNS record cannot be read, or it was stopped meanwhile
   */
  async start(): Promise<void> {
    await this.#find();
    await Promise.race([connectAll(this.#nodes), this.#stopping.promise]);
    if (!this.anyUp && !this.#stopped) {
      await Promise.race([this.#firstUp.promise, this.#stopping.promise]);
    }
    if (this.#stopped) throw new Error('connecting to memcached was given up because the service stops');
  }

  get anyUp(): boolean {
    return this.#nodes.some(node => node.connectionFor(0) !== null);
  }

  /** Why there is no connection, node by node. */
  get reason(): string {
    const shown = this.#distinct().slice(0, MAX_SHOWN);
    return shown.map(node => `${node.address}: ${node.reason}`).join('; ');
  }

  /** The connection that counts this key (one character a byte), or the node to which there is none. */
  connectionFor(key: string): MemcachedConnection | MemcachedNode {
    const nodes = this.#nodes;
    const hash = crc32(Buffer.from(key, 'latin1'));
    const node = nodes[hash % nodes.length];
    return node.connectionFor(Math.floor(hash / nodes.length)) ?? node;
  }

  /** Resolves when nothing waits for an answer. */
  async idle(): Promise<void> {
    await Promise.all(this.#distinct().map(node => node.idle()));
  }

  /** Waits for the answers to what was sent, within the bound of an answer each, and closes everything. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopping.resolve();
    this.#timer?.cancel();
    for (const node of this.#distinct()) this.#letGo(node);
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

  /** Takes another list into use, once each of its servers was tried. */
  async #refresh(addresses: readonly NodeAddress[]): Promise<void> {
    if (this.#stopped) return;
    if (addresses.map(address => address.shown).join() === this.#nodes.map(node => node.address).join())
      return;
    const nodes = this.#nodesAt(addresses);
    await Promise.race([connectAll(nodes), this.#stopping.promise]);
    if (!this.#stopped) this.#use(nodes);
    else for (const node of nodes) this.#letGo(node);
  }

  /** The nodes of a list; those that are in use already are the same ones, with their connections. */
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
    for (const node of before) if (!nodes.includes(node)) this.#letGo(node);
  }

  #letGo(node: MemcachedNode): void {
    const leaving = this.#leave(node).finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }

  async #leave(node: MemcachedNode): Promise<void> {
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

/** Nodes that a log line or an error names. */
const MAX_SHOWN = 8;

/** A node as the settings or a DNS record name it. */
export interface NodeAddress {
  /** `host:port`, or the path of a unix socket; names the node in log lines, and orders the nodes of a record. */
  readonly shown: string;
  readonly target: NodeTarget;
}

/** A service in DNS: its targets. As `resolveSrv` of `node:dns` gives them. */
export type LookUpService = (
  name: string,
) => Promise<readonly { readonly name: string; readonly port: number }[]>;

/** Where the nodes are: a list that stays, or a DNS record that is asked again every `refreshMs` (0: never). */
export type NodeSource =
  | { readonly addresses: readonly NodeAddress[] }
  | { readonly record: string; readonly refreshMs: number; readonly lookUp: LookUpService };

/**
 * The nodes of a DNS record, in the order of their text: every instance that asks must come to the same order.
 * @throws Error with the reason when it cannot be asked or names nobody
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
