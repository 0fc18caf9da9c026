import { Chip } from '../../../design/chip.tsx';
import { Marked } from '../../marked.tsx';
import type { OpenApi, Parameter } from '../../openapi.ts';
import { typeOf } from '../../schema/fields.ts';

const PLACES: Readonly<Record<Parameter['in'], string>> = {
  path: 'in the path',
  query: 'in the query',
  header: 'header field',
};

interface ParameterListProps {
  readonly document: OpenApi;
  readonly parameters: readonly Parameter[];
}

/** Parameters of a request in the path, the query and the head. */
export function ParameterList({ document, parameters }: ParameterListProps) {
  return (
    <ul class="field-list" aria-label="Parameters">
      {parameters.map(({ name, in: place, required = false, description = '', schema }) => (
        <li key={`${place} ${name}`}>
          <p class="field-head">
            <code class="field-name">{name}</code>
            <span class="quiet">
              {PLACES[place]}, {typeOf(document, schema)}
            </span>
            {required && <Chip kind="neutral">{place === 'header' ? 'always' : 'required'}</Chip>}
          </p>
          {description !== '' && <Marked text={description} />}
        </li>
      ))}
    </ul>
  );
}
