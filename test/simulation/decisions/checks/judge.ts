import type { RateLimitResponse } from '../../../../src/messages/client-codec.ts';
import { OK, OVER_LIMIT } from '../../../exam/decisions/examinee.ts';
import type { History } from '../steps/step.ts';
import type { Answer, Call, Round, RoundWatcher } from '../world/round.ts';
import { TIMEOUT_MS } from '../world/store-link.ts';
import { NOTICE_MS, type World } from '../world/world.ts';
import { CacheChecks } from './cached.ts';
import { compareStatus } from './compare-status.ts';
import { countTotals, type ExpectedStatus, expectedStatuses } from './expected-answer.ts';
import { type Clocks, type CountedAt, ExpectedCounts } from './expected-counts.ts';
import { type ExpectedRequest, expectedRequest, partsOf } from './expected-request.ts';
import { OneOrderChecks } from './one-order.ts';
import { ExpectedStatistics } from './statistics.ts';
import type { Promised, Violation } from './violations.ts';

/** A batch waits for one before it, and then for the store; both can take the whole timeout, and a little more. */
const LONGEST_MS = 2 * TIMEOUT_MS + 1_000;
const MOST_VIOLATIONS = 20;

/** Watches a history from outside: what callers asked and were told, and what the store was asked in which order. */
export class Judge implements RoundWatcher {
  readonly violations: Violation[] = [];
  readonly statistics = new ExpectedStatistics();
  /** How often each kind of answer was given. */
  readonly seen = new Map<string, number>();
  readonly #history: History;
  readonly #counts: ExpectedCounts;
  /** By instance. */
  readonly #local = new Map<string, ExpectedCounts>();
  readonly #cached: CacheChecks;
  readonly #oneOrder: OneOrderChecks;

  constructor(history: History) {
    this.#history = history;
    const isOfServer = history.store === 'server';
    this.#counts = new ExpectedCounts(clocksOf(history));
    this.#oneOrder = new OneOrderChecks(history);
    this.#cached = new CacheChecks(this.#counts, isOfServer ? NOTICE_MS : 0, this.report);
  }

  readonly report = (promise: Promised, text: string): void => {
    if (this.violations.length < MOST_VIOLATIONS) this.violations.push({ promise, text });
  };

  planned(round: Round): void {
    const { batch, nowMs, rules, records } = round;
    const { holdsBack } = this.#history;
    const nowS = Math.floor(nowMs / 1_000);
    for (const [number, call] of round.calls.entries()) {
      const { request, isGone } = call;
      const expected = expectedRequest(request, { rules, records }, { nowS, holdsBack });
      round.expected.push(isGone ? { ...expected, descriptors: [] } : expected);
      if (isGone) continue;
      countTotals(expected, this.statistics.count);
      this.#oneOrder.planned(call, expected);
      this.#cached.planned(round, expected, batch.requests.firstDescriptor[number]);
    }
  }

  counted(round: Round, at: CountedAt, isUncountable: (key: string) => boolean): void {
    for (const expected of round.expected) {
      const asked = partsOf(expected).filter(({ isCached }) => !isCached);
      for (const part of asked) part.isUncounted = isUncountable(part.op.key);
      const countable = asked.filter(({ isUncounted }) => !isUncounted);
      this.#counts.count(expected, countable, at, 'counted');
      this.#cached.counted(countable, at.atMs);
    }
  }

  countedLocally(round: Round): void {
    const { instance, nowMs, store } = round;
    const counts = this.#local.get(instance) ?? new ExpectedCounts('one');
    this.#local.set(instance, counts);
    for (const expected of round.expected) {
      const parts = partsOf(expected).filter(
        ({ isCached, isUncounted }) => !isCached && (store !== 'answered' || isUncounted),
      );
      const hasLeases = parts.some(({ op }) => op.lease !== undefined);
      if (!hasLeases) counts.count(expected, parts, { nowMs, leasesMs: nowMs }, 'countedLocally');
    }
  }

  answered(round: Round): void {
    const { store, instance, plannedMs } = round;
    for (const [number, call] of round.calls.entries()) {
      const expected = round.expected[number];
      const parts = partsOf(expected);
      const needsStore = parts.some(({ isCached }) => !isCached);
      if (store !== 'answered') for (const part of parts) part.isUncounted = true;
      if (needsStore && store === 'unasked' && !round.isExcused)
        this.report('the store is asked when it is well', `${instance} did not ask it at ${plannedMs}`);
      this.#answeredCall(round, call, expected);
    }
  }

  /** To be asked when nothing happens any more. */
  finish(world: World): void {
    for (const call of world.calls) {
      const { answers, askedMs, isLost, instance } = call;
      const what = `${instance} was asked at ${askedMs}`;
      if (answers.length > 1 || (answers.length === 0 && !isLost))
        this.report('one answer for each request', `${what}, and answered ${answers.length} times`);
      const lastedMs = (answers[0]?.atMs ?? askedMs) - askedMs;
      if (lastedMs > LONGEST_MS)
        this.report('one answer for each request', `${what}, and answered after ${lastedMs} ms`);
    }
    for (const { logger, name, isAlive } of world.lives) {
      if (!isAlive) this.statistics.doubt = 'an instance has died';
      for (const { message, fields } of logger.at('error'))
        this.report('no bug is logged', `${name}: ${message} ${JSON.stringify(fields).slice(0, 600)}`);
    }
    if (this.#oneOrder.finish(this.report)) this.#see('all of a history in one order');
    this.statistics.finish(world, this.report);
  }

  #answeredCall(round: Round, call: Call, expected: ExpectedRequest): void {
    const [answer] = call.answers;
    if (answer === undefined) return;
    const { failureMode: mode } = this.#history;
    const nowS = Math.floor(round.nowMs / 1_000);
    if (partsOf(expected).some(({ isDoubtful }) => isDoubtful))
      this.statistics.doubt = 'a clock was set back';
    const isLost =
      round.store === 'failed' && mode === 'error' && partsOf(expected).some(({ isCached }) => !isCached);
    const statuses = isLost ? null : expectedStatuses(expected, { nowS, mode, count: this.statistics.count });
    const what = `${round.instance} at ${round.plannedMs}: ${JSON.stringify(call.request)}`;
    if (call.isGone || statuses === null) {
      const code = call.isGone ? 'cancelled' : 'store_failed';
      this.#see(`fault ${code}`);
      if (!('fault' in answer) || answer.fault.code !== code)
        this.report('the failure mode decides without the store', `${what} has the answer ${shown(answer)}`);
      return;
    }
    if ('fault' in answer) {
      this.report('no one is refused below the limit', `${what} has the answer ${shown(answer)}`);
      return;
    }
    this.#compare(what, expected, statuses, answer.response);
  }

  #compare(
    what: string,
    expected: ExpectedRequest,
    statuses: readonly (readonly ExpectedStatus[])[],
    response: RateLimitResponse,
  ): void {
    if (partsOf(expected).some(({ isDoubtful }) => isDoubtful)) {
      this.#see('nobody can say');
      return;
    }
    for (const [i, descriptor] of expected.descriptors.entries()) {
      const difference = compareStatus(descriptor, statuses[i], response.statuses[i]);
      for (const { part, code } of statuses[i]) this.#see(kindOf(part, code));
      if (descriptor.steered !== null) this.#see(`${descriptor.steered.kind} of an operator`);
      if (difference !== null) this.report(difference.promise, `${what}: ${difference.text}`);
    }
    const overall = this.#overallCode(expected, response);
    if (overall !== response.overallCode)
      this.report(
        overall === OVER_LIMIT ? 'limits hold' : 'no one is refused below the limit',
        `${what}: the overall code is ${response.overallCode}`,
      );
  }

  /** A request is over its limit if a descriptor is, or if all of its quotas are. */
  #overallCode({ descriptors }: ExpectedRequest, { statuses }: RateLimitResponse): number {
    const { shadow, quota } = this.#history.modes;
    const isOver = (i: number) => statuses[i].code === OVER_LIMIT;
    const isQuota = descriptors.map(({ parts, steered }, i) => {
      if (steered !== null && steered.kind !== 'pass beside a ban') return false;
      if (parts.some(({ limit }) => limit.isUnlimited)) return false;
      if (quota) return true;
      const shownPart = parts.find(({ limit }) => limit.name === statuses[i].currentLimit?.name) ?? parts[0];
      return isOver(i) ? shownPart?.limit.isQuota === true : parts.some(({ limit }) => limit.isQuota);
    });
    const numbers = [...descriptors.keys()];
    const quotas = numbers.filter(i => isQuota[i]);
    const isRefused =
      numbers.some(i => !isQuota[i] && isOver(i)) || (quotas.length > 0 && quotas.every(isOver));
    return isRefused && !shadow ? OVER_LIMIT : OK;
  }

  #see(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }
}

function clocksOf({ store, aheadMs, steps }: History): Clocks {
  if (store === 'threads') return 'one';
  const areDifferent = aheadMs.some(ms => ms !== aheadMs[0]) || steps.some(step => step.do === 'clock');
  return areDifferent ? 'different' : 'equal';
}

function shown(answer: Answer): string {
  return 'fault' in answer
    ? `${answer.fault.code}: ${answer.fault.message}`
    : JSON.stringify(answer.response);
}

const ALGORITHMS = ['fixed window', 'sliding window', 'token bucket', 'admitted window', 'lease'];

function kindOf(part: ExpectedStatus['part'], code: number): string {
  if (part === null) return 'unlimited';
  const { op, limit, isCached, isUncounted, countedLocally, counted } = part;
  const algorithm = limit.afterLimit > 0 ? 'after the limit' : ALGORITHMS[op.terms?.admission ?? 0];
  const by = isCached
    ? 'cached'
    : isUncounted
      ? countedLocally === null
        ? 'without a count'
        : 'locally'
      : 'counted';
  const how = op.isRefund
    ? 'refund'
    : counted?.heldBack === true
      ? 'held back'
      : code === OK
        ? 'OK'
        : 'OVER_LIMIT';
  return `${algorithm} ${how} ${by}${limit.isShadow ? ' in shadow mode' : ''}`;
}
