import { ADMISSION, REFUSED } from '../../src/counters/admission/admission.ts';
import type { PenaltyTerms } from '../../src/counters/admission/penalty.ts';
import { type ExactLimit, exactLimit } from './admission-model.ts';
import type { TestGroup, TestOp } from './counting.ts';

/** What a store must say of an op. */
export interface ModelAnswer {
  readonly after: number;
  /** {@link REFUSED}. */
  readonly refused: number;
  readonly held: boolean;
  /** The second in which the penalty of the key ends; 0 if the op is not rejected because of one. */
  readonly untilS: number;
}

/** Everything that happened to a key, in seconds. */
interface History {
  readonly limit: ExactLimit;
  /** The ends of the violated windows since the last penalty. */
  violated: number[];
  /** The end of the last violated window, also of one before the last penalty. */
  lastViolatedS: number;
  /** The ends of all penalties that are not forgotten. */
  penalties: number[];
}

/** Limits with penalties, as docs/rules.md defines them, for requests one after the other. Time must run forward. */
export class PenaltyModel {
  readonly #histories = new Map<string, History>();

  admit(ops: readonly TestOp[], nowMs: number): ModelAnswer[] {
    return ops.map(op => this.#run(op, nowMs));
  }

  admitHoldingBack(group: TestGroup, nowMs: number): ModelAnswer[] {
    const refunds = group.ops.map(op => (op.isRefund ? this.#run(op, nowMs) : null));
    const full = group.ops.map(op => !op.isRefund && !group.held && !this.#admits(op, nowMs));
    const anyFull = group.held === true || full.includes(true);
    return group.ops.map((op, i) => {
      const isHeld = anyFull && !full[i];
      return refunds[i] ?? (isHeld ? this.#answer(op, nowMs, { held: true }) : this.#run(op, nowMs));
    });
  }

  #run(op: TestOp, nowMs: number): ModelAnswer {
    const { limit } = this.#historyOf(op, nowMs);
    const units = BigInt(op.hits) * BigInt(op.terms!.scale);
    if (op.isRefund) {
      limit.giveBack(BigInt(nowMs), units);
      return this.#answer(op, nowMs, {});
    }
    if (this.#admits(op, nowMs)) {
      limit.add(BigInt(nowMs), units);
      return this.#answer(op, nowMs, {});
    }
    if (op.hits > 0 && !this.#isPenalized(op, nowMs)) this.#violate(op, nowMs);
    const refused = this.#isPenalized(op, nowMs) ? REFUSED.penalized : REFUSED.full;
    return this.#answer(op, nowMs, { refused });
  }

  #answer(
    op: TestOp,
    nowMs: number,
    { refused = REFUSED.no, held = false }: Partial<ModelAnswer>,
  ): ModelAnswer {
    const { limit, penalties } = this.#historyOf(op, nowMs);
    const untilS = refused === REFUSED.penalized ? penalties.at(-1)! : 0;
    return { after: Number(limit.levelAt(BigInt(nowMs))), refused, held, untilS };
  }

  #admits(op: TestOp, nowMs: number): boolean {
    if (this.#isPenalized(op, nowMs)) return false;
    const level = this.#historyOf(op, nowMs).limit.levelAt(BigInt(nowMs));
    return level + BigInt(Math.max(op.hits, 1)) * BigInt(op.terms!.scale) <= BigInt(op.terms!.capacity);
  }

  #isPenalized(op: TestOp, nowMs: number): boolean {
    return (this.#historyOf(op, nowMs).penalties.at(-1) ?? 0) * 1_000 > nowMs;
  }

  #violate(op: TestOp, nowMs: number): void {
    const history = this.#historyOf(op, nowMs);
    if (history.lastViolatedS * 1_000 > nowMs) return;
    const { after, forS, factor, maxS, windowS } = op.terms!.penalty!;
    const isFixed = op.terms!.admission === ADMISSION.fixedWindow;
    const fullS = Math.ceil(nowMs / 1_000);
    const windowEndS = (Math.floor(nowMs / (windowS * 1_000)) + 1) * windowS;
    history.lastViolatedS = isFixed ? windowEndS : fullS + windowS;
    history.violated.push(history.lastViolatedS);
    if (history.violated.length < after) return;
    const lengthS = Math.min(forS * factor ** history.penalties.length, maxS);
    history.penalties.push(fullS + lengthS);
    history.violated = [];
  }

  #historyOf({ key, terms }: TestOp, nowMs: number): History {
    let history = this.#histories.get(key);
    if (history === undefined) {
      history = { limit: exactLimit(terms!), violated: [], lastViolatedS: 0, penalties: [] };
      this.#histories.set(key, history);
    }
    const { lastViolatedS, penalties } = history;
    if (nowMs >= (Math.max(lastViolatedS, penalties.at(-1) ?? 0) + quietS(terms!.penalty!)) * 1_000) {
      history.violated = [];
      history.penalties = [];
    }
    return history;
  }
}

function quietS({ maxS, windowS }: PenaltyTerms): number {
  return Math.max(maxS, windowS);
}
