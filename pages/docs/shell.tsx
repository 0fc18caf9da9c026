import { useEffect, useState } from 'preact/hooks';
import { Button } from '../design/button.tsx';
import { Icon } from '../design/icon.tsx';
import { Link, useRoute } from '../design/route.ts';
import { Brand } from '../design/shell/brand.tsx';
import { KeyList } from '../design/shell/key-list.tsx';
import { ThemeButton } from '../design/shell/theme-button.tsx';
import { useShortcuts } from '../design/shortcuts.ts';
import { START } from './entries.ts';
import { Navigation } from './navigation.tsx';
import { Search } from './search.tsx';
import { View } from './views/view.tsx';

/** What surrounds every page: search, navigation and colors. */
export function Shell() {
  const { path, query } = useRoute();
  const [isHelpOpen, openHelp] = useState(false);
  const [isUnfolded, unfold] = useState(false);
  useShortcuts({ '?': { help: 'Show this list', run: () => openHelp(true) } });
  useEffect(() => unfold(false), [path]);
  const isSearching = (query['q'] ?? '') !== '';
  return (
    <div class="docs">
      <header class="docs-head">
        <Link to={START} query={{}} class="brand-link" label="API, start">
          <Brand name="API" />
        </Link>
        <Search />
        <span class="shell-tools">
          <a class="hides-narrow" href="/">
            Console
          </a>
          <ThemeButton />
          <span class="hides-narrow">
            <Button kind="quiet" size="icon" label="Keys" onClick={() => openHelp(true)}>
              <Icon name="help" />
            </Button>
          </span>
          <span class="docs-fold">
            <Button pressed={isUnfolded} onClick={() => unfold(!isUnfolded)}>
              Contents
            </Button>
          </span>
        </span>
      </header>
      <div class={isUnfolded || isSearching ? 'docs-nav docs-nav-unfolded' : 'docs-nav'}>
        <Navigation />
      </div>
      <main class="view docs-view">
        <View path={path} />
      </main>
      {isHelpOpen && <KeyList onClose={() => openHelp(false)} />}
    </div>
  );
}
