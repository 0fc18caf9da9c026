import { useEffect, useRef } from 'preact/hooks';
import { Link, useRoute } from '../design/route.ts';
import { useContents } from './contents.ts';
import { type Entry, PROBLEM_LIST, PROBLEMS, type ProblemEntry, pathOf, START } from './entries.ts';
import { MethodName } from './method-name.tsx';

/** Headings by tag; other tags are their own heading. */
const HEADINGS: Readonly<Record<string, string>> = { me: 'who am I', receivers: 'what receivers get' };

/** All pages, or those that match the search. */
export function Navigation() {
  const { operations, webhooks, problems } = useContents();
  const { path, query } = useRoute();
  const words = (query['q'] ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const isFound = (text: string) => words.every(word => text.includes(word));
  const entries = [...operations, ...webhooks].filter(entry => isFound(entry.words));
  const codes = words.length === 0 ? [] : problems.filter(problem => isFound(searchedIn(problem)));
  const tags = [...new Set(entries.map(({ tag }) => tag))];
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [path]);
  return (
    <nav ref={nav} aria-label="Contents">
      {words.length === 0 && (
        <ul class="docs-links">
          <li>
            <Link to={START} query={{}} current={path === START}>
              Start
            </Link>
          </li>
          <li>
            <Link to={PROBLEM_LIST} query={{}} current={path === PROBLEM_LIST}>
              Problem codes
            </Link>
          </li>
        </ul>
      )}
      {tags.map(tag => (
        <Group
          key={tag}
          heading={HEADINGS[tag] ?? tag}
          entries={entries.filter(entry => entry.tag === tag)}
        />
      ))}
      {codes.length > 0 && (
        <>
          <h2>problem codes</h2>
          <ul class="docs-links">
            {codes.map(({ code }) => (
              <li key={code}>
                <Link to={PROBLEMS + code} query={query} current={path === PROBLEMS + code}>
                  <code>{code}</code>
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
      {entries.length + codes.length === 0 && <p class="quiet">Nothing matches.</p>}
    </nav>
  );
}

interface GroupProps {
  readonly heading: string;
  readonly entries: readonly Entry[];
}

function Group({ heading, entries }: GroupProps) {
  const { path, query } = useRoute();
  return (
    <>
      <h2>{heading}</h2>
      <ul class="docs-links">
        {entries.map(entry => (
          <li key={entry.operation.operationId}>
            <Link to={pathOf(entry)} query={query} current={path === pathOf(entry)}>
              <MethodName method={entry.method} />
              <span class="docs-link-text" title={entry.operation.summary}>
                {entry.kind === 'webhook' ? entry.operation.summary : shortPath(entry)}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The path after what all paths of its group begin with. */
function shortPath({ path }: Entry): string {
  return path.replace(/^\/api\/v1/, '');
}

function searchedIn({ code, title, status }: ProblemEntry): string {
  return `${code} ${title} ${status}`.toLowerCase();
}
