import { navigate, useRoute } from '../design/route.ts';
import { SearchBox } from '../design/shell/search-box.tsx';

/** Narrows the navigation while the user types. */
export function Search() {
  const { path, query } = useRoute();
  return (
    <SearchBox
      label="Search paths, fields and problem codes"
      placeholder="Search"
      text={query['q'] ?? ''}
      maxLength={100}
      onSearch={text => navigate(path, { q: text }, { replace: true })}
    />
  );
}
