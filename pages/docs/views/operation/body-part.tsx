import { CopyBlock } from '../../../design/copy-block.tsx';
import { Marked } from '../../marked.tsx';
import {
  type Answer,
  type Body,
  exampleOf,
  type Header,
  type Media,
  type OpenApi,
  resolved,
} from '../../openapi.ts';
import { type Direction, FieldList } from '../../schema/field-list.tsx';
import { typeOf } from '../../schema/fields.ts';

interface BodyPartProps {
  readonly document: OpenApi;
  readonly body: Partial<Body> & Pick<Answer, 'headers'>;
  /** What it is the body of: `Response 201`. */
  readonly label: string;
  readonly direction: Direction;
}

/** The fields of a body and its example, the header fields of a response. */
export function BodyPart({ document, body, label, direction }: BodyPartProps) {
  const { content = {}, headers = {} } = body;
  const types = Object.entries(content);
  return (
    <div class="docs-part">
      {types.length === 0 && <p class="quiet">No body.</p>}
      {types.map(([type, media]) => (
        <MediaPart
          key={type}
          document={document}
          type={type}
          media={media}
          label={label}
          direction={direction}
        />
      ))}
      {Object.keys(headers).length > 0 && (
        <p class="small quiet">
          Header fields:{' '}
          {Object.entries(headers).map(([name, header], i) => (
            <span key={name} title={resolved<Header>(document, header).description}>
              {i > 0 && ', '}
              <code>{name}</code>
            </span>
          ))}
        </p>
      )}
    </div>
  );
}

interface MediaPartProps {
  readonly document: OpenApi;
  readonly type: string;
  readonly media: Media;
  readonly label: string;
  readonly direction: Direction;
}

function MediaPart({ document, type, media, label, direction }: MediaPartProps) {
  const schema = resolved(document, media.schema);
  const example = exampleOf(document, media);
  return (
    <>
      {schema.description !== undefined && <Marked text={schema.description} />}
      {schema.properties === undefined ? (
        <p class="small quiet">
          <code>{type}</code>: {typeOf(document, media.schema)}
        </p>
      ) : (
        <FieldList document={document} schema={schema} label={`Fields: ${label}`} direction={direction} />
      )}
      {example !== undefined && (
        <CopyBlock label={`Example: ${label}`} text={JSON.stringify(example, null, 2)} />
      )}
    </>
  );
}
