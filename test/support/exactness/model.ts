import type { Call, Counter } from './load.ts';
import { haveOneOrder } from './order.ts';
import { passedInOrder, type Tally } from './tally.ts';

export interface ModelOptions {
  /** Hits of descriptors that are not over are not counted where another one of their call is over. */
  readonly holdsBack?: boolean;
  /** Whether calls are made whole, one after the other; else each counter is judged by itself. True unless given. */
  readonly wholeCalls?: boolean;
  /** Whether a call that failed with this text may have been counted all the same. Each may, unless told otherwise. */
  readonly mayBeCounted?: (error: string) => boolean;
}

/** What a sequential model makes of the calls of a load. */
export interface Verdict {
  /** Why the answers are not those of calls made one after the other; empty when they are. */
  readonly contradictions: readonly string[];
  readonly tallies: ReadonlyMap<Counter, Tally>;
}

/**
 * Whether the answers can be those of a service that makes one call after the other, whole calls, each caller's in its
 * order. Within its limit a counter's answers tell the count after each call, and so the interval of hits that each
 * took: the intervals must fill the counter from 0 on, without overlap and without a gap that is not of failed calls.
 * Whatever is over the limit comes after those, as no hit passes any more once the count is above the limit.
 */
export function examineCalls(calls: readonly Call[], options: ModelOptions = {}): Verdict {
  const contradictions: string[] = [];
  const tallies = new Map<Counter, Tally>();
  calls.forEach((call, number) => {
    const misfit = misfitOf(call);
    if (misfit === null) enter(tallies, call, number, options);
    else contradictions.push(`call ${number}: ${misfit}`);
  });
  for (const [counter, tally] of tallies) {
    const contradiction = contradictionOf(counter, tally);
    if (contradiction !== null) contradictions.push(`${counter.text}: ${contradiction}`);
  }
  const { wholeCalls = true } = options;
  if (wholeCalls && contradictions.length === 0 && !haveOneOrder(calls, [...tallies.values()])) {
    contradictions.push('each counter has an order, but there is none of whole calls that fits them all');
  }
  return { contradictions, tallies };
}

/** What is wrong with an answer by itself. */
function misfitOf({ asked, answer }: Call): string | null {
  if ('error' in answer) return null;
  const { told, overall } = answer;
  if (told.length !== asked.length) return `${asked.length} descriptors have ${told.length} statuses`;
  const isOver = told.some(each => each.code === 'OVER_LIMIT');
  if (overall !== (isOver ? 'OVER_LIMIT' : 'OK')) return `the overall code is ${overall}`;
  const wrong = told.findIndex(({ code, remaining }, i) => {
    if (code === 'OVER_LIMIT') return remaining !== 0 || asked[i].counter === null;
    return code !== 'OK';
  });
  return wrong < 0 ? null : `${asked[wrong].text} was told ${JSON.stringify(told[wrong])}`;
}

function enter(tallies: Map<Counter, Tally>, call: Call, number: number, options: ModelOptions): void {
  const { holdsBack = false, mayBeCounted = () => true } = options;
  const { asked, answer } = call;
  asked.forEach(({ counter, hits }, i) => {
    if (counter === null) return;
    const tally = tallies.get(counter) ?? { ops: [], answered: 0, uncertain: 0 };
    tallies.set(counter, tally);
    if ('error' in answer) {
      if (mayBeCounted(answer.error)) tally.uncertain += hits;
      return;
    }
    const { code, remaining } = answer.told[i];
    const isHeld = holdsBack && code === 'OK' && answer.overall === 'OVER_LIMIT';
    const added = isHeld ? 0 : hits;
    tally.ops.push({ call: number, hits: added, after: code === 'OK' ? counter.limit - remaining : null });
    tally.answered += added;
  });
}

function contradictionOf({ limit }: Counter, tally: Tally): string | null {
  let count = 0;
  let unclaimed = 0;
  for (const { hits, after } of passedInOrder(tally)) {
    const before = after - hits;
    if (before < count)
      return `${hits} hits were told the count ${after}, but ${count} is that of a call before`;
    unclaimed += before - count;
    count = after;
  }
  if (unclaimed > tally.uncertain) return `${unclaimed} hits below ${count} are those of no call`;
  const over = tally.ops.filter(op => op.after === null);
  const mostHits = Math.max(...over.map(op => op.hits), 0);
  if (over.length > 0 && count + tally.uncertain - unclaimed + mostHits <= limit)
    return `${mostHits} hits after ${count} are over the limit of ${limit}`;
  return null;
}
