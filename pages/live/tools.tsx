import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../design/button.tsx';
import { Icon } from '../design/icon.tsx';
import { navigate, useRoute } from '../design/route.ts';
import { ThemeButton } from '../design/shell/theme-button.tsx';
import { useShortcuts } from '../design/shortcuts.ts';
import { ConnectionButton } from './connection.tsx';
import { SEARCH_VIEW, VIEWS } from './views.ts';

/** Search, updates, colors and help. */
export function Tools({ onHelp }: { readonly onHelp: () => void }) {
  return (
    <div class="shell-tools">
      {VIEWS[SEARCH_VIEW] !== undefined && <Search />}
      <ConnectionButton />
      <ThemeButton />
      <span class="hides-narrow">
        <Button kind="quiet" size="icon" label="Keys" onClick={onHelp}>
          <Icon name="help" />
        </Button>
      </span>
    </div>
  );
}

/** Searches the limits, or what the view shows, while the user types. */
function Search() {
  const { query } = useRoute();
  const input = useRef<HTMLInputElement>(null);
  const searched = VIEWS[query['view'] ?? '']?.searches ?? SEARCH_VIEW;
  const isThere = query['view'] === searched;
  const shown = isThere ? (query['q'] ?? '') : '';
  // A link or "back" may have changed it, but not while the user types.
  useEffect(() => {
    if (input.current !== null && document.activeElement !== input.current) input.current.value = shown;
  }, [shown]);
  useShortcuts({ '/': { help: `Search the ${searched}`, run: () => input.current?.select() } });
  const search = (text: string) =>
    navigate('/', { ...(isThere && query), view: searched, q: text, at: undefined }, { replace: isThere });
  return (
    <search class="search-box">
      <input
        ref={input}
        type="text"
        aria-label={`Search the ${searched}`}
        placeholder={`Search ${searched}`}
        autocomplete="off"
        spellcheck={false}
        maxLength={200}
        onInput={event => search(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key === 'Escape') event.currentTarget.blur();
        }}
      />
      <Icon name="search" />
      <span class="key" aria-hidden="true">
        /
      </span>
    </search>
  );
}
