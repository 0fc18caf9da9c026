import { Fault } from '../../base/fault.ts';
import type { CounterBatch } from '../batch.ts';
import type { SlotChanges } from '../slot-changes.ts';
import { MAX_CHUNK } from './chunks.ts';
import { type Redirect, readRedirect } from './cluster-map.ts';
import type { ClusterNode, ClusterNodes } from './cluster-nodes.ts';
import { joined, type RedisCounters, type Slots, type Tally } from './counters.ts';
import { hashSlot } from './hash-slot.ts';
import { refundBySteps, type StepRunner } from './refund-by-steps.ts';
import type { FeedSource } from './refund-feed.ts';
import { blamesKey, type RedisReplyError, refusesScripts } from './reply-error.ts';
import { SingleCommands, type Step, type Steps } from './single-commands.ts';
import type { SharedKeys } from './time-to-live.ts';

/** How often a key is looked for at another node. */
const MAX_REDIRECTS = 5;

/** Keys of a batch that one node is asked for together. */
interface Group extends Steps {
  readonly node: ClusterNode;
}

/** A key that is elsewhere, as a node said. */
interface Moved {
  readonly slot: number;
  readonly step: Step;
  readonly redirect: Redirect;
  readonly error: string;
}

/**
 * Counters in a Redis cluster. The keys of a batch are grouped by the node that has them, and each node is sent one
 * pipeline of single commands: a script may only name keys of one hash slot, and nearly every key has one of its own.
 *
 * A key that has moved was not counted where it was asked for, so asking elsewhere counts nothing twice. A node that
 * fails fails its own keys only.
 */
export class ClusterCounters implements RedisCounters {
  readonly #nodes: ClusterNodes;
  readonly #single: SingleCommands;
  readonly #parallelism: number;

  /** @param parallelism nodes that are asked at the same time; 0 for all */
  constructor(nodes: ClusterNodes, parallelism: number, sharedKeys: SharedKeys) {
    this.#nodes = nodes;
    this.#parallelism = parallelism === 0 ? Number.POSITIVE_INFINITY : parallelism;
    this.#single = new SingleCommands(sharedKeys);
  }

  get address(): string {
    return this.#nodes.address;
  }

  get feeds(): readonly FeedSource[] {
    return [this.#nodes.feed];
  }

  start(): Promise<void> {
    return this.#nodes.start();
  }

  stop(): Promise<void> {
    return this.#nodes.stop();
  }

  async change(batch: CounterBatch, slots: Slots, changes: SlotChanges): Promise<Tally> {
    if (batch.refundCount === 0) return this.#run(batch, 'add', slots, changes);
    const refunded = slots.filter(slot => changes.givesBack(slot));
    const others = slots.filter(slot => !changes.givesBack(slot));
    return joined(
      await Promise.all([this.#run(batch, 'add', others, changes), this.#refund(batch, refunded, changes)]),
    );
  }

  read(batch: CounterBatch, slots: Slots): Promise<Tally> {
    return this.#run(batch, 'read', slots, batch.changes);
  }

  holdBack(): null {
    return null;
  }

  /** By a script for each key, and where nodes refuse that, step by step. */
  async #refund(batch: CounterBatch, slots: Slots, changes: SlotChanges): Promise<Tally> {
    const round = new Round(this.#nodes, this.#single, batch, changes);
    const tally = await round.run('refund', slots, this.#parallelism);
    if (round.scriptless.length === 0) return tally;
    const run: StepRunner = (step, some, changes) => this.#run(batch, step, some, changes);
    return joined([tally, await refundBySteps(run, batch, Int32Array.from(round.scriptless), changes)]);
  }

  #run(batch: CounterBatch, step: Step, slots: Slots, changes: SlotChanges): Promise<Tally> {
    return new Round(this.#nodes, this.#single, batch, changes).run(step, slots, this.#parallelism);
  }
}

/** One question for many keys, with whatever redirects it needs. */
class Round {
  readonly #nodes: ClusterNodes;
  readonly #single: SingleCommands;
  readonly #batch: CounterBatch;
  readonly #changes: SlotChanges;
  /** Slots whose node refuses scripts. */
  readonly scriptless: number[] = [];
  #moved: Moved[] = [];
  #failure = '';

  constructor(nodes: ClusterNodes, single: SingleCommands, batch: CounterBatch, changes: SlotChanges) {
    this.#nodes = nodes;
    this.#single = single;
    this.#batch = batch;
    this.#changes = changes;
  }

  async run(step: Step, slots: Slots, parallelism: number): Promise<Tally> {
    let groups = this.#byOwner(step, slots);
    for (let redirects = 0; groups.length > 0; redirects++) {
      await eachOf(groups, parallelism, group => this.#ask(group));
      const moved = this.#moved;
      this.#moved = [];
      if (redirects === MAX_REDIRECTS) {
        for (const { slot, error } of moved) this.#fail(slot, error);
        break;
      }
      groups = this.#byRedirect(moved);
      // Some may be new.
      await Promise.all(groups.map(({ node }) => node.pool.connected()));
    }
    const counted = slots.reduce((sum, slot) => sum + (Number.isNaN(this.#batch.counts[slot]) ? 0 : 1), 0);
    return { counted, failure: this.#failure };
  }

  #byOwner(step: Step, slots: Slots): Group[] {
    const batch = this.#batch;
    const byNode = new Map<ClusterNode, number[]>();
    for (const slot of slots) {
      const hash = hashSlot(batch.keys.bytes, batch.keyStart(slot), batch.keyEnds[slot]);
      const node = this.#nodes.owner(hash);
      if (node === null) {
        this.#fail(slot, `no node of the Redis cluster at ${this.#nodes.address} has hash slot ${hash}`);
        continue;
      }
      const own = byNode.get(node);
      if (own === undefined) byNode.set(node, [slot]);
      else own.push(slot);
    }
    const groups = [...byNode].map(([node, own]) => this.#group(node, step, own, false));
    if (this.#failure !== '') this.#nodes.refresh();
    return groups;
  }

  #byRedirect(moved: readonly Moved[]): Group[] {
    const groups = new Map<string, { node: ClusterNode; step: Step; asking: boolean; slots: number[] }>();
    for (const { slot, step, redirect, error } of moved) {
      const node = this.#nodes.at(redirect.node);
      if (node === null) {
        this.#fail(slot, `the Redis cluster at ${this.#nodes.address} was not followed: ${error}`);
        continue;
      }
      const name = `${node.pool.address} ${step} ${redirect.asking}`;
      const group = groups.get(name) ?? { node, step, asking: redirect.asking, slots: [] };
      groups.set(name, group);
      group.slots.push(slot);
      if (!redirect.asking) this.#nodes.refresh();
    }
    return [...groups.values()].map(({ node, step, slots, asking }) =>
      this.#group(node, step, slots, asking),
    );
  }

  #group(node: ClusterNode, step: Step, slots: readonly number[], asking: boolean): Group {
    return { node, step, slots: Int32Array.from(slots), changes: this.#changes, asking };
  }

  /** Asks one node for its keys, in parts when they are very many. */
  async #ask(group: Group): Promise<void> {
    const { node, slots } = group;
    let first = 0;
    let refusal = '';
    try {
      const lent = node.pool.lend();
      const link = lent instanceof Promise ? await lent : lent;
      try {
        for (; first < slots.length; first += MAX_CHUNK) {
          const part = { ...group, slots: slots.subarray(first, first + MAX_CHUNK) };
          await this.#single.run(link, this.#batch, part, (slot, reply, step) => {
            refusal ||= this.#take(node, slot, reply, step);
          });
        }
      } finally {
        node.pool.giveBack(link);
      }
      if (refusal === '') node.pool.succeeded();
      else node.pool.failed(refusal);
    } catch (failure) {
      if (!(failure instanceof Fault)) throw failure;
      node.pool.failed(failure.message);
      // A replica may have taken its place.
      this.#nodes.refresh();
      for (const slot of slots.subarray(first)) this.#fail(slot, failure.message);
    }
  }

  /** Returns why the node refuses to count; empty when it does not, or only this key. */
  #take(node: ClusterNode, slot: number, reply: number | RedisReplyError, step: Step): string {
    if (typeof reply === 'number') {
      // Where only the time to live was set, the count is known since the addition.
      if (step !== 'expire') this.#batch.counts[slot] = reply;
      return '';
    }
    const redirect = readRedirect(reply.message, node.host);
    if (step === 'refund' && refusesScripts(reply)) {
      this.#batch.counts[slot] = Number.NaN;
      this.scriptless.push(slot);
      return '';
    }
    if (redirect !== null) {
      this.#moved.push({ slot, step, redirect, error: reply.message });
      return '';
    }
    if (blamesKey(reply.message)) {
      this.#fail(slot, reply.message);
      return '';
    }
    const refusal = `Redis at ${node.pool.address}: ${reply.message}`;
    this.#fail(slot, refusal);
    // CLUSTERDOWN, LOADING: the map may be another soon.
    this.#nodes.refresh();
    return refusal;
  }

  #fail(slot: number, failure: string): void {
    this.#batch.counts[slot] = Number.NaN;
    this.#failure ||= failure;
  }
}

/** Runs a task for each, at most so many at the same time. */
async function eachOf<T>(
  items: readonly T[],
  parallelism: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  if (items.length <= parallelism) {
    await Promise.all(items.map(run));
    return;
  }
  let next = 0;
  const runNext = async (): Promise<void> => {
    while (next < items.length) await run(items[next++]);
  };
  await Promise.all(Array.from({ length: parallelism }, runNext));
}
