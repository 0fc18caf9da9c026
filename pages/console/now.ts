import { useEffect, useState } from 'preact/hooks';

/** The time in milliseconds since the epoch. The component renders again every second, while the tab is visible. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
