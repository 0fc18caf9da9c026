import { CopyBlock } from '../../../design/copy-block.tsx';
import { Facts, Panel } from '../../../design/panel.tsx';
import { Link } from '../../../design/route.ts';
import { useContents } from '../../contents.ts';
import { codesOf, PROBLEM_LIST, type ProblemEntry, pathOf } from '../../entries.ts';
import { Marked } from '../../marked.tsx';

/** What a problem means, and what to do about it. */
export function ProblemPage({ problem }: { readonly problem: ProblemEntry }) {
  const { operations } = useContents();
  const { code, status, title, meaning, remedy, example } = problem;
  const sources = operations.filter(entry => codesOf(entry).includes(code));
  return (
    <>
      <h1>{title}</h1>
      <Facts
        items={[
          ['Code', <code key="code">{code}</code>],
          ['Status', status],
        ]}
      />
      <Panel title="What has happened">
        <Marked text={meaning} />
      </Panel>
      <Panel title="What to do">
        <Marked text={remedy} />
      </Panel>
      <CopyBlock label="Example" text={JSON.stringify(example, null, 2)} />
      {/* Most problems are either of nearly all operations, or of a few. */}
      {sources.length > 0 && sources.length <= operations.length / 2 && (
        <Panel title="Operations that answer it" note={sources.length}>
          <ul class="docs-links-inline">
            {sources.map(entry => (
              <li key={entry.operation.operationId}>
                <Link to={pathOf(entry)} query={{}}>
                  {entry.method} {entry.path}
                </Link>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      <p>
        <Link to={PROBLEM_LIST} query={{}}>
          All problem codes
        </Link>
      </p>
    </>
  );
}
