import type { CounterBatch } from '../batch.ts';
import { CommandWriter, encodedWords } from './command-writer.ts';
import type { Slots } from './counters.ts';
import type { RedisLink } from './redis-link.ts';
import { RedisReplyError } from './reply-error.ts';

/**
 * What is done to a key: read it; add to it and set its time to live; or only the latter, where the addition was
 * answered before.
 */
export type Step = 'read' | 'add' | 'expire';

/** The same step for many slots. */
export interface Steps {
  readonly step: Step;
  readonly slots: Slots;
  /** By slot, for `add`. */
  readonly amounts: Float64Array;
  /** True for a node of a cluster that is about to get these keys: each command is announced. */
  readonly asking: boolean;
}

/** Called for each slot with what became of its step: a count (NaN for `expire`), or an error of Redis. */
export type OnReply = (slot: number, reply: number | RedisReplyError, step: Step) => void;

const ASKING = encodedWords('ASKING');
const GET = encodedWords('GET');
const INCRBY = encodedWords('INCRBY');
const EXPIRE = encodedWords('EXPIRE');

/**
 * Counts by single commands, for clusters, for proxies that spread keys over servers, and for users who may not run
 * scripts. Each key is counted exactly, but nothing is atomic over two keys.
 */
export class SingleCommands {
  readonly #writer = new CommandWriter();

  /** @throws Fault `store_failed` when the answers do not come */
  async run(link: RedisLink, batch: CounterBatch, steps: Steps, onReply: OnReply): Promise<void> {
    const { step, slots, asking } = steps;
    const perCommand = asking ? 2 : 1;
    const perSlot = step === 'add' ? 2 * perCommand : perCommand;
    const replies = await link.exchange(this.#encode(batch, steps), slots.length * perSlot);
    for (let i = 0; i < slots.length; i++) {
      const first = replies[i * perSlot + perCommand - 1];
      if (step === 'add') addReply(slots[i], first, replies[(i + 1) * perSlot - 1], onReply);
      else onReply(slots[i], step === 'read' ? presentCount(first) : errorOrNothing(first), step);
    }
  }

  #encode(batch: CounterBatch, { step, slots, amounts, asking }: Steps): Buffer {
    const writer = this.#writer;
    const begin = (words: number, name: Uint8Array, slot: number) => {
      if (asking) {
        writer.command(1);
        writer.encoded(ASKING);
      }
      writer.command(words);
      writer.encoded(name);
      writer.key(batch, slot);
    };
    for (const slot of slots) {
      if (step === 'read') {
        begin(2, GET, slot);
        continue;
      }
      if (step === 'add') {
        begin(3, INCRBY, slot);
        writer.number(amounts[slot]);
      }
      begin(3, EXPIRE, slot);
      writer.number(batch.ttls[slot]);
    }
    return writer.take();
  }
}

/** A count without an end would be kept for ever, so a key whose time to live was refused is one that failed. */
function addReply(slot: number, count: unknown, expiry: unknown, onReply: OnReply): void {
  if (count instanceof RedisReplyError) onReply(slot, count, 'add');
  else if (typeof count !== 'number') onReply(slot, NO_NUMBER, 'add');
  else {
    onReply(slot, count, 'add');
    if (expiry instanceof RedisReplyError) onReply(slot, expiry, 'expire');
  }
}

function presentCount(reply: unknown): number | RedisReplyError {
  if (reply === null) return 0;
  if (reply instanceof RedisReplyError) return reply;
  const text = Buffer.isBuffer(reply) ? reply.toString('latin1') : '';
  return /^-?[0-9]+$/.test(text) ? Number(text) : NO_NUMBER;
}

function errorOrNothing(reply: unknown): number | RedisReplyError {
  return reply instanceof RedisReplyError ? reply : Number.NaN;
}

const NO_NUMBER = new RedisReplyError('ERR value is not an integer or out of range');
