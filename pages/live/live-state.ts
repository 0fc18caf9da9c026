import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { type Live, LiveFeed } from './live-feed.ts';

/** The feed of the page. */
export const LiveContext = createContext(new LiveFeed());

/** What the service has reported. The component renders again after each report, and at least every second. */
export function useLive(): Live {
  const feed = useContext(LiveContext);
  const [live, setLive] = useState(feed.live);
  useEffect(() => {
    setLive(feed.live);
    return feed.subscribe(() => setLive(feed.live));
  }, [feed]);
  return live;
}

/** The time of the service in milliseconds since the epoch, for relative times. */
export function useNow(): number {
  return useLive().nowMs;
}
