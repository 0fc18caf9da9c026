import { Button } from '../design/button.tsx';
import { Icon } from '../design/icon.tsx';
import { navigate, useRoute } from '../design/route.ts';
import { SearchBox } from '../design/shell/search-box.tsx';
import { ThemeButton } from '../design/shell/theme-button.tsx';
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
  const searched = VIEWS[query['view'] ?? '']?.searches ?? SEARCH_VIEW;
  const isThere = query['view'] === searched;
  return (
    <SearchBox
      label={`Search the ${searched}`}
      placeholder={`Search ${searched}`}
      text={isThere ? (query['q'] ?? '') : ''}
      maxLength={200}
      onSearch={text =>
        navigate('/', { ...(isThere && query), view: searched, q: text, at: undefined }, { replace: isThere })
      }
    />
  );
}
