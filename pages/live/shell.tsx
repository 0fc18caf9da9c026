import { useContext } from 'preact/hooks';
import { Link, useRoute } from '../design/route.ts';
import { Empty } from '../design/states.tsx';
import { LiveContext } from './live-state.ts';
import { VIEWS } from './views.ts';

/** What surrounds every view. */
export function Shell() {
  const { query } = useRoute();
  const name = query['view'] ?? Object.keys(VIEWS)[0];
  const View = VIEWS[name]?.component;
  useContext(LiveContext);
  return (
    <>
      <nav aria-label="Views">
        {Object.entries(VIEWS).map(
          ([view, { title }]) =>
            title !== undefined && (
              <Link key={view} query={{ view }} current={view === name}>
                {title}
              </Link>
            ),
        )}
      </nav>
      <main>{View === undefined ? <Empty title="There is no such view" /> : <View />}</main>
    </>
  );
}
