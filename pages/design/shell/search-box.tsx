import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../icon.tsx';
import { useShortcuts } from '../shortcuts.ts';

interface SearchBoxProps {
  /** What is searched: `Search the limits`. */
  readonly label: string;
  /** The same in a word or two, inside the box. */
  readonly placeholder: string;
  /** The text that is searched now. */
  readonly text: string;
  readonly maxLength: number;
  /** Called at each change while the user types. */
  readonly onSearch: (text: string) => void;
}

/** A box to search in, which `/` leads to. */
export function SearchBox({ label, placeholder, text, maxLength, onSearch }: SearchBoxProps) {
  const input = useRef<HTMLInputElement>(null);
  // A link or "back" may have changed it, but not while the user types.
  useEffect(() => {
    if (input.current !== null && document.activeElement !== input.current) input.current.value = text;
  }, [text]);
  useShortcuts({ '/': { help: label, run: () => input.current?.select() } });
  return (
    <search class="search-box">
      <input
        ref={input}
        type="text"
        aria-label={label}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        maxLength={maxLength}
        onInput={event => onSearch(event.currentTarget.value)}
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
