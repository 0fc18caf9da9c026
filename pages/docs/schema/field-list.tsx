import { Chip } from '../../design/chip.tsx';
import { Marked } from '../marked.tsx';
import type { JsonSchema, OpenApi } from '../openapi.ts';
import { type Field, fieldsOf, readOnlyNames } from './fields.ts';

/** Senders want to know which fields they must send, and readers which ones they cannot count on. */
export type Direction = 'sent' | 'read';

interface FieldListProps {
  readonly document: OpenApi;
  readonly schema: JsonSchema;
  /** What the fields are of: `Fields of the body`. */
  readonly label: string;
  readonly direction: Direction;
}

/** The fields of an object, with those of inner objects folded. */
export function FieldList({ document, schema, label, direction }: FieldListProps) {
  const fields = fieldsOf(document, schema);
  const readOnly = readOnlyNames(document, schema);
  return (
    <>
      <ul class="field-list" aria-label={label}>
        {fields.map(field => (
          // A wrapper, such as a page of a list, says little without what it wraps.
          <FieldItem
            key={field.name}
            document={document}
            field={field}
            direction={direction}
            isOpen={fields.length <= 2}
          />
        ))}
      </ul>
      {readOnly.length > 0 && (
        <p class="small quiet">
          Read-only fields of a response are accepted if they are unchanged: {readOnly.join(', ')}.
        </p>
      )}
    </>
  );
}

interface FieldItemProps {
  readonly document: OpenApi;
  readonly field: Field;
  readonly direction: Direction;
  readonly isOpen: boolean;
}

function FieldItem({ document, field, direction, isOpen }: FieldItemProps) {
  const { name, type, isRequired, bounds, values, description, inner } = field;
  return (
    <li>
      <p class="field-head">
        <code class="field-name">{name}</code>
        <span class="quiet">{type}</span>
        {direction === 'sent' && isRequired && <Chip kind="neutral">required</Chip>}
        {direction === 'read' && !isRequired && <Chip kind="neutral">not always</Chip>}
      </p>
      {description !== '' && <Marked text={description} />}
      {values.length > 0 && (
        <p class="small quiet">
          One of:{' '}
          {values.map((value, i) => (
            <span key={value}>
              {i > 0 && ', '}
              <code>{value}</code>
            </span>
          ))}
        </p>
      )}
      {bounds !== '' && <p class="small quiet">{bounds}</p>}
      {inner !== null && (
        <details class="field-inner" open={isOpen}>
          <summary>Fields of {name}</summary>
          <FieldList document={document} schema={inner} label={`Fields of ${name}`} direction={direction} />
        </details>
      )}
    </li>
  );
}
