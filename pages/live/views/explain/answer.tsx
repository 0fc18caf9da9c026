import type { ComponentChildren } from 'preact';
import { Chip } from '../../../design/chip.tsx';
import { formatCount } from '../../../design/format.ts';
import { Facts, Panel } from '../../../design/panel.tsx';
import { Link } from '../../../design/route.ts';
import { Time } from '../../../design/time.tsx';
import { descriptorText } from '../../descriptor.ts';
import type { ExplainedDescriptor, ExplainedLimit, ExplainedPart, Explanation } from './explanation.ts';

interface AnswerProps {
  readonly explanation: Explanation;
  /** Below the answer. */
  readonly children?: ComponentChildren;
}

/** The answer that the request would get, and the way through the rules of each descriptor. */
export function Answer({ explanation: { time, answer, descriptors }, children }: AnswerProps) {
  const isRejected = answer.overallCode === 'OVER_LIMIT';
  return (
    <div class="explain-answer" role="status">
      <p class="explain-verdict">
        {isRejected ? <Chip kind="rejected">Rejected</Chip> : <Chip kind="allowed">Allowed</Chip>}
        <span>
          {isRejected ? 'The request would be rejected now.' : 'The request would be allowed now.'} Nothing
          was counted.
        </span>
      </p>
      {descriptors.map((descriptor, i) => (
        <DescriptorAnswer key={i} atMs={Date.parse(time)} descriptor={descriptor} />
      ))}
      {children}
    </div>
  );
}

interface DescriptorAnswerProps {
  readonly atMs: number;
  readonly descriptor: ExplainedDescriptor;
}

function DescriptorAnswer({ atMs, descriptor }: DescriptorAnswerProps) {
  const { entries, why, levels, limit, limits, steering, status } = descriptor;
  const isOver = status.code === 'OVER_LIMIT';
  return (
    <Panel
      title={descriptorText(entries)}
      actions={<Chip kind={isOver ? 'rejected' : 'allowed'}>{isOver ? 'Over limit' : 'OK'}</Chip>}
    >
      <div class="definition">
        <ol class="levels" aria-label="The way through the rules">
          {levels.map(({ entry, rule, matched }, i) => (
            <li key={i}>
              <code class="break">{entry}</code>
              {rule === null ? (
                <span class="quiet">nothing matches</span>
              ) : (
                <span>
                  <code class="break">{rule}</code> <span class="quiet">{matched}</span>
                </span>
              )}
            </li>
          ))}
        </ol>
        <p>
          <Why text={why} />
        </p>
        {steering !== undefined && (
          <p>
            Changed by an operator: {steering.effect}, ends <Time iso={steering.until} nowMs={atMs} />.{' '}
            {steering.reason}
          </p>
        )}
        {limits === undefined
          ? limit !== undefined && <LimitFacts limit={limit} atMs={atMs} counting={descriptor} />
          : limits.map((part, i) => <Part key={i} atMs={atMs} part={part} />)}
      </div>
    </Panel>
  );
}

function Part({ part, atMs }: { readonly part: ExplainedPart; readonly atMs: number }) {
  return (
    <div class="explain-part">
      {part.binds && <Chip kind="neutral">Decides</Chip>}
      <LimitFacts limit={part.limit} atMs={atMs} counting={part} />
    </div>
  );
}

interface LimitFactsProps {
  /** The time of the explanation, in milliseconds since the epoch. */
  readonly atMs: number;
  readonly limit: ExplainedLimit;
  readonly counting: Pick<
    ExplainedPart,
    'key' | 'window' | 'count' | 'class' | 'penalty' | 'leases' | 'beyondLimit'
  >;
}

function LimitFacts({ limit, atMs, counting }: LimitFactsProps) {
  const { key, window, count, class: own, penalty, leases, beyondLimit } = counting;
  const {
    rule,
    requestsPerUnit,
    unit,
    window: length,
    algorithm,
    afterLimit,
    quota,
    scale = 1,
    shadowMode,
  } = limit;
  const per = windowText(length, unit);
  return (
    <Facts
      items={[
        [
          'Limit',
          rule === null ? 'of the request' : <Link query={{ view: 'limit', path: rule }}>{rule}</Link>,
        ],
        [
          'Allows',
          <>
            {`${formatCount(requestsPerUnit)} ${per}${algorithm === undefined || algorithm === 'fixed_window' ? '' : `, ${algorithm.replace('_', ' ')}`}`}{' '}
            {shadowMode && <Chip kind="shadow">Shadow</Chip>}
          </>,
        ],
        ...(count === undefined
          ? []
          : [
              [
                'Used',
                count === null
                  ? 'unknown: the store did not answer'
                  : `${formatCount(count.now / scale)}, ${formatCount(count.after / scale)} with this request`,
              ] as const,
            ]),
        ...(leases === undefined
          ? []
          : [['Leases', leasesText(leases, scale)] as const, ['This request', `${leases.step}.`] as const]),
        ...(window === undefined
          ? []
          : [
              [
                penalty?.penalizedUntil == null ? 'Window ends' : 'Penalty ends',
                <Time iso={new Date(atMs + window.resetSeconds * 1000).toISOString()} nowMs={atMs} />,
              ] as const,
            ]),
        ...(own === undefined
          ? []
          : [['Class', `${own.name ?? 'none'}: up to ${own.most} hits, ${own.share}`] as const]),
        ...(penalty === undefined ? [] : [['Penalty', penaltyText(penalty)] as const]),
        ...(afterLimit === undefined
          ? []
          : [['After the limit', afterLimitText(afterLimit, beyondLimit)] as const]),
        ...(quota === undefined
          ? []
          : [['Proxies get', `at most ${quota.share} of it, for ${quota.forSeconds}s each time`] as const]),
        ...(key === undefined ? [] : [['Counter', <code class="break">{key}</code>] as const]),
      ]}
    />
  );
}

function leasesText({ spent, held, count, firstEnds }: NonNullable<ExplainedPart['leases']>, scale: number) {
  const text = `${formatCount(held / scale)} held and ${formatCount(spent / scale)} spent`;
  const counted =
    count === undefined ? text : `${text}, ${formatCount(count)} ${count === 1 ? 'lease' : 'leases'}`;
  return firstEnds === null ? counted : `${counted}; the first one ends at ${firstEnds}`;
}

function windowText(window: string | undefined, unit: string): string {
  if (window === 'concurrency') return 'at the same time';
  return window === undefined ? `per ${unit.toLowerCase()}` : `in ${window}`;
}

function penaltyText({
  violations,
  after,
  penalties,
  penalizedUntil,
}: NonNullable<ExplainedPart['penalty']>) {
  const state =
    penalizedUntil === null ? `${violations} of ${after} violations` : `penalized until ${penalizedUntil}`;
  return `${state}, ${penalties} so far`;
}

function afterLimitText(share: string, beyond: ExplainedPart['beyondLimit']) {
  const text = `${share} of the hits pass`;
  if (beyond === undefined) return text;
  return `${text}; hit ${formatCount(beyond.hits)} ${beyond.passes ? 'passes' : 'does not pass'}`;
}

/** The reasons of the service begin in lower case, have names in backticks, and no period. */
function Why({ text }: { readonly text: string }) {
  const parts = text.split('`');
  return (
    <>
      {parts.map((part, i) =>
        i % 2 === 1 ? <code key={i}>{part}</code> : i === 0 ? capitalized(part) : part,
      )}
      .
    </>
  );
}

function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
