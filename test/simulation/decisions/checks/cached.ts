import { KIND } from '../../../../src/decision/batch.ts';
import type { Round } from '../world/round.ts';
import type { ExpectedCounts } from './expected-counts.ts';
import type { ExpectedPart, ExpectedRequest } from './expected-request.ts';
import type { Report } from './violations.ts';

/** The local cache refuses only what the limit itself would refuse. */
export class CacheChecks {
  readonly #counts: ExpectedCounts;
  readonly #report: Report;
  /** By key: when it was refunded last. */
  readonly #refunds = new Map<string, number>();

  readonly #noticeMs: number;

  /** @param noticeMs how long an instance takes at most to hear of a refund */
  constructor(counts: ExpectedCounts, noticeMs: number, report: Report) {
    this.#counts = counts;
    this.#noticeMs = noticeMs;
    this.#report = report;
  }

  /** Sets which parts of a request have been answered by the local cache. */
  planned(round: Round, { descriptors }: ExpectedRequest, firstRow: number): void {
    const { decisions } = round.batch;
    for (const [i, { parts, isRefund }] of descriptors.entries()) {
      const row = firstRow + i;
      const isSeveral = decisions.kind[row] === KIND.several;
      for (const [number, part] of parts.entries()) {
        if (part.limit.isUnlimited) continue;
        const own = isSeveral ? rowOfPart(round, row, number) : row;
        part.isCached = decisions.kind[own] === KIND.limited && decisions.op[own] < 0;
        if (part.isCached) this.#check(round, part, isRefund);
      }
    }
  }

  /** The store has counted these. */
  counted(parts: readonly ExpectedPart[], atMs: number): void {
    for (const { op } of parts) if (op.isRefund) this.#refunds.set(op.key, atMs);
  }

  #check({ instance, plannedMs, nowMs }: Round, part: ExpectedPart, isRefund: boolean): void {
    if (this.#counts.isDoubtful(part)) {
      part.isDoubtful = true;
      return;
    }
    if (!isRefund && this.#counts.refuses(part, nowMs)) return;
    if (!isRefund && this.#isFresh(part.op.key, plannedMs)) return;
    this.#report(
      'the local cache refuses only what the limit refuses',
      `${instance} at ${plannedMs}: ${part.op.hits} hits of ${part.op.key}`,
    );
  }

  /** Whether the key was refunded a moment ago, of which the instance need not have heard yet. */
  #isFresh(key: string, plannedMs: number): boolean {
    const atMs = this.#refunds.get(key);
    return atMs !== undefined && plannedMs - atMs < this.#noticeMs;
  }
}

/** Rows of parts that were replaced have no limit. */
function rowOfPart({ batch: { decisions } }: Round, row: number, number: number): number {
  let left = number;
  let part = decisions.firstPart[row];
  const end = part + decisions.partCount[row];
  while (part < end && (decisions.kind[part] === KIND.none || left-- > 0)) part++;
  return part;
}
