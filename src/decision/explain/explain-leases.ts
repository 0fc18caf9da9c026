import { REFUSED } from '../../counters/admission/admission.ts';
import { LEASE_MODE, type LeaseTerms, STEP } from '../../counters/leases/lease.ts';
import type { LiveLease, SlotLeases } from '../../counters/store.ts';
import { lengthText } from '../../rules/rule-terms.ts';
import type { DecisionBatch } from '../batch.ts';

/** What the leases of a limit held before a request, and what the request does to them. */
export interface ExplainedLeases {
  /** The hits of the level that are spent, and those that leases hold. */
  readonly spent: number;
  readonly held: number;
  /** The number of leases; absent if the store cannot tell it. */
  readonly count?: number;
  /** When the first of them ends, in RFC 3339, UTC; null without leases. */
  readonly firstEnds: string | null;
  /** What the request would do, as a sentence. */
  readonly step: string;
  /** Whether the request ends a lease of its holder, and the hits that it frees by this. */
  readonly ends: boolean;
  readonly frees: number;
  /** The leases that end first, if they were asked for. */
  readonly listed?: readonly ExplainedHolder[];
}

/** A lease and its holder. */
interface ExplainedHolder {
  /** Empty for a lease without a holder. */
  readonly holder: string;
  readonly hits: number;
  /** In RFC 3339, UTC. */
  readonly ends: string;
}

/** What the leases of the slots of a batch held before it. */
export interface PresentLeases {
  /** By slot. */
  readonly held: Float64Array;
  /** By slot: milliseconds until the first lease ends; 0 without leases. */
  readonly endsMs: Float64Array;
  /** By slot: the leases; null if the store cannot list them. */
  readonly lists: readonly (SlotLeases | null)[];
  /** Whether leases are listed, and not only counted. */
  readonly areListed: boolean;
}

/** The leases of the limit in a row; null if the limit has none, and if the store could not read them. */
export function explainedLeases(
  { counters, decisions, nowMs }: DecisionBatch,
  row: number,
  { present, leases }: { readonly present: Float64Array; readonly leases: PresentLeases },
): ExplainedLeases | null {
  const terms = decisions.terms[row];
  const op = decisions.op[row];
  const slot = counters.opSlots[op];
  const level = present[slot];
  if (terms === null || terms.holders === null || Number.isNaN(level)) return null;
  const held = leases.held[slot];
  const endsMs = leases.endsMs[slot];
  const list = leases.lists[slot] ?? null;
  const isEnd = counters.leases.steps[op] === STEP.settle;
  return {
    spent: level - held,
    held,
    ...(list !== null && { count: list.count }),
    firstEnds: endsMs === 0 ? null : timeAt(nowMs + endsMs),
    step: stepText(counters, op, counters.leases.of(slot)),
    ends: isEnd,
    frees: isEnd ? counters.leases.held[op] : 0,
    ...(leases.areListed && list !== null && { listed: list.listed.map(each => holderOf(each, nowMs)) }),
  };
}

function holderOf({ holder, hits, endsMs }: LiveLease, nowMs: number): ExplainedHolder {
  return { holder, hits, ends: timeAt(nowMs + endsMs) };
}

function timeAt(ms: number): string {
  return new Date(ms).toISOString();
}

/** What an op does, or would do if its limit and those beside it had room. */
function stepText(counters: DecisionBatch['counters'], op: number, terms: LeaseTerms): string {
  const { leases, opHeld, opRefused } = counters;
  const isRefused = opRefused[op] !== REFUSED.no || opHeld[op] === 1;
  const text = textOf(leases.steps[op], leases.hits[op], leases.held[op], terms);
  return isRefused && leases.steps[op] !== STEP.ask ? `refused: there is no room to do it (${text})` : text;
}

function textOf(step: number, hits: number, held: number, terms: LeaseTerms): string {
  const isSlot = terms.mode === LEASE_MODE.concurrency;
  const length = lengthText(terms.forS);
  switch (step) {
    case STEP.ask:
      return 'only asks whether there is room';
    case STEP.take:
      if (isSlot) return `takes ${counted(hits, 'slot')} for ${length}`;
      return terms.mode === LEASE_MODE.once
        ? `spends ${counted(hits, 'hit')}, as the first call of the holder`
        : `holds ${counted(hits, 'hit')} for ${length}`;
    case STEP.spend:
      return `spends ${counted(hits, 'hit')} at once, because the request names no holder`;
    case STEP.settle:
      if (isSlot) return `frees ${counted(held, 'slot')} of the holder`;
      return terms.mode === LEASE_MODE.once
        ? 'counts nothing more for the holder'
        : `settles a lease of ${counted(held, 'hit')} with ${hits}`;
    case STEP.free:
      return `frees ${counted(hits, isSlot ? 'slot' : 'hit')} of the holder`;
    case STEP.extend:
      return `extends the lease: it ends ${length} from now on`;
    case STEP.giveBack:
      return `gives back ${counted(hits, 'spent hit')}`;
    case STEP.repeat:
      return 'does nothing: the same call has settled the lease before';
    default:
      return 'does nothing: the holder has no lease to end';
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
