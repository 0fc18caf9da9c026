import { Fault } from '../../base/fault.ts';
import type { CounterBatch } from '../batch.ts';
import { type Chunk, groupStart, opsOf, slotsOf } from './chunks.ts';
import { type CountingCommands, countOf, type Tally, wholeNumber } from './counting-commands.ts';
import type { RedisLink } from './redis-link.ts';
import { HOLD_BACK, INCREMENT, runScript, type Script } from './run-script.ts';

interface ScriptReply {
  readonly results: readonly unknown[];
  readonly failure: string;
}

/** Counts by scripts: one command for a chunk, which is atomic. */
export class ScriptedCommands implements CountingCommands {
  readonly #link: RedisLink;

  constructor(link: RedisLink) {
    this.#link = link;
  }

  async increment(batch: CounterBatch, slots: Chunk): Promise<Tally> {
    const args: (string | number)[] = [slots.end - slots.first];
    for (let slot = slots.first; slot < slots.end; slot++) args.push(batch.keyText(slot));
    for (let slot = slots.first; slot < slots.end; slot++) {
      args.push(wholeNumber(batch.amounts[slot]), batch.ttls[slot]);
    }
    const { results, failure } = await this.#run(INCREMENT, args, slots.end - slots.first);
    let counted = 0;
    for (let slot = slots.first; slot < slots.end; slot++) {
      const total = countOf(results[slot - slots.first]);
      batch.totals[slot] = total;
      if (!Number.isNaN(total)) counted++;
    }
    return { counted, failure };
  }

  async holdBack(batch: CounterBatch, groups: Chunk): Promise<Tally> {
    const ops = opsOf(batch, groups);
    const { results, failure } = await this.#run(HOLD_BACK, holdBackArguments(batch, groups), ops.count * 2);
    let counted = 0;
    for (let op = ops.first; op < ops.end; op++) {
      const at = (op - ops.first) * 2;
      const after = countOf(results[at]);
      batch.opAfters[op] = after;
      batch.opHeld[op] = results[at + 1] === 1 ? 1 : 0;
      if (!Number.isNaN(after)) counted++;
    }
    return { counted, failure };
  }

  async #run(script: Script, args: readonly (string | number)[], expected: number): Promise<ScriptReply> {
    const reply = await runScript(this.#link.send, script, args);
    if (!Array.isArray(reply) || reply.length !== expected + 1) {
      throw new Fault('store_failed', `Redis at ${this.#link.address} answered a script with something else`);
    }
    const failure: unknown = reply[expected];
    return { results: reply, failure: typeof failure === 'string' ? failure : '' };
  }
}

function holdBackArguments(batch: CounterBatch, groups: Chunk): (string | number)[] {
  const { slots, places } = slotsOf(batch, opsOf(batch, groups));
  const args: (string | number)[] = [slots.length];
  for (const slot of slots) args.push(batch.keyText(slot));
  for (const slot of slots) args.push(batch.ttls[slot]);
  for (let group = groups.first; group < groups.end; group++) {
    const first = groupStart(batch, group);
    const end = groupStart(batch, group + 1);
    args.push(batch.groupHeld[group], end - first);
    for (let op = first; op < end; op++) {
      args.push(places[batch.opSlots[op]] + 1, wholeNumber(batch.opHits[op]), batch.opLimits[op]);
    }
  }
  return args;
}
