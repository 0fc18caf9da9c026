import { useEffect, useState } from 'preact/hooks';

/** `system` follows the setting of the operating system. */
export type Theme = 'system' | 'light' | 'dark';

const STORED = 'sluice-theme';

/** Sent to this window when the colors have changed, so that canvases are drawn again. */
export const THEME_CHANGED = 'sluice-theme-changed';

/** Applies the stored theme. Called before the first view, so that it does not flash in the other colors. */
export function applyStoredTheme(): void {
  apply(storedTheme());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
    dispatchEvent(new Event(THEME_CHANGED)),
  );
}

/** The theme, and a function that changes and stores it. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(storedTheme);
  useEffect(() => apply(theme), [theme]);
  const change = (next: Theme) => {
    try {
      localStorage.setItem(STORED, next);
    } catch {
      // Without storage the choice lasts until the page is loaded again.
    }
    setTheme(next);
  };
  return [theme, change];
}

function apply(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === 'system') delete dataset['theme'];
  else dataset['theme'] = theme;
  dispatchEvent(new Event(THEME_CHANGED));
}

function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(STORED);
    return stored === 'light' || stored === 'dark' ? stored : 'system';
  } catch {
    return 'system';
  }
}
