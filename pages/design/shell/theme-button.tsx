import { Button } from '../button.tsx';
import { Icon, type IconName } from '../icon.tsx';
import { useShortcuts } from '../shortcuts.ts';
import { type Theme, useTheme } from './theme.ts';

const NEXT_THEME: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };
const THEME_ICONS: Readonly<Record<Theme, IconName>> = { system: 'screen', light: 'sun', dark: 'moon' };

/** Switches between the colors of the system, light and dark. */
export function ThemeButton() {
  const [theme, setTheme] = useTheme();
  const next = NEXT_THEME[theme];
  const change = () => setTheme(next);
  useShortcuts({ t: { help: 'Change the colors: system, light, dark', run: change } });
  return (
    <Button kind="quiet" size="icon" label={`Colors: ${theme}. Change to ${next}`} onClick={change}>
      <Icon name={THEME_ICONS[theme]} />
    </Button>
  );
}
