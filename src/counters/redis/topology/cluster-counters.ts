import { Fault } from '../../../base/fault.ts';
import { forEachLimited } from '../../../base/for-each-limited.ts';
import {
  blamesKey,
  CommandTimeout,
  isUnknownScript,
  type RedisReplyError,
  refusesScripts,
} from '../../../clients/redis/errors.ts';
import type { CounterBatch } from '../../batch.ts';
import type { SlotChanges } from '../../slot-changes.ts';
import { joined, MAX_CHUNK, type RedisCounters, type Slots, type Tally } from '../commands/counters.ts';
import { divided, LEASES_NEED_SCRIPTS, NEEDS_SCRIPTS } from '../commands/division.ts';
import type { LeaseCalls } from '../commands/lease-calls.ts';
import type { SharedKeys } from '../commands/shared-keys.ts';
import { SingleCommands, type Step, type Steps } from '../commands/single-commands.ts';
import { refundBySteps, type StepRunner } from '../commands/without-scripts.ts';
import type { CountingServer, KeyServer } from '../connections/counting-server.ts';
import type { RedisLink } from '../connections/redis-link.ts';
import { TAG_END, TAG_START } from '../protocol/command-writer.ts';
import type { ClusterNode, ClusterNodes } from './cluster-nodes.ts';
import { hashSlot, type Redirect, readRedirect } from './slot-map.ts';

/** Maximum number of redirects for a key. */
const MAX_REDIRECTS = 5;

/** Steps that run a script, except refunds, which are possible without one. */
const SCRIPT_STEPS: ReadonlySet<Step> = new Set(['admit', 'loadAndAdmit', 'lease', 'loadAndLease']);

/** Keys of a batch that are sent to one node together. */
interface Group extends Steps {
  readonly node: ClusterNode;
}

/** A key that a node has redirected. */
interface Moved {
  readonly slot: number;
  readonly step: Step;
  readonly redirect: Redirect;
  readonly error: string;
}

/**
 * Counters in a Redis cluster. The keys of a batch are grouped by node, and each node receives one pipeline of single
 * commands: a script can only use keys of one hash slot, and nearly every key has a slot of its own.
 *
 * A node does not count a key that it redirects, so following the redirect counts nothing twice. If a node fails, only
 * its keys fail.
 */
export class ClusterCounters implements RedisCounters {
  readonly #nodes: ClusterNodes;
  readonly #single: SingleCommands;
  readonly #parallelism: number;

  /** @param parallelism maximum number of nodes that are asked concurrently; 0 for all */
  constructor(nodes: ClusterNodes, parallelism: number, sharedKeys: SharedKeys) {
    this.#nodes = nodes;
    this.#parallelism = parallelism === 0 ? Number.POSITIVE_INFINITY : parallelism;
    this.#single = new SingleCommands(sharedKeys);
  }

  get address(): string {
    return this.#nodes.address;
  }

  get feeds(): readonly CountingServer[] {
    return [this.#nodes.feed];
  }

  serverOf(key: Uint8Array): KeyServer {
    return this.#nodes.serverOf(hashSlot(key, 0, key.length));
  }

  start(): Promise<void> {
    return this.#nodes.start();
  }

  stop(): Promise<void> {
    return this.#nodes.stop();
  }

  async change(batch: CounterBatch, slots: Slots, changes: SlotChanges): Promise<Tally> {
    if (batch.refundCount === 0 && batch.admissions.count === 0)
      return this.#run(batch, 'add', slots, changes);
    const { added, refunded, admitted } = divided(batch, slots, changes);
    const round = new Round(this.#nodes, this.#single, batch, changes);
    const wanted = [
      { step: 'add', slots: added },
      { step: 'refund', slots: refunded },
      { step: 'admit', slots: admitted },
    ] as const;
    const tally = await round.run(wanted, this.#parallelism);
    if (round.scriptless.length === 0) return tally;
    this.#nodes.refusedScript();
    const run: StepRunner = (step, some, changes) => this.#run(batch, step, some, changes);
    return joined([tally, await refundBySteps(run, batch, Int32Array.from(round.scriptless), changes)]);
  }

  lease(batch: CounterBatch, slots: Slots, calls: LeaseCalls): Promise<Tally> {
    const round = new Round(this.#nodes, this.#single, batch, batch.changes, calls);
    return round.run([{ step: 'lease', slots }], this.#parallelism);
  }

  read(batch: CounterBatch, slots: Slots): Promise<Tally> {
    return this.#run(batch, 'read', slots, batch.changes);
  }

  remove(batch: CounterBatch, slots: Slots): Promise<Tally> {
    return this.#run(batch, 'remove', slots, batch.changes);
  }

  holdBack(): null {
    return null;
  }

  #run(batch: CounterBatch, step: Step, slots: Slots, changes: SlotChanges): Promise<Tally> {
    return new Round(this.#nodes, this.#single, batch, changes).run([{ step, slots }], this.#parallelism);
  }
}

/** One step for each of many keys, including their redirects. */
class Round {
  readonly #nodes: ClusterNodes;
  readonly #single: SingleCommands;
  readonly #batch: CounterBatch;
  readonly #changes: SlotChanges;
  readonly #calls: LeaseCalls | null;
  /** Slots whose node rejects scripts. */
  readonly scriptless: number[] = [];
  #moved: Moved[] = [];
  /** Slots whose node does not have the script that admits, by group. */
  #unloaded = new Map<Group, number[]>();
  #failure = '';
  #timedOut = false;

  constructor(
    nodes: ClusterNodes,
    single: SingleCommands,
    batch: CounterBatch,
    changes: SlotChanges,
    calls: LeaseCalls | null = null,
  ) {
    this.#calls = calls;
    this.#nodes = nodes;
    this.#single = single;
    this.#batch = batch;
    this.#changes = changes;
  }

  /** @param wanted one step for each slot */
  async run(
    wanted: readonly { readonly step: Step; readonly slots: Slots }[],
    parallelism: number,
  ): Promise<Tally> {
    let groups = wanted.flatMap(({ step, slots }) => this.#byOwner(step, slots));
    for (let redirects = 0; groups.length > 0; redirects++) {
      await forEachLimited(byNode(groups), parallelism, ([node, own]) => this.#ask(node, own));
      const moved = this.#moved;
      const unloaded = this.#unloaded;
      this.#moved = [];
      this.#unloaded = new Map();
      if (redirects === MAX_REDIRECTS) {
        for (const { slot, error } of moved) this.#fail(slot, error);
        for (const slots of unloaded.values()) for (const slot of slots) this.#fail(slot, this.#needsScripts);
        break;
      }
      groups = this.#byRedirect(moved);
      for (const [{ node, step, asking }, slots] of unloaded) {
        const loading = step === 'lease' ? 'loadAndLease' : 'loadAndAdmit';
        groups.push(this.#group(node, loading, slots, asking));
      }
      // The redirects may lead to new nodes.
      await Promise.all(groups.map(({ node }) => node.pool.connected()));
    }
    let counted = 0;
    for (const { slots } of wanted)
      for (const slot of slots) if (!Number.isNaN(this.#batch.counts[slot])) counted++;
    return { counted, failure: this.#failure, timedOut: this.#timedOut };
  }

  #byOwner(step: Step, slots: Slots): Group[] {
    const batch = this.#batch;
    const byNode = new Map<ClusterNode, number[]>();
    for (const slot of slots) {
      const hash = hashOf(batch, slot);
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
        this.#fail(
          slot,
          `the redirect of the Redis cluster at ${this.#nodes.address} was not followed: ${error}`,
        );
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
    const [changes, calls] = [this.#changes, this.#calls];
    return { node, step, slots: Int32Array.from(slots), changes, calls, asking };
  }

  /** Sends all groups of one node on one connection, which may be the only one. */
  async #ask(node: ClusterNode, groups: readonly Group[]): Promise<void> {
    let link: RedisLink;
    try {
      const lent = node.pool.lend();
      link = lent instanceof Promise ? await lent : lent;
    } catch (failure) {
      for (const { slots } of groups) this.#failAll(node, slots, failure);
      return;
    }
    try {
      await Promise.all(groups.map(group => this.#askOn(link, group)));
    } finally {
      node.pool.giveBack(link);
    }
  }

  /** Divides a group with very many keys into parts. */
  async #askOn(link: RedisLink, group: Group): Promise<void> {
    const { node, slots } = group;
    let first = 0;
    let refusal = '';
    try {
      for (; first < slots.length; first += MAX_CHUNK) {
        const part = { ...group, slots: slots.subarray(first, first + MAX_CHUNK) };
        await this.#single.run(link, this.#batch, part, (slot, reply, step) => {
          refusal ||= this.#take(group, slot, reply, step);
        });
      }
      if (refusal === '') node.pool.succeeded();
      else node.pool.failed(refusal);
    } catch (failure) {
      this.#failAll(node, slots.subarray(first), failure);
    }
  }

  /** Returns why the node refuses to count; empty if it counts, or refuses only this key. */
  #take(group: Group, slot: number, reply: number | RedisReplyError, step: Step): string {
    if (typeof reply === 'number') {
      // After `expire`, the count is known from the addition before.
      if (step !== 'expire') this.#batch.counts[slot] = reply;
      return '';
    }
    const { node } = group;
    const redirect = readRedirect(reply.message, node.host);
    // The error for an unknown script says that it did not run.
    if ((step === 'admit' || step === 'lease') && isUnknownScript(reply)) {
      const others = this.#unloaded.get(group);
      if (others === undefined) this.#unloaded.set(group, [slot]);
      else others.push(slot);
      return '';
    }
    if (SCRIPT_STEPS.has(step) && (refusesScripts(reply) || isUnknownScript(reply))) {
      this.#fail(slot, this.#needsScripts);
      return '';
    }
    // If the script is unknown although it was loaded just before, loading it was refused.
    if (step === 'refund' && (refusesScripts(reply) || isUnknownScript(reply))) {
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
    // After CLUSTERDOWN or LOADING the map may change soon.
    this.#nodes.refresh();
    return refusal;
  }

  /** Fails all slots, because the node does not reply. */
  #failAll(node: ClusterNode, slots: Slots, failure: unknown): void {
    if (!(failure instanceof Fault)) throw failure;
    this.#timedOut ||= failure.cause instanceof CommandTimeout;
    node.pool.failed(failure.message);
    // A replica may have taken its place.
    this.#nodes.refresh();
    for (const slot of slots) this.#fail(slot, failure.message);
  }

  get #needsScripts(): string {
    return this.#calls === null ? NEEDS_SCRIPTS : LEASES_NEED_SCRIPTS;
  }

  #fail(slot: number, failure: string): void {
    this.#batch.counts[slot] = Number.NaN;
    this.#failure ||= failure;
  }
}

/** The hash slot of the key of a slot, or of its two keys. */
function hashOf(batch: CounterBatch, slot: number): number {
  const [start, end] = [batch.keyStart(slot), batch.keyEnds[slot]];
  if (!batch.admissions.isLeased(slot)) return hashSlot(batch.keys.bytes, start, end);
  const name = Buffer.concat([TAG_START, batch.keys.bytes.subarray(start, end), TAG_END]);
  return hashSlot(name, 0, name.length);
}

function byNode(groups: readonly Group[]): [ClusterNode, Group[]][] {
  const found = new Map<ClusterNode, Group[]>();
  for (const group of groups) {
    const own = found.get(group.node);
    if (own === undefined) found.set(group.node, [group]);
    else own.push(group);
  }
  return [...found];
}
