import { freePort } from './free-port.ts';
import { type RedisServer, startRedis } from './redis-server.ts';
import { during } from './server-process.ts';
import type { Teardown } from './stores.ts';
import { until } from './until.ts';

const HASH_SLOTS = 16_384;

/** A real Redis cluster of masters without replicas, each with its share of the hash slots. */
export class RedisCluster {
  readonly nodes: readonly RedisServer[];
  /** The nodes' names for each other, in the same order. */
  readonly ids: readonly string[];

  constructor(nodes: readonly RedisServer[], ids: readonly string[]) {
    this.nodes = nodes;
    this.ids = ids;
  }

  /** `host:port` of every node, as `KVCACHE_URL` takes them. */
  get address(): string {
    return this.nodes.map(node => node.address).join(',');
  }

  /** The node that has the key, by its number. */
  async owner(key: string): Promise<number> {
    return Math.floor(((await this.slot(key)) * this.nodes.length) / HASH_SLOTS);
  }

  async slot(key: string): Promise<number> {
    return Number(await this.nodes[0].command('CLUSTER', 'KEYSLOT', key));
  }

  /** Starts to move a slot: the node that has it sends questions for absent keys to the other one (ASK). */
  async startMoving(slot: number, from: number, to: number): Promise<void> {
    await this.nodes[to].command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', this.ids[from]);
    await this.nodes[from].command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', this.ids[to]);
  }

  /**
   * Ends a move that {@link startMoving} started. The receiving node is told first: it takes a higher epoch, so a
   * message that another node sent before cannot undo the move, after which every node would name another owner for
   * good.
   */
  async finishMoving(slot: number, to: number): Promise<void> {
    const others = this.nodes.filter((_, number) => number !== to);
    for (const node of [this.nodes[to], ...others]) {
      await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', this.ids[to]);
    }
  }

  /** Deletes all keys and gives the slot back to the node that had it. */
  async moveBack(slot: number, from: number, to: number): Promise<void> {
    await this.flush();
    await this.startMoving(slot, from, to);
    await this.finishMoving(slot, to);
  }

  /** Adds a replica of a node and waits until it has what the node has. Whoever adds it stops it. */
  async addReplica(of: number): Promise<RedisServer> {
    const busPort = await freePort();
    const replica = await startRedis({ args: clusterArgs(busPort) });
    try {
      await this.nodes[0].command('CLUSTER', 'MEET', '127.0.0.1', replica.port, busPort);
      await until(async () => String(await replica.command('CLUSTER', 'NODES')).includes(this.ids[of]));
      await replica.command('CLUSTER', 'REPLICATE', this.ids[of]);
      await until(async () =>
        String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
      );
      return replica;
    } catch (failure) {
      await replica.stop();
      throw failure;
    }
  }

  async flush(): Promise<void> {
    await Promise.all(this.nodes.map(node => node.command('FLUSHALL')));
  }

  /** Resolves when every node that runs finds the cluster complete. */
  async ok(): Promise<void> {
    const running = this.nodes.filter(node => node.pid > 0);
    await until(() => this.#isOk(running));
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map(node => node.stop()));
  }

  async #isOk(nodes: readonly RedisServer[]): Promise<boolean> {
    const infos = await Promise.all(nodes.map(node => node.command('CLUSTER', 'INFO')));
    return infos.every(info => {
      const text = String(info);
      return (
        text.includes('cluster_state:ok') &&
        text.includes(`cluster_slots_ok:${HASH_SLOTS}`) &&
        text.includes(`cluster_size:${this.nodes.length}`)
      );
    });
  }
}

interface ClusterOptions {
  readonly nodes?: number;
  readonly args?: readonly string[];
}

/** A cluster that is stopped with the test. */
export function clusterFor(t: Teardown, options?: ClusterOptions): Promise<RedisCluster> {
  return during(t, startCluster(options));
}

/**
 * Starts a cluster on loopback and waits until all its nodes find it complete. A node that is killed stays a member;
 * the others go on with the slots that they have.
 */
export async function startCluster({ nodes = 3, args = [] }: ClusterOptions = {}): Promise<RedisCluster> {
  const started: RedisServer[] = [];
  try {
    const busPorts: number[] = [];
    for (let number = 0; number < nodes; number++) {
      const busPort = await freePort();
      busPorts.push(busPort);
      started.push(await startRedis({ args: [...clusterArgs(busPort), ...args] }));
    }
    await Promise.all(started.map((node, number) => assignSlots(node, number, nodes)));
    await Promise.all(
      started.map((node, number) =>
        started[0].command('CLUSTER', 'MEET', '127.0.0.1', node.port, busPorts[number]),
      ),
    );
    const ids = await Promise.all(started.map(node => node.command('CLUSTER', 'MYID')));
    const cluster = new RedisCluster(started, ids.map(String));
    await cluster.ok();
    return cluster;
  } catch (failure) {
    await Promise.all(started.map(node => node.stop()));
    throw failure;
  }
}

function clusterArgs(busPort: number): string[] {
  return [
    ...['--cluster-enabled', 'yes', '--cluster-port', String(busPort)],
    // The usual port of the bus is 10 000 above, which may not exist.
    ...['--cluster-node-timeout', '15000', '--cluster-require-full-coverage', 'no'],
  ];
}

async function assignSlots(node: RedisServer, number: number, nodes: number): Promise<void> {
  const first = Math.ceil((number * HASH_SLOTS) / nodes);
  const end = Math.ceil(((number + 1) * HASH_SLOTS) / nodes);
  await node.command('CLUSTER', 'SET-CONFIG-EPOCH', number + 1);
  await node.command('CLUSTER', 'ADDSLOTSRANGE', first, end - 1);
}
