import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../design/icon.tsx';
import { navigate, useRoute } from '../design/route.ts';
import { useShortcuts } from '../design/shortcuts.ts';

/** Narrows the navigation while the user types. */
export function Search() {
  const { path, query } = useRoute();
  const input = useRef<HTMLInputElement>(null);
  const shown = query['q'] ?? '';
  // A link or "back" may have changed it, but not while the user types.
  useEffect(() => {
    if (input.current !== null && document.activeElement !== input.current) input.current.value = shown;
  }, [shown]);
  useShortcuts({ '/': { help: 'Search', run: () => input.current?.select() } });
  return (
    <search class="search-box">
      <input
        ref={input}
        type="text"
        aria-label="Search paths, fields and problem codes"
        placeholder="Search"
        autocomplete="off"
        spellcheck={false}
        maxLength={100}
        onInput={event => navigate(path, { q: event.currentTarget.value }, { replace: true })}
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
