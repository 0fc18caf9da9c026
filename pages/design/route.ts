import { type ComponentChildren, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** What the address bar says. All of the state of a page is there, so that a link shows the same thing. */
export interface Route {
  readonly path: string;
  /** The first value of each parameter. */
  readonly query: Readonly<Record<string, string>>;
}

/** Parameters for a link. Those that are undefined or empty are left out. */
type RouteQuery = Readonly<Record<string, string | number | undefined>>;

/** Sent to this window by {@link navigate}, because the browser sends `popstate` only for back and forward. */
const NAVIGATED = 'sluice-navigated';

/** The route of the address bar. Components that use it render again when it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  useEffect(() => {
    const changed = () => setRoute(currentRoute());
    addEventListener('popstate', changed);
    addEventListener(NAVIGATED, changed);
    return () => {
      removeEventListener('popstate', changed);
      removeEventListener(NAVIGATED, changed);
    };
  }, []);
  return route;
}

/** Goes to a route. With `replace`, "back" skips the present one: for text that is being typed. */
export function navigate(
  path: string,
  query: RouteQuery,
  { replace = false }: { readonly replace?: boolean } = {},
): void {
  const address = addressOf(path, query);
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  if (!replace) scrollTo(0, 0);
  dispatchEvent(new Event(NAVIGATED));
}

interface LinkProps {
  /** A path; `/` if absent. */
  readonly to?: string;
  readonly query: RouteQuery;
  readonly class?: string;
  /** What it leads to, if its text does not say it. */
  readonly label?: string;
  /** Marks the link to what is shown now. */
  readonly current?: boolean;
  readonly children: ComponentChildren;
}

/** A link to a route of the same page. Opening it in another tab works as well. */
export function Link({ to = '/', query, class: className, label, current = false, children }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to, query);
  };
  return h(
    'a',
    {
      href: addressOf(to, query),
      class: className,
      'aria-label': label,
      'aria-current': current ? 'page' : undefined,
      onClick: follow,
    },
    children,
  );
}

function addressOf(path: string, query: RouteQuery): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? path : `${path}?${text}`;
}

function currentRoute(): Route {
  const query: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(location.search)) query[name] ??= value;
  return { path: location.pathname, query };
}
