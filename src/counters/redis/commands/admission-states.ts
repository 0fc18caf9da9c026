import { RedisReplyError } from '../../../clients/redis/errors.ts';
import { ADMISSION } from '../../admission/admission.ts';
import { SlidingWindow } from '../../admission/sliding-window.ts';
import { TokenBucket } from '../../admission/token-bucket.ts';
import type { CounterBatch } from '../../batch.ts';
import { NO_STATE } from '../protocol/admission-scripts.ts';

/**
 * Reads the state of a sliding window or token bucket, and returns its level. Of a window, it also sets the floor and the
 * hits of the previous window.
 *
 * @param reply the bytes that Redis has; null if it has none
 */
export function presentLevel(batch: CounterBatch, slot: number, reply: unknown): number | RedisReplyError {
  const text = Buffer.isBuffer(reply) ? reply.toString('latin1') : '';
  const isWindow = batch.admissions.kinds[slot] === ADMISSION.slidingWindow;
  const match = (isWindow ? WINDOW : BUCKET).exec(text);
  if (reply !== null && match === null)
    return new RedisReplyError(isWindow ? NO_STATE.window : NO_STATE.bucket);
  const numbers = match?.slice(1).map(part => Number(part ?? 0)) ?? [0, 0, 0];
  return isWindow ? levelOfWindow(batch, slot, numbers) : levelOfBucket(batch, slot, numbers);
}

/** The texts that `admission-scripts.ts` writes. */
const WINDOW = /^([0-9]+) ([0-9]+) ([0-9]+)$/;
const BUCKET = /^([0-9]+) ?([0-9]*)$/;

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
