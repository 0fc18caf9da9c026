import { Fault } from '../../../base/fault.ts';
import {
  blamesKey,
  isUnknownScript,
  mayEndWithNewConnection,
  RedisReplyError,
  refusesScripts,
  shortened,
} from '../../../clients/redis/errors.ts';
import type { CounterBatch } from '../../batch.ts';
import type { SlotChanges } from '../../slot-changes.ts';
import {
  groupChunks,
  joined,
  MAX_CHUNK,
  NOTHING,
  type RedisCounters,
  type Slots,
  type Tally,
  uncounted,
} from '../commands/counters.ts';
import { divided, LEASES_NEED_SCRIPTS, NEEDS_SCRIPTS } from '../commands/division.ts';
import type { LeaseCalls } from '../commands/lease-calls.ts';
import { ScriptedCommands } from '../commands/scripted-commands.ts';
import type { SharedKeys } from '../commands/shared-keys.ts';
import { SingleCommands, type Step, type Steps } from '../commands/single-commands.ts';
import { refundBySteps, type StepRunner } from '../commands/without-scripts.ts';
import type { CountingServer, KeyServer } from '../connections/counting-server.ts';
import { type RedisPool, withServer } from '../connections/pool.ts';
import type { RedisLink } from '../connections/redis-link.ts';

/**
 * Counters in one Redis server. A batch is one command, unless it is very large. Then its parts are sent one after the
 * other, until one fails.
 */
export class ServerCounters implements RedisCounters {
  readonly #pool: RedisPool;
  readonly #scripted: ScriptedCommands;
  readonly #single: SingleCommands;

  constructor(pool: RedisPool, sharedKeys: SharedKeys) {
    this.#pool = pool;
    this.#scripted = new ScriptedCommands(sharedKeys);
    this.#single = new SingleCommands(sharedKeys);
  }

  get address(): string {
    return this.#pool.address;
  }

  get feeds(): readonly CountingServer[] {
    return [this.#pool.feed];
  }

  serverOf(): KeyServer {
    return this.#pool.keyServer;
  }

  start(): Promise<void> {
    return this.#pool.start();
  }

  stop(): Promise<void> {
    return this.#pool.stop();
  }

  change(batch: CounterBatch, slots: Slots, changes: SlotChanges): Promise<Tally> {
    return this.#using(link =>
      inParts(slots, part => {
        if (link.takesScripts) return this.#scripted.change(link, batch, part, changes);
        return this.#changeSingly(link, batch, part, changes);
      }),
    );
  }

  async #changeSingly(
    link: RedisLink,
    batch: CounterBatch,
    slots: Slots,
    changes: SlotChanges,
  ): Promise<Tally> {
    const run: StepRunner = (step, slots, changes) =>
      this.#singly(link, batch, { step, slots, changes, calls: null, asking: false });
    if (batch.admissions.count === 0 && batch.refundCount === 0) return run('add', slots, changes);
    const { added, refunded, admitted } = divided(batch, slots, changes);
    return joined([
      added.length === 0 ? NOTHING : await run('add', added, changes),
      refunded.length === 0 ? NOTHING : await refundBySteps(run, batch, refunded, changes),
      admitted.length === 0 ? NOTHING : uncounted(batch, admitted, NEEDS_SCRIPTS),
    ]);
  }

  lease(batch: CounterBatch, slots: Slots, calls: LeaseCalls): Promise<Tally> {
    return this.#using(link =>
      inParts(slots, part => {
        if (link.takesScripts) return this.#lease(link, batch, part, calls);
        return Promise.resolve(uncounted(batch, part, LEASES_NEED_SCRIPTS));
      }),
    );
  }

  async #lease(link: RedisLink, batch: CounterBatch, slots: Slots, calls: LeaseCalls): Promise<Tally> {
    const unloaded: number[] = [];
    const steps = { changes: batch.changes, calls, asking: false };
    const tally = await this.#singly(link, batch, { ...steps, step: 'lease', slots }, unloaded);
    if (unloaded.length === 0) return tally;
    const rest = { ...steps, step: 'loadAndLease', slots: Int32Array.from(unloaded) } as const;
    return joined([tally, await this.#singly(link, batch, rest)]);
  }

  read(batch: CounterBatch, slots: Slots): Promise<Tally> {
    return this.#each(() => 'read', batch, slots);
  }

  remove(batch: CounterBatch, slots: Slots): Promise<Tally> {
    // Without scripts, there may be a proxy that closes the connection on PUBLISH.
    return this.#each(link => (link.takesScripts ? 'remove' : 'removeQuietly'), batch, slots);
  }

  #each(stepOn: (link: RedisLink) => Step, batch: CounterBatch, slots: Slots): Promise<Tally> {
    const { changes } = batch;
    return this.#using(link =>
      inParts(slots, part =>
        this.#singly(link, batch, { step: stepOn(link), slots: part, changes, calls: null, asking: false }),
      ),
    );
  }

  holdBack(batch: CounterBatch): Promise<Tally> | null {
    if (!this.#pool.takesScripts) return null;
    return this.#using(async link => {
      const tallies: Tally[] = [];
      for (const groups of groupChunks(batch)) {
        tallies.push(checked(await this.#scripted.holdBack(link, batch, groups)));
      }
      return joined(tallies);
    });
  }

  /** @param unloaded receives the slots for which Redis does not have the script, which are no failure then */
  async #singly(
    link: RedisLink,
    batch: CounterBatch,
    steps: Steps,
    unloaded: number[] | null = null,
  ): Promise<Tally> {
    let counted = 0;
    let failure = '';
    await this.#single.run(link, batch, steps, (slot, reply, step) => {
      if (typeof reply === 'number') {
        batch.counts[slot] = reply;
        counted++;
        return;
      }
      if (unloaded !== null && isUnknownScript(reply)) {
        unloaded.push(slot);
        return;
      }
      // The addition was counted before setting the time to live failed.
      if (step === 'expire') counted--;
      batch.counts[slot] = Number.NaN;
      failure ||= reply.message;
    });
    return { counted, failure };
  }

  async #using(ask: (link: RedisLink) => Promise<Tally>): Promise<Tally> {
    let link: RedisLink | null = null;
    try {
      const lent = this.#pool.lend();
      link = lent instanceof Promise ? await lent : lent;
      const tally = checked(await ask(link));
      if (tally.failure === '') this.#pool.succeeded();
      else this.#failedInPart(link, tally.failure);
      return tally;
    } catch (failure) {
      throw this.#failed(link, failure);
    } finally {
      if (link !== null) this.#pool.giveBack(link);
    }
  }

  /** Handles a batch of which some keys were not counted. */
  #failedInPart(link: RedisLink, failure: string): void {
    const reason = shortened(failure);
    if (blamesKey(reason)) this.#pool.succeeded();
    else this.#pool.failed(reason);
    // A replica accepts a refund that changes nothing and rejects all other changes of the batch.
    if (mayEndWithNewConnection(reason)) link.renew(reason);
  }

  /** Returns the error of the batch. */
  #failed(link: RedisLink | null, failure: unknown): unknown {
    let cause = failure;
    if (link !== null && failure instanceof RedisReplyError) {
      const reason = shortened(failure.message);
      // Before the connection is renewed, because a new connection does not show that Redis counts again.
      if (!blamesKey(reason)) this.#pool.failed(withServer(link, reason));
      cause = refusal(link, failure);
    }
    if (cause instanceof Fault) this.#pool.failed(cause.message);
    return cause;
  }
}

function inParts(slots: Slots, ask: (part: Slots) => Promise<Tally>): Promise<Tally> {
  return slots.length <= MAX_CHUNK ? ask(slots) : partByPart(slots, ask);
}

async function partByPart(slots: Slots, ask: (part: Slots) => Promise<Tally>): Promise<Tally> {
  const tallies: Tally[] = [];
  for (let first = 0; first < slots.length; first += MAX_CHUNK) {
    tallies.push(checked(await ask(slots.subarray(first, first + MAX_CHUNK))));
  }
  return joined(tallies);
}

/** @throws RedisReplyError if nothing was counted, and not because of the keys */
function checked(tally: Tally): Tally {
  const { counted, failure } = tally;
  if (failure !== '' && counted === 0 && !blamesKey(failure)) throw new RedisReplyError(failure);
  return tally;
}

/** The fault of a batch of which no key is known to be counted. */
function refusal(link: RedisLink, failure: RedisReplyError): Fault {
  const reason = shortened(failure.message);
  // A new connection tests whether scripts are allowed.
  if ((link.takesScripts && refusesScripts(failure)) || mayEndWithNewConnection(reason)) link.renew(reason);
  return link.fault(reason);
}
