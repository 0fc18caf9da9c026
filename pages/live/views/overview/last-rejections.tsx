import { useRef, useState } from 'preact/hooks';
import { Panel } from '../../../design/panel.tsx';
import { Empty } from '../../../design/states.tsx';
import { useLive } from '../../live-state.ts';
import { RejectionList } from '../../rejection-list.tsx';

/** As many as fit beside the plot. */
const COUNT = 6;

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
        <RejectionList rejections={shown.current.slice(0, COUNT)} onHold={hold} />
      )}
    </Panel>
  );
}
