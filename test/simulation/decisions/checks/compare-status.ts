import type { DescriptorStatus } from '../../../../src/messages/client-codec.ts';
import { MOST_IN_RESPONSE } from '../../../../src/messages/current-limit.ts';
import { OVER_LIMIT } from '../../../exam/decisions/examinee.ts';
import type { ExpectedStatus } from './expected-answer.ts';
import type { ExpectedDescriptor } from './expected-request.ts';
import type { Violation } from './violations.ts';

/** What is wrong with the status of a descriptor; null if nothing is. */
export function compareStatus(
  { isSeveral, parts, steered }: ExpectedDescriptor,
  expected: readonly ExpectedStatus[],
  status: DescriptorStatus | undefined,
): Violation | null {
  if (status === undefined) return { promise: 'one answer for each request', text: 'a status is missing' };
  const text = `the status is ${JSON.stringify(status)}`;
  const isOver = steered?.kind === 'ban' || expected.some(({ code }) => code === OVER_LIMIT);
  const [first] = expected;
  const isLimited = parts.some(({ limit }) => !limit.isUnlimited);
  if ((status.currentLimit === null) === isLimited) return { promise: 'new requests see new rules', text };
  if (isOver !== (status.code === OVER_LIMIT)) return { promise: brokenBy(expected), text };
  if (first === undefined || first.part === null) {
    const isFree = first !== undefined || steered?.kind === 'pass';
    const isRight = status.limitRemaining === (isFree ? MOST_IN_RESPONSE : 0);
    return isRight ? null : { promise: 'answers say what is left', text };
  }
  // Of several limits, another one may bind: which one is a matter of other tests.
  const shown = isSeveral
    ? expected.filter(each => each.part?.limit.name === status.currentLimit?.name)
    : expected;
  const differences = shown.map(each => differenceOf(each, status));
  const found = differences.includes(null) ? null : (differences[0] ?? 'the name of the limit');
  if (found === null) return null;
  const isOfRules = found === 'the limit' || found === 'the name of the limit';
  const promise = isOfRules ? 'new requests see new rules' : 'answers say what is left';
  return { promise, text: `${text}; ${found} is wrong, not ${shown.map(shownStatus).join(' or ')}` };
}

function brokenBy(expected: readonly ExpectedStatus[]): Violation['promise'] {
  const isLeased = expected.some(({ part }) => part?.op.lease !== undefined);
  const isOver = expected.some(({ code }) => code === OVER_LIMIT);
  const isGuessed = expected.some(({ part }) => part?.isUncounted);
  if (isGuessed) return 'the failure mode decides without the store';
  if (isLeased) return 'leases hold';
  return isOver ? 'limits hold' : 'no one is refused below the limit';
}

/** What is wrong with the figures of a status. */
function differenceOf({ part, remaining, resetMs }: ExpectedStatus, status: DescriptorStatus): string | null {
  const { requestsPerUnit, unit, name } = part!.limit;
  const { currentLimit, limitRemaining, durationUntilReset } = status;
  if (
    currentLimit!.requestsPerUnit !== Math.min(requestsPerUnit, MOST_IN_RESPONSE) ||
    currentLimit!.unit !== unit ||
    currentLimit!.name !== name
  )
    return 'the limit';
  if (limitRemaining !== Math.min(remaining, MOST_IN_RESPONSE)) return 'what is left';
  const isReset = resetMs === null || Math.round(durationUntilReset! * 1_000) === resetMs;
  return isReset ? null : 'the time until the reset';
}

function shownStatus({ part, code, remaining, resetMs }: ExpectedStatus): string {
  return JSON.stringify({
    code,
    remaining,
    resetMs,
    key: part?.op.key,
    requests: part?.limit.requestsPerUnit,
  });
}
