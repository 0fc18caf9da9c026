import { useRef, useState } from 'preact/hooks';
import { Chip } from '../../../design/chip.tsx';
import { formatCount } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { Link } from '../../../design/route.ts';
import { Empty } from '../../../design/states.tsx';
import type { Refusal } from '../../api.ts';
import { useLive } from '../../live-state.ts';

const COUNT = 10;

/** The latest rejections as they happen. They stand still while the pointer or the focus is on them. */
export function LastRejections() {
  const { rejections } = useLive();
  const [isHeld, hold] = useState(false);
  const shown = useRef(rejections);
  if (!isHeld) shown.current = rejections;
  return (
    <Panel title="Last rejections" note={isHeld ? 'paused while you read' : undefined} flush>
      {shown.current.length === 0 ? (
        <Empty title="Nothing was rejected">
          Requests over a limit appear here, with the key and the count. <code>sluice tail</code> prints them
          as well.
        </Empty>
      ) : (
        <ol
          class="rejections"
          onPointerEnter={() => hold(true)}
          onPointerLeave={() => hold(false)}
          onFocusIn={() => hold(true)}
          onFocusOut={() => hold(false)}
        >
          {shown.current.slice(0, COUNT).map(refusal => (
            <Rejection key={keyOf(refusal)} refusal={refusal} />
          ))}
        </ol>
      )}
    </Panel>
  );
}

function Rejection({ refusal }: { readonly refusal: Refusal }) {
  const { time, path, key, count, requests_per_unit, shadow_mode, penalized, peer } = refusal;
  const of = formatCount(requests_per_unit);
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
          {path === '' ? 'limit of the request' : <Link query={{ view: 'limit', path }}>{path}</Link>}
        </span>
      </span>
      <span class="rejection-count">
        {shadow_mode && <Chip kind="shadow">Shadow</Chip>}
        {penalized && <Chip kind="rejected">Penalized</Chip>}
        {count === null ? `over ${of}` : `${formatCount(count)} of ${of}`}
      </span>
    </li>
  );
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

function keyOf({ time, path, key, count, trace_id }: Refusal): string {
  return [time, path, key, count, trace_id].join('\n');
}
