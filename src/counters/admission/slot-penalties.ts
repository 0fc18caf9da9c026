import { doubleColumns } from '../../base/bytes.ts';
import { Penalty, type PenaltyTerms } from './penalty.ts';

const INITIAL_SLOTS = 64;

/**
 * The penalties of the slots of a batch, in columns with the numbers of the slots. The store sets the state of a slot from
 * before the batch; the ops are then applied to it one after the other.
 */
export class SlotPenalties {
  /** Number of slots with a penalty. While it is 0, no column has to be read, and none has memory. */
  count = 0;
  /** The columns of {@link Penalty}. */
  violations = new Float64Array(0);
  penalties = new Float64Array(0);
  closes = new Float64Array(0);
  untils = new Float64Array(0);
  readonly #terms: (PenaltyTerms | null)[] = [];
  readonly #state = new Penalty();

  /** Sets the terms of a new slot. */
  open(slot: number, terms: PenaltyTerms | null): void {
    if (terms === null) {
      if (slot < this.#terms.length) this.#terms[slot] = null;
      return;
    }
    this.count++;
    while (this.untils.length <= slot) this.#grow();
    while (this.#terms.length < slot) this.#terms.push(null);
    this.#terms[slot] = terms;
    this.store(slot, 0, 0, 0, 0);
  }

  /** The terms of a slot of `admissions`; null for a limit without a penalty. */
  of(slot: number): PenaltyTerms | null {
    return this.count === 0 || slot >= this.#terms.length ? null : this.#terms[slot];
  }

  /** Sets the state of a slot. */
  store(slot: number, violations: number, penalties: number, closesS: number, untilS: number): void {
    this.violations[slot] = violations;
    this.penalties[slot] = penalties;
    this.closes[slot] = closesS;
    this.untils[slot] = untilS;
  }

  /** Copies the state of a slot. */
  read(slot: number, state: Penalty): void {
    state.set(this.violations[slot], this.penalties[slot], this.closes[slot], this.untils[slot]);
  }

  /** Whether a slot with a penalty is penalized. */
  isActive(slot: number, nowMs: number): boolean {
    const state = this.#state;
    this.read(slot, state);
    return state.isActive(nowMs);
  }

  /**
   * Applies a request to a slot with a penalty. Returns whether it is rejected because of the penalty, which may begin with
   * it. A request without hits only asks, and is no violation.
   * @param endS the end of the window; 0 for a sliding window or a token bucket
   */
  decide(
    slot: number,
    {
      fits,
      hits,
      nowMs,
      endS,
    }: Readonly<Record<'hits' | 'nowMs' | 'endS', number>> & { readonly fits: boolean },
  ): boolean {
    const state = this.#state;
    this.read(slot, state);
    if (state.isActive(nowMs)) return true;
    if (fits || hits === 0) return false;
    state.reject(nowMs, this.#terms[slot]!, endS);
    this.store(slot, state.violations, state.penalties, state.closesS, state.untilS);
    return state.isActive(nowMs);
  }

  /** Copies the state of a slot of another batch. */
  copy(slot: number, from: SlotPenalties, slotFrom: number): void {
    if (from.of(slotFrom) === null) return;
    from.read(slotFrom, this.#state);
    const { violations, penalties, closesS, untilS } = this.#state;
    this.store(slot, violations, penalties, closesS, untilS);
  }

  #grow(): void {
    if (this.untils.length > 0) doubleColumns(this, ['violations', 'penalties', 'closes', 'untils']);
    else {
      this.violations = new Float64Array(INITIAL_SLOTS);
      this.penalties = new Float64Array(INITIAL_SLOTS);
      this.closes = new Float64Array(INITIAL_SLOTS);
      this.untils = new Float64Array(INITIAL_SLOTS);
    }
  }
}
