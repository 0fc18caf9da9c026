import { useEffect, useRef } from 'preact/hooks';

/** What a key does. */
interface Shortcut {
  /** For the list of keys: `Search`. */
  readonly help: string;
  readonly run: () => void;
}

/** Shortcuts by `KeyboardEvent.key`. */
type Shortcuts = Readonly<Record<string, Shortcut>>;

/** The shortcuts of all components that are shown, the latest last. */
const active: { readonly current: Shortcuts }[] = [];

/**
 * Adds shortcuts while the component is shown. Those of the component that was shown last win. Keys do nothing while
 * the user types, holds a modifier, or has a dialog open.
 */
export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    if (active.length === 0) addEventListener('keydown', pressed);
    active.push(latest);
    return () => {
      active.splice(active.indexOf(latest), 1);
      if (active.length === 0) removeEventListener('keydown', pressed);
    };
  }, []);
}

/** All keys that do something now, with what they do. */
export function activeShortcuts(): ReadonlyMap<string, string> {
  const all = active.flatMap(({ current }) => Object.entries(current));
  return new Map(all.map(([key, { help }]) => [key, help]));
}

function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target instanceof Element && event.target.closest('input, textarea, select') !== null;
  if (typing || document.querySelector('dialog[open]') !== null) return;
  const found = active.findLast(({ current }) => current[event.key] !== undefined);
  if (found === undefined) return;
  event.preventDefault();
  found.current[event.key].run();
}
