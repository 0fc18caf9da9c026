import { useEffect } from 'preact/hooks';
import { Link } from '../../design/route.ts';
import { type Contents, useContents } from '../contents.ts';
import { PROBLEM_LIST, PROBLEMS, pathOf, START } from '../entries.ts';
import { OperationPage } from './operation/operation-page.tsx';
import { WebhookPage } from './operation/webhook-page.tsx';
import { ProblemList } from './problem/problem-list.tsx';
import { ProblemPage } from './problem/problem-page.tsx';
import { Start } from './start/start.tsx';

/** The page at a path. */
export function View({ path }: { readonly path: string }) {
  const contents = useContents();
  const { title, page } = pageAt(path, contents);
  useEffect(() => {
    document.title = `${title} · API · Sluice`;
  }, [title]);
  return page;
}

function pageAt(path: string, { operations, webhooks, problems }: Contents) {
  const entry = [...operations, ...webhooks].find(each => pathOf(each) === path);
  if (entry !== undefined) {
    const Page = entry.kind === 'operation' ? OperationPage : WebhookPage;
    return { title: entry.operation.summary, page: <Page key={path} entry={entry} /> };
  }
  const problem = problems.find(({ code }) => PROBLEMS + code === path);
  if (problem !== undefined) return { title: problem.code, page: <ProblemPage problem={problem} /> };
  if (path === PROBLEM_LIST) return { title: 'Problem codes', page: <ProblemList /> };
  if (path === START || path === `${START}/`) return { title: 'Start', page: <Start /> };
  return { title: 'No such page', page: <NoSuchPage path={path} /> };
}

function NoSuchPage({ path }: { readonly path: string }) {
  return (
    <>
      <h1>There is no such page</h1>
      <p>
        The documentation has nothing at <code>{path}</code>.{' '}
        <Link to={START} query={{}}>
          Go to the start
        </Link>
      </p>
    </>
  );
}
