import { CopyBlock } from '../../../design/copy-block.tsx';
import { Panel } from '../../../design/panel.tsx';
import { useContents } from '../../contents.ts';
import { codesOf, type Entry, successesOf } from '../../entries.ts';
import { Marked } from '../../marked.tsx';
import { MethodName } from '../../method-name.tsx';
import { BodyPart } from './body-part.tsx';
import { curlOf } from './curl.ts';
import { ParameterList } from './parameter-list.tsx';
import { ProblemTable } from './problem-table.tsx';

/** An operation: how to call it, what it accepts, and what it answers. */
export function OperationPage({ entry }: { readonly entry: Entry }) {
  const { document } = useContents();
  const { method, path, operation } = entry;
  const { summary, description = '', parameters = [], requestBody } = operation;
  return (
    <>
      <h1>{summary}</h1>
      <p class="operation-line">
        <MethodName method={method} />
        <code>{path}</code>
      </p>
      <Marked text={description} />
      <CopyBlock label="curl" text={curlOf(document, entry)} />
      {parameters.length > 0 && (
        <Panel title="Parameters">
          <ParameterList document={document} parameters={parameters} />
        </Panel>
      )}
      {requestBody !== undefined && (
        <Panel title="Body" note={requestBody.required ? '' : 'optional'}>
          <BodyPart document={document} body={requestBody} label="Body" direction="sent" />
        </Panel>
      )}
      {successesOf(entry).map(([status, answer]) => (
        <Panel key={status} title={`Response ${status}`} note={answer.description}>
          <BodyPart document={document} body={answer} label={`Response ${status}`} direction="read" />
        </Panel>
      ))}
      <Panel title="Problems" flush>
        <ProblemTable codes={codesOf(entry)} />
      </Panel>
    </>
  );
}
