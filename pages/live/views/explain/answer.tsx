import { Chip } from '../../../design/chip.tsx';
import { formatCount, formatDuration } from '../../../design/format.ts';
import { Facts, Panel } from '../../../design/panel.tsx';
import { Link } from '../../../design/route.ts';
import { descriptorText } from '../../descriptor.ts';
import type { ExplainedDescriptor, ExplainedLimit, ExplainedPart, Explanation } from './explanation.ts';

/** The answer that the request would get, and the way through the rules of each descriptor. */
export function Answer({ explanation: { answer, descriptors } }: { readonly explanation: Explanation }) {
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
        <DescriptorAnswer key={i} descriptor={descriptor} />
      ))}
    </div>
  );
}

function DescriptorAnswer({ descriptor }: { readonly descriptor: ExplainedDescriptor }) {
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
        <p>{sentence(why)}</p>
        {steering !== undefined && (
          <p>
            Changed by an operator: {steering.effect} until {steering.until}. {steering.reason}
          </p>
        )}
        {limits === undefined
          ? limit !== undefined && <LimitFacts limit={limit} counting={descriptor} />
          : limits.map((part, i) => <Part key={i} part={part} />)}
      </div>
    </Panel>
  );
}

function Part({ part }: { readonly part: ExplainedPart }) {
  return (
    <div>
      {part.binds && <Chip kind="neutral">Decides</Chip>}
      <LimitFacts limit={part.limit} counting={part} />
    </div>
  );
}

interface LimitFactsProps {
  readonly limit: ExplainedLimit;
  readonly counting: Pick<ExplainedPart, 'key' | 'window' | 'count' | 'penalty'>;
}

function LimitFacts({ limit, counting: { key, window, count, penalty } }: LimitFactsProps) {
  const { rule, requestsPerUnit, unit, window: length, algorithm, shadowMode } = limit;
  const per = length ?? unit.toLowerCase();
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
            {`${formatCount(requestsPerUnit)} per ${per}${algorithm === undefined || algorithm === 'fixed_window' ? '' : `, ${algorithm.replace('_', ' ')}`}`}{' '}
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
                  : `${formatCount(count.now)}, ${formatCount(count.after)} with this request`,
              ] as const,
            ]),
        ...(window === undefined
          ? []
          : [
              [
                penalty?.penalizedUntil == null ? 'Window ends' : 'Penalty ends',
                `in ${formatDuration(window.resetSeconds * 1000)}`,
              ] as const,
            ]),
        ...(penalty === undefined ? [] : [['Penalty', penaltyText(penalty)] as const]),
        ...(key === undefined ? [] : [['Counter', <code class="break">{key}</code>] as const]),
      ]}
    />
  );
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

/** The reasons of the service begin in lower case and name things in backticks. */
function sentence(why: string): string {
  const text = why.replaceAll('`', '');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
