import { CopyBlock } from '../../../design/copy-block.tsx';
import { Facts, Panel } from '../../../design/panel.tsx';
import { Link } from '../../../design/route.ts';
import { useContents } from '../../contents.ts';
import { PROBLEM_LIST, pathOf } from '../../entries.ts';
import { Marked } from '../../marked.tsx';
import { MethodName } from '../../method-name.tsx';

/** What the interface is, how to call it, and all of its operations. */
export function Start() {
  const { document, operations, webhooks } = useContents();
  const { info, components } = document;
  return (
    <>
      <div class="view-head">
        <h1>What can a program do here?</h1>
        <p class="quiet">
          {info.title} {info.version} · <a href="/api/v1/openapi.json">OpenAPI document</a>
        </p>
      </div>
      <Marked text={info.description} />
      <Panel title="Calls">
        <div class="docs-part">
          <CopyBlock
            label="Who am I?"
            text={`curl ${location.origin}/api/v1/me -H "Authorization: Bearer $SLUICE_TOKEN"`}
          />
          <Facts
            items={Object.entries(components.securitySchemes).map(([name, { description }]) => [
              name,
              <Marked key={name} text={description} />,
            ])}
          />
          <Marked text="Requests and responses are JSON. Times are RFC 3339 in UTC; durations are texts such as `90s` or `1h30m`, or numbers of seconds. A `POST` that is repeated with the same `Idempotency-Key` within a day gets the same response." />
          <p>
            Every error is a problem with a{' '}
            <Link to={PROBLEM_LIST} query={{}}>
              code
            </Link>
            ; its <code>type</code> leads to a page that explains it.
          </p>
        </div>
      </Panel>
      <Panel title="Operations" note={operations.length} flush>
        <ul class="operation-list">
          {[...operations, ...webhooks].map(entry => (
            <li key={entry.operation.operationId}>
              <MethodName method={entry.method} />
              <code>{entry.kind === 'webhook' ? 'your URL' : entry.path}</code>
              <Link to={pathOf(entry)} query={{}}>
                {entry.operation.summary}
              </Link>
            </li>
          ))}
        </ul>
      </Panel>
    </>
  );
}
