import { RedisReplyError } from '../../../clients/redis/errors.ts';
import { ADMISSION } from '../../admission/admission.ts';
import { Penalty, SKEW_S } from '../../admission/penalty.ts';
import { SlidingWindow } from '../../admission/sliding-window.ts';
import { TokenBucket } from '../../admission/token-bucket.ts';
import type { CounterBatch } from '../../batch.ts';
import { NO_STATE } from '../protocol/state-functions.ts';

/**
 * Reads the state of a slot that is no plain count, and returns its level. Of a sliding window, it also sets the floor and
 * the hits of the previous window, and of a limit with a penalty the state of the penalty.
 *
 * @param reply the bytes that Redis has; null if it has none
 */
export function presentLevel(batch: CounterBatch, slot: number, reply: unknown): number | RedisReplyError {
  const text = Buffer.isBuffer(reply) ? reply.toString('latin1') : '';
  const hasPenalty = batch.admissions.penalties.of(slot) !== null;
  const [counter, ...records] = hasPenalty ? text.split(';') : [text];
  if (hasPenalty && !takePenalty(batch, slot, records)) return new RedisReplyError(NO_STATE.penalty);
  const kind = batch.admissions.kinds[slot];
  const { form, fault, levelOf } = STATES[kind];
  const match = form.exec(counter);
  if (reply !== null && match === null) {
    return new RedisReplyError(hasPenalty && kind === ADMISSION.fixedWindow ? NO_STATE.penalty : fault);
  }
  return levelOf(batch, slot, match?.slice(1).map(part => Number(part ?? 0)) ?? [0, 0, 0]);
}

/** Sets the state of a penalty from what follows the state of the counter. False if it is not such a state. */
function takePenalty({ admissions, nowMs }: CounterBatch, slot: number, records: readonly string[]): boolean {
  const { penalties } = admissions;
  const state = new Penalty();
  if (records.length > 0) {
    const numbers = PENALTY.exec(records.join(';'))?.slice(1).map(Number);
    if (numbers === undefined) return false;
    const [violations, earlier, closesS, untilS] = numbers;
    state.set(violations, earlier, closesS, untilS);
    state.moveTo(nowMs, penalties.of(slot)!);
  }
  penalties.store(slot, state.violations, state.penalties, state.closesS, state.untilS);
  return true;
}

/** The texts that `admission-scripts.ts` writes. */
const WINDOW = /^([0-9]+) ([0-9]+) ([0-9]+)$/;
const BUCKET = /^([0-9]+) ?([0-9]*)$/;
const COUNT = /^([0-9]+) ([0-9]+)$/;
const PENALTY = /^([0-9]+) ([0-9]+) ([0-9]+) ([0-9]+)$/;

interface StateForm {
  readonly form: RegExp;
  /** The error for a text of another form. */
  readonly fault: string;
  /** @param numbers the numbers of the text; zeros if there is none */
  readonly levelOf: (batch: CounterBatch, slot: number, numbers: readonly number[]) => number;
}

/** By kind of admission. */
const STATES: Readonly<Record<number, StateForm>> = {
  [ADMISSION.slidingWindow]: { form: WINDOW, fault: NO_STATE.window, levelOf: levelOfWindow },
  [ADMISSION.tokenBucket]: { form: BUCKET, fault: NO_STATE.bucket, levelOf: levelOfBucket },
  [ADMISSION.fixedWindow]: { form: COUNT, fault: NO_STATE.count, levelOf: levelOfCount },
};

function levelOfWindow(batch: CounterBatch, slot: number, numbers: readonly number[]): number {
  const { admissions } = batch;
  const [startS, previous, current] = numbers;
  const window = new SlidingWindow();
  window.set(startS, previous, current);
  const level = window.moveTo(batch.nowMs, admissions.windowsS[slot]);
  admissions.floors[slot] = window.floor;
  admissions.previous[slot] = window.previous;
  return level;
}

function levelOfBucket(batch: CounterBatch, slot: number, numbers: readonly number[]): number {
  const { admissions } = batch;
  const [fullMs, rest] = numbers;
  const bucket = new TokenBucket();
  bucket.set(fullMs, rest);
  return bucket.levelAt(batch.nowMs, admissions.drains[slot], admissions.capacities[slot]);
}

function levelOfCount({ admissions, nowS }: CounterBatch, slot: number, numbers: readonly number[]): number {
  const [endS, count] = numbers;
  const isCurrent = endS > nowS && endS <= nowS + 2 * admissions.windowsS[slot] + SKEW_S;
  return isCurrent ? count : 0;
}
