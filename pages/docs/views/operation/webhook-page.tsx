import { Chip } from '../../../design/chip.tsx';
import { CopyBlock } from '../../../design/copy-block.tsx';
import { Panel } from '../../../design/panel.tsx';
import { useContents } from '../../contents.ts';
import type { Entry } from '../../entries.ts';
import { Marked } from '../../marked.tsx';
import {
  type Answer,
  exampleOf,
  type Header,
  type OpenApi,
  type Operation,
  resolved,
} from '../../openapi.ts';
import { BodyPart } from './body-part.tsx';
import { ParameterList } from './parameter-list.tsx';

/** What a receiver gets, and what its answers mean. */
export function WebhookPage({ entry }: { readonly entry: Entry }) {
  const { document } = useContents();
  const { summary, description = '', parameters = [], requestBody } = entry.operation;
  return (
    <>
      <h1>{summary}</h1>
      <Marked text={description} />
      <CopyBlock label="Example of a delivery" text={deliveryOf(document, entry.operation)} />
      <Panel title="Header fields">
        <ParameterList document={document} parameters={parameters} />
      </Panel>
      {requestBody !== undefined && (
        <Panel title="Body" note={requestBody.required ? '' : 'optional'}>
          <BodyPart document={document} body={requestBody} label="Body" direction="read" />
        </Panel>
      )}
      <Panel title="What your answers mean">
        <ul class="field-list" aria-label="Answers">
          {entry.answers.map(([status, answer]) => (
            <AnswerItem key={status} document={document} status={status} answer={answer} />
          ))}
        </ul>
      </Panel>
    </>
  );
}

interface AnswerItemProps {
  readonly document: OpenApi;
  readonly status: string;
  readonly answer: Answer;
}

function AnswerItem({ document, status, answer }: AnswerItemProps) {
  const { description, headers = {}, 'x-effect': effect = '' } = answer;
  return (
    <li>
      <p class="field-head">
        <code class="field-name">{status === 'default' ? 'anything else' : status}</code>
        <Chip kind={effect === 'succeeded' ? 'allowed' : 'neutral'}>{effect}</Chip>
      </p>
      <Marked text={description} />
      {Object.entries(headers).map(([name, header]) => (
        <p key={name} class="small quiet">
          <code>{name}</code>: {resolved<Header>(document, header).description}
        </p>
      ))}
    </li>
  );
}

/** A delivery as it is sent. */
function deliveryOf(document: OpenApi, { parameters = [], requestBody }: Operation): string {
  const media = requestBody?.content['application/json'];
  const fields = parameters
    .filter(({ required = false, example }) => required || example !== undefined)
    .map(({ name, schema, example }) => `${name}: ${example ?? schema.enum?.[0] ?? ''}`);
  const body = media === undefined ? '' : JSON.stringify(exampleOf(document, media), null, 2);
  return ['POST /tasks HTTP/1.1', 'content-type: application/json', ...fields, '', body].join('\n');
}
