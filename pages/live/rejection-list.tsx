import { Chip } from '../design/chip.tsx';
import { formatCount } from '../design/format.ts';
import { Link } from '../design/route.ts';
import type { Refusal } from './api.ts';

interface RejectionListProps {
  /** The latest first. */
  readonly rejections: readonly Refusal[];
  /** Whether all of them are by the same limit, so that its name is left out. */
  readonly isOneLimit?: boolean;
  /** Called when the pointer or the focus enters or leaves the list, so that it can stand still meanwhile. */
  readonly onHold?: (isHeld: boolean) => void;
}

/** Rejections, a line each. */
export function RejectionList({ rejections, isOneLimit = false, onHold = () => {} }: RejectionListProps) {
  return (
    <ol
      class="rejections"
      onPointerEnter={() => onHold(true)}
      onPointerLeave={() => onHold(false)}
      onFocusIn={() => onHold(true)}
      onFocusOut={() => onHold(false)}
    >
      {rejections.map(refusal => (
        <Rejection key={keyOf(refusal)} refusal={refusal} isOneLimit={isOneLimit} />
      ))}
    </ol>
  );
}

interface RejectionProps {
  readonly refusal: Refusal;
  readonly isOneLimit: boolean;
}

function Rejection({ refusal, isOneLimit }: RejectionProps) {
  const { time, path, key, count, held = 0, most, shadow_mode, penalized, banned, peer } = refusal;
  const of = formatCount(most);
  return (
    <li
      class="rejection"
      title={[time, path, key, peer === null ? '' : `from ${peer}`].filter(Boolean).join('\n')}
    >
      <time dateTime={time} class="quiet">
        {CLOCK.format(Date.parse(time))}
      </time>
      <span class="rejection-what">
        <span class="one-line rejection-key">{key}</span>
        <span class="one-line small quiet">
          {isOneLimit ? (
            `from ${peer ?? 'an unknown peer'}`
          ) : path === '' ? (
            banned ? (
              'no rule'
            ) : (
              'limit of the request'
            )
          ) : (
            <Link query={{ view: 'limit', path }}>{path}</Link>
          )}
        </span>
      </span>
      <span class="rejection-count">
        {shadow_mode && <Chip kind="shadow">Shadow</Chip>}
        {penalized && <Chip kind="rejected">Penalized</Chip>}
        {banned ? (
          <Chip kind="rejected">Banned</Chip>
        ) : count === null ? (
          `over ${of}`
        ) : (
          `${formatCount(count)} of ${of}${held > 0 ? `, ${formatCount(held)} held` : ''}`
        )}
      </span>
    </li>
  );
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

function keyOf({ time, path, key, count, trace_id }: Refusal): string {
  return [time, path, key, count, trace_id].join('\n');
}
