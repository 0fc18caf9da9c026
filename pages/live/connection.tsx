import { useContext } from 'preact/hooks';
import { Button } from '../design/button.tsx';
import { formatDuration } from '../design/format.ts';
import { Icon } from '../design/icon.tsx';
import { useShortcuts } from '../design/shortcuts.ts';
import type { Connection, Live } from './live-feed.ts';
import { LiveContext, useLive } from './live-state.ts';

/** In place of the name of a state in the header. */
const WORDS: Readonly<Record<Connection, string>> = {
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Lost',
  paused: 'Paused',
};

/** Shows whether the figures are current, and pauses or resumes them. */
export function ConnectionButton() {
  const feed = useContext(LiveContext);
  const { connection } = useLive();
  const isPaused = connection === 'paused';
  const toggle = () => feed.pause(!isPaused);
  useShortcuts({ p: { help: 'Pause or resume the updates', run: toggle } });
  return (
    <span class={`connection connection-${connection}`}>
      <Button
        kind="quiet"
        label={isPaused ? 'Paused. Resume the updates' : `${WORDS[connection]}. Pause the updates`}
        onClick={toggle}
      >
        {isPaused ? <Icon name="play" /> : <span class="dot" aria-hidden="true" />}
        <span>{WORDS[connection]}</span>
      </Button>
    </span>
  );
}

/** Says since when the connection is lost, and what the figures below are then. Nothing otherwise. */
export function LostBar() {
  const live = useLive();
  const isLost = live.connection === 'lost';
  return (
    <>
      {isLost && (
        <div class="lost-bar">
          <p>
            <strong>{lostText(live)}</strong> Sluice does not answer: it may be stopped, or the network is
            interrupted. This page connects again by itself.
          </p>
        </div>
      )}
      {/* Announced when it changes, without the seconds. */}
      <p class="unseen" role="status">
        {isLost ? 'The connection is lost. The figures are old.' : ''}
      </p>
    </>
  );
}

function lostText({ receivedMs }: Live): string {
  if (receivedMs === 0) return 'No connection.';
  return `Connection lost for ${formatDuration(Date.now() - receivedMs)}; the figures are from before.`;
}
