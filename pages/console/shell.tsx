import { useEffect, useState } from 'preact/hooks';
import { Button } from '../design/button.tsx';
import { Chip } from '../design/chip.tsx';
import { Icon } from '../design/icon.tsx';
import { Link, useRoute } from '../design/route.ts';
import { Brand } from '../design/shell/brand.tsx';
import { KeyList } from '../design/shell/key-list.tsx';
import { ThemeButton } from '../design/shell/theme-button.tsx';
import { useShortcuts } from '../design/shortcuts.ts';
import { Empty, Forbidden } from '../design/states.tsx';
import { isAllowed, useSession } from './session.ts';
import { VIEWS } from './views.ts';

/** What surrounds every view: the account, the user, and the navigation. */
export function Shell() {
  const { me, end } = useSession();
  const { query } = useRoute();
  const name = query['view'] ?? Object.keys(VIEWS)[0];
  const view = VIEWS[name];
  const [isHelpOpen, openHelp] = useState(false);
  const title = `${view?.name ?? 'No such view'} · ${me.account.domain} · Sluice`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  useShortcuts({ '?': { help: 'Show this list', run: () => openHelp(true) } });
  return (
    <div class="console">
      <header class="console-head">
        <Link query={{}} class="brand-link" label={`${me.account.domain}, start`}>
          <Brand name={me.account.domain} />
        </Link>
        {me.account.status === 'suspended' && <Chip kind="near">suspended: read only</Chip>}
        <span class="console-user">
          <span class="one-line" title={me.user.email}>
            {me.user.name === '' ? me.user.email : me.user.name}
          </span>
          <Chip kind="neutral">{me.role}</Chip>
        </span>
        <span class="shell-tools">
          <ThemeButton />
          <span class="hides-narrow">
            <Button kind="quiet" size="icon" label="Keys" onClick={() => openHelp(true)}>
              <Icon name="help" />
            </Button>
          </span>
          <Button kind="quiet" onClick={() => end()}>
            Sign out
          </Button>
        </span>
      </header>
      <nav class="console-nav" aria-label="Views">
        {Object.entries(VIEWS).map(
          ([key, { name: label, under = key, needs }]) =>
            under === key &&
            isAllowed(me, needs) && (
              <Link key={key} query={{ view: key }} current={key === (view?.under ?? name)}>
                {label}
              </Link>
            ),
        )}
        <a href="/api/docs">API docs</a>
      </nav>
      <main class="view">
        <View name={name} />
      </main>
      {isHelpOpen && <KeyList onClose={() => openHelp(false)} />}
    </div>
  );
}

function View({ name }: { readonly name: string }) {
  const { me } = useSession();
  const view = VIEWS[name];
  if (view === undefined) {
    return (
      <Empty title={`There is no view "${name}"`}>
        <Link query={{}}>Go to the start</Link>
      </Empty>
    );
  }
  if (!isAllowed(me, view.needs)) {
    return (
      <Forbidden what={`${view.name}: your token does not allow this`}>
        It needs the scope <code>{view.needs}</code>, and the role of your user is {me.role}. An owner or
        admin of the account can change the role, or create a token with this scope.
      </Forbidden>
    );
  }
  const Component = view.component;
  return <Component />;
}
