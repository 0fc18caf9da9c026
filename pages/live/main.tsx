import { render } from 'preact';
import { applyStoredTheme } from '../design/shell/theme.ts';
import { LiveFeed } from './live-feed.ts';
import { LiveContext } from './live-state.ts';
import { Shell } from './shell.tsx';

applyStoredTheme();
const feed = new LiveFeed();
feed.start();
const root = document.getElementById('page');
if (root !== null) {
  render(
    <LiveContext.Provider value={feed}>
      <Shell />
    </LiveContext.Provider>,
    root,
  );
}
