import { useEffect, useRef, useState } from 'preact/hooks';
import { Link, useRoute } from '../design/route.ts';
import { Brand } from '../design/shell/brand.tsx';
import { KeyList } from '../design/shell/key-list.tsx';
import { useShortcuts } from '../design/shortcuts.ts';
import { Empty } from '../design/states.tsx';
import { LostBar } from './connection.tsx';
import { useLive } from './live-state.ts';
import { ServiceFacts } from './service-facts.tsx';
import { Tools } from './tools.tsx';
import { VIEWS } from './views.ts';

/** What surrounds every view: the state of the service, navigation, search, and the list of keys. */
export function Shell() {
  const { query } = useRoute();
  const name = query['view'] ?? Object.keys(VIEWS)[0];
  const view = VIEWS[name];
  const { connection, status } = useLive();
  const [isHelpOpen, openHelp] = useState(false);
  const title = `${view?.name ?? 'No such view'} · Sluice`;
  useEffect(() => {
    document.title = connection === 'lost' ? `Connection lost · ${title}` : title;
  }, [title, connection]);
  const tabs = useRef<HTMLElement>(null);
  // On narrow screens, the tabs scroll.
  useEffect(() => {
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [name]);
  useShortcuts({ '?': { help: 'Show this list', run: () => openHelp(true) } });
  const View = view?.component;
  const isStale = connection === 'lost' || connection === 'paused';
  return (
    <>
      <header class="shell-head">
        <div class="shell-line">
          <Link query={{}} class="brand-link" label="Sluice, overview">
            <Brand name="Sluice" />
          </Link>
          <div class={isStale ? 'service-facts stale' : 'service-facts'}>
            <ServiceFacts />
          </div>
          <Tools onHelp={() => openHelp(true)} />
        </div>
        <nav ref={tabs} class="tabs" aria-label="Views">
          {Object.entries(VIEWS).map(
            ([key, { name: title, inNavigation = true, ofTasks = false }]) =>
              inNavigation &&
              (!ofTasks || status?.tasks.enabled === true) && (
                <Link key={key} query={{ view: key }} current={key === name}>
                  {title}
                </Link>
              ),
          )}
        </nav>
        <LostBar />
      </header>
      <main class={isStale ? 'view stale' : 'view'}>
        {View === undefined ? (
          <Empty title={`There is no view "${name}"`}>
            <Link query={{}}>Go to the overview</Link>
          </Empty>
        ) : (
          <View />
        )}
      </main>
      {isHelpOpen && <KeyList onClose={() => openHelp(false)} />}
    </>
  );
}
