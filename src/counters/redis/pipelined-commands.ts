import type { CounterBatch } from '../batch.ts';
import { type Chunk, groupStart, opsOf, slotsOf } from './chunks.ts';
import { type CountingCommands, countOf, type Tally, wholeNumber } from './counting-commands.ts';
import type { RedisLink } from './redis-link.ts';
import { RedisReplyError } from './reply-error.ts';

/** What is to be added to a key. */
interface Addition {
  readonly slot: number;
  readonly amount: number;
}

interface Replies {
  /** A number for each command; NaN where Redis answered an error. */
  readonly numbers: readonly number[];
  readonly failure: string;
}

/**
 * Counts by single commands, for proxies that spread keys over servers and for users who may not run scripts.
 *
 * Each key is counted exactly, but what is held back follows from counts that were read before: as the reference
 * implementation does, a limit may be passed by what others add in between.
 */
export class PipelinedCommands implements CountingCommands {
  readonly #link: RedisLink;

  constructor(link: RedisLink) {
    this.#link = link;
  }

  async increment(batch: CounterBatch, slots: Chunk): Promise<Tally> {
    const additions: Addition[] = [];
    for (let slot = slots.first; slot < slots.end; slot++) {
      additions.push({ slot, amount: batch.amounts[slot] });
    }
    const { numbers, failure } = await this.#add(batch, additions);
    let counted = 0;
    for (const [i, total] of numbers.entries()) {
      batch.totals[slots.first + i] = total;
      if (!Number.isNaN(total)) counted++;
    }
    return { counted, failure };
  }

  async holdBack(batch: CounterBatch, groups: Chunk): Promise<Tally> {
    const ops = opsOf(batch, groups);
    const { slots, places } = slotsOf(batch, ops);
    const read = await this.#read(batch, slots);
    const added = decideHeld(batch, { groups, places, counts: read.numbers });
    const additions = slots
      .map((slot, place) => ({ slot, amount: added[place] }))
      .filter((_addition, place) => !Number.isNaN(read.numbers[place]));
    const { numbers, failure } = await this.#add(batch, additions);
    const befores = new Float64Array(batch.slotCount).fill(Number.NaN);
    for (const [i, { slot, amount }] of additions.entries()) befores[slot] = numbers[i] - amount;
    let counted = 0;
    for (let op = ops.first; op < ops.end; op++) {
      const slot = batch.opSlots[op];
      if (batch.opHeld[op] === 0) befores[slot] += batch.opHits[op];
      batch.opAfters[op] = befores[slot];
      if (!Number.isNaN(befores[slot])) counted++;
    }
    return { counted, failure: read.failure || failure };
  }

  async #read(batch: CounterBatch, slots: readonly number[]): Promise<Replies> {
    const replies = await this.#link.sendAll(slots.map(slot => ['get', batch.keyText(slot)]));
    return numbersOf(replies, text => {
      if (text === null) return 0;
      return typeof text === 'string' && /^-?[0-9]+$/.test(text) ? Number(text) : Number.NaN;
    });
  }

  async #add(batch: CounterBatch, additions: readonly Addition[]): Promise<Replies> {
    const replies = await this.#link.sendAll(
      additions.flatMap(({ slot, amount }): [string, ...(string | number)[]][] => {
        const key = batch.keyText(slot);
        return [
          ['incrby', key, wholeNumber(amount)],
          ['expire', key, batch.ttls[slot]],
        ];
      }),
    );
    // A count without an end would be kept for ever, so a key whose time to live was refused is one that failed.
    const counts = additions.map((_addition, i) => {
      const [count, expiry] = replies.slice(2 * i, 2 * i + 2);
      return expiry instanceof RedisReplyError ? expiry : count;
    });
    return numbersOf(counts, countOf);
  }
}

interface HoldingBack {
  readonly groups: Chunk;
  /** By slot: the place of its count. */
  readonly places: Int32Array;
  /** Present counts; NaN for what cannot be counted. */
  readonly counts: readonly number[];
}

/** Fills in `opHeld` group by group, as the script does it, and returns what is added to each count. */
function decideHeld(batch: CounterBatch, { groups, places, counts }: HoldingBack): number[] {
  const added = counts.map(() => 0);
  const exceeds = (op: number): boolean => {
    const place = places[batch.opSlots[op]];
    return counts[place] + added[place] + batch.opHits[op] > batch.opLimits[op];
  };
  for (let group = groups.first; group < groups.end; group++) {
    const first = groupStart(batch, group);
    const end = groupStart(batch, group + 1);
    const held = batch.groupHeld[group] === 1;
    const full: boolean[] = [];
    for (let op = first; op < end; op++) full.push(!held && exceeds(op));
    const any = held || full.includes(true);
    for (let op = first; op < end; op++) {
      const isHeld = any && !full[op - first];
      batch.opHeld[op] = isHeld ? 1 : 0;
      if (!isHeld) added[places[batch.opSlots[op]]] += batch.opHits[op];
    }
  }
  return added;
}

function numbersOf(replies: readonly unknown[], numberOf: (reply: unknown) => number): Replies {
  let failure = '';
  const numbers = replies.map(reply => {
    if (reply instanceof RedisReplyError) {
      failure ||= reply.message;
      return Number.NaN;
    }
    const number = numberOf(reply);
    if (Number.isNaN(number)) failure ||= 'ERR value is not an integer or out of range';
    return number;
  });
  return { numbers, failure };
}
