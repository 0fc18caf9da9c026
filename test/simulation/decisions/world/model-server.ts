import { ADMISSION } from '../../../../src/counters/admission/admission.ts';
import { type CounterBatch, NEVER_FULL } from '../../../../src/counters/batch.ts';
import { LEASE_MODE, STEP } from '../../../../src/counters/leases/lease.ts';
import type { CountingTime, TestGroup, TestOp } from '../../../support/counting.ts';
import { type LeaseAnswer, LeaseModel } from '../../../support/lease-model.ts';
import { CountLives } from '../checks/count-lives.ts';

/**
 * A store like Redis, which shares no code with the stores of the product: it counts whole batches, one after the other, by
 * the model of the exams. Counters depend on the clocks of those that ask, and leases on its own.
 */
export class ModelServer {
  readonly #model = new LeaseModel();
  readonly #lives = new CountLives();

  /** Counts a batch, and writes the counts into it. Keys that cannot be counted get none. */
  count(
    batch: CounterBatch,
    { holdsBack, leasesMs }: { readonly holdsBack: boolean; readonly leasesMs: number },
    isUncountable: (key: string) => boolean,
  ): void {
    const isLost = Array.from({ length: batch.slotCount }, (_, slot) => isUncountable(batch.keyText(slot)));
    if (isLost.includes(true)) batch.failureText = 'the key is refused';
    let first = 0;
    for (let group = 0; group < batch.groupCount; group++) {
      const end = batch.groupEnds[group];
      const all = Array.from({ length: end - first }, (_, i) => first + i);
      for (const op of all) batch.opAfters[op] = Number.NaN;
      const ops = all.filter(op => !isLost[batch.opSlots[op]]);
      const asked = ops.map(op => this.#living(batch, op, testOp(batch, op, holdsBack)));
      this.#countGroup(batch, ops, { ops: asked, held: batch.groupHeld[group] === 1 }, leasesMs);
      first = end;
    }
  }

  #countGroup(batch: CounterBatch, ops: readonly number[], group: TestGroup, leasesMs: number): void {
    const { nowMs, nowS, expiries, opSlots } = batch;
    const leased = ops.filter(op => hasWindow(batch, op));
    const expiryS = Math.max(0, ...leased.map(op => expiries[opSlots[op]]));
    const time: CountingTime = { nowMs, nowS, leasesMs, ttlS: 0, expiryS };
    const answers = this.#model.decide([group], time);
    for (const [i, op] of ops.entries()) {
      const asked = group.ops[i];
      setAnswer(batch, op, asked, answers[i]);
      if (batch.admissions.isLeased(opSlots[op])) this.#setLease(batch, op, asked, answers[i], time);
      else if (asked.terms !== undefined) this.#setLeftOver(batch, op, asked);
    }
  }

  #living({ opSlots, nowS, expiries }: CounterBatch, op: number, asked: TestOp): TestOp {
    if (asked.terms !== undefined) return asked;
    const endS = expiries[opSlots[op]];
    const { key, isRefund } = asked;
    // Refunds do not change how long a count lives.
    const living = isRefund ? this.#lives.currentKeyOf(key, nowS) : this.#lives.keyOf(key, nowS, endS);
    return { ...asked, key: living };
  }

  #setLeftOver({ nowMs, admissions, opSlots }: CounterBatch, op: number, asked: TestOp): void {
    const { floor, previous } = this.#model.limitOf(asked).leftOver(BigInt(nowMs));
    admissions.floors[opSlots[op]] = Number(floor);
    admissions.previous[opSlots[op]] = Number(previous);
  }

  #setLease(
    { leases, opSlots }: CounterBatch,
    op: number,
    asked: TestOp,
    answer: LeaseAnswer,
    time: CountingTime,
  ): void {
    const slot = opSlots[op];
    const { held, endsMs, expired } = this.#model.level(asked, time)!;
    leases.steps[op] = STEP[answer.step!];
    leases.hits[op] = asked.hits;
    leases.spent[op] = answer.spent;
    leases.held[op] = answer.held;
    leases.slotHeld[slot] = held;
    leases.slotEndsMs[slot] = endsMs;
    leases.slotExpired[slot] += expired;
  }
}

/** Whether leases of the limit of an op belong to windows. */
function hasWindow({ admissions, leases, opSlots }: CounterBatch, op: number): boolean {
  const slot = opSlots[op];
  return admissions.isLeased(slot) && leases.of(slot).mode !== LEASE_MODE.concurrency;
}

function testOp(batch: CounterBatch, op: number, holdsBack: boolean): TestOp {
  const slot = batch.opSlots[op];
  const key = batch.keyText(slot);
  const [hits, isRefund] = [batch.opHits[op], batch.opRefunds[op] === 1];
  const limit = holdsBack ? batch.opLimits[op] : NEVER_FULL;
  const { terms } = batch.opFor(slot, { hits, isRefund, limit }, batch.opReserves[op]);
  const lease = batch.leaseOf(op);
  return {
    ...{ key, hits, isRefund, limit },
    ...(batch.admissions.kinds[slot] !== ADMISSION.count && terms != null && { terms }),
    ...(lease !== null && {
      lease: {
        action: lease.action,
        holder: Buffer.from(lease.bytes.subarray(lease.start, lease.end)).toString(),
      },
    }),
  };
}

function setAnswer(batch: CounterBatch, op: number, { hits, isRefund }: TestOp, answer: LeaseAnswer): void {
  batch.opAfters[op] = answer.after;
  batch.opRefused[op] = answer.refused ? 1 : 0;
  batch.opHeld[op] = answer.heldBack ? 1 : 0;
  const slot = batch.opSlots[op];
  const added = answer.heldBack ? 0 : isRefund ? -hits : hits;
  // Plain counts are told before the batch. Nothing of the product reads them of other limits.
  if (batch.admissions.kinds[slot] === ADMISSION.count) batch.counts[slot] = answer.after - added;
}
