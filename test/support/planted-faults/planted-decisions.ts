import type { PlantedFault } from './planted.ts';

/** The same for decisions. Their files are below `src`. */
export const PLANTED_DECISIONS: readonly PlantedFault[] = [
  {
    name: 'a key that a batch has twice counts once',
    file: 'counters/slot-changes',
    from: 'const amount = this.amounts[slot] + hits;',
    to: 'const amount = hits;',
  },
  {
    name: 'the local cache keeps a refusal for one window too long',
    file: 'decision/evaluate',
    from: '+ decisions.resetMs[row];',
    to: '+ 2 * decisions.resetMs[row];',
  },
  {
    name: 'a refund is given back twice',
    file: 'counters/embedded/embedded-store',
    from: 'table.giveBack(cell, changes.refunds[slot]);',
    to: 'table.giveBack(cell, 2 * changes.refunds[slot]);',
  },
  {
    name: 'the local cache refuses by the limit from before a reload',
    file: 'decision/over-limit-cache',
    from: 'entry.requests === limit.requests &&\n            entry.most === limit.most',
    to: 'true',
  },
  {
    name: 'a thread decides by the rules from before a reload',
    file: 'decision/generations/rules-subscriber',
    from: 'Atomics.load(this.#published, 0) !== this.#number',
    to: 'false',
  },
  {
    name: 'requests are decided without the failure mode of the store',
    file: 'counters/guarded-store',
    from: 'leaveUncounted(batch, reason);\n        else if',
    to: ';\n        else if',
  },
  {
    name: 'a lease that has ended by itself keeps its hits',
    file: 'counters/embedded/leased-cells',
    from: 'freeHits(book, lease, book.hits(lease));\n            const keptMs',
    to: 'const keptMs',
  },
  {
    name: 'an answer that refuses is used for a second too long',
    file: 'decision/kept-refusals',
    from: 'kept.nowS === batch.nowS',
    to: 'kept.nowS >= batch.nowS - 1',
  },
  {
    name: 'the local cache does not hear of refunds',
    file: 'decision/over-limit-cache',
    from: 'this.marks.of(entry.word) === entry.mark',
    to: 'true',
  },
  {
    name: 'one quota that is used up refuses a request',
    file: 'decision/overall-code',
    from: 'quotas === quotasOver',
    to: 'quotasOver > 0',
  },
  {
    name: 'a refusal of the local cache holds nothing back',
    file: 'counters/embedded/embedded-store',
    from: 'const holdBack = held || anyFull;',
    to: 'const holdBack = anyFull;',
  },
  {
    name: 'a sliding window forgets the window before',
    file: 'counters/admission/sliding-window',
    from: 'this.floor = weightOf(this.previous, restMs, windowMs);',
    to: 'this.floor = 0;',
  },
  {
    name: 'a request that the store fails has no answer',
    file: 'decision/engine',
    from: 'batch.faults[request] = fault;\n                this.#refuse(batch, request, fault);',
    to: 'batch.faults[request] = fault;',
  },
  {
    name: 'hits of a request beyond its limit count twice in the statistics',
    file: 'decision/statistics/outcome',
    from: 'addTotal(row, base + RULE_STAT.overLimit, hitsOverLimit(outcome));',
    to: 'addTotal(row, base + RULE_STAT.overLimit, 2 * hitsOverLimit(outcome));',
  },
  {
    name: 'requests that need no store fail with those of their batch',
    file: 'decision/engine',
    from: 'if (asksStore[request])',
    to: '',
  },
  {
    name: 'what was refused during an outage is refused after it',
    file: 'decision/evaluate',
    from: 'overLimit === null || counters.isCountedElsewhere(decisions.op[row])',
    to: 'overLimit === null',
  },
  {
    name: 'a store that was lost is never asked again',
    file: 'counters/guarded-store',
    from: 'this.#reason = null;',
    to: '',
  },
  {
    name: 'a request with a ban uses up its other limits',
    file: 'decision/steer',
    from: 'if (anyBan)',
    to: 'if (false)',
  },
  {
    name: 'a descriptor is limited although another limit replaces its own',
    file: 'decision/plan',
    from: 'if (this.#replaced.has(',
    to: 'if (false && this.#replaced.has(',
  },
];
