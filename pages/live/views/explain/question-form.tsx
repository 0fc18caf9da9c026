import { useState } from 'preact/hooks';
import { Button } from '../../../design/button.tsx';
import { Field } from '../../../design/field.tsx';
import { Icon } from '../../../design/icon.tsx';
import { Panel } from '../../../design/panel.tsx';
import type { Entry } from '../../descriptor.ts';
import type { Question } from './explanation.ts';

/** Bounds of the form. `/explain` accepts more, on the command line. */
const MAX_DESCRIPTORS = 8;
const MAX_ENTRIES = 12;

const NO_ENTRY: Entry = { key: '', value: '' };

interface QuestionFormProps {
  readonly question: Question;
  readonly onAsk: (question: Question) => void;
}

/** A form that builds the descriptors of a request. */
export function QuestionForm({ question, onAsk }: QuestionFormProps) {
  const [domain, setDomain] = useState(question.domain);
  const [descriptors, setDescriptors] = useState<readonly (readonly Entry[])[]>(
    question.descriptors.length === 0 ? [[NO_ENTRY]] : question.descriptors,
  );
  const change = (at: number, entries: readonly Entry[]) =>
    setDescriptors(was => was.map((each, i) => (i === at ? entries : each)));
  const submit = () => {
    const written = descriptors
      .map(entries => entries.filter(({ key }) => key.trim() !== ''))
      .filter(entries => entries.length > 0);
    if (written.length > 0) onAsk({ domain: domain.trim(), descriptors: written });
  };
  return (
    <Panel title="Request">
      <form
        class="form"
        onSubmit={event => {
          event.preventDefault();
          submit();
        }}
      >
        <Field label="Domain">
          <input
            type="text"
            required
            maxLength={1_000}
            spellcheck={false}
            value={domain}
            onInput={event => setDomain(event.currentTarget.value)}
          />
        </Field>
        {descriptors.map((entries, i) => (
          <DescriptorFields
            key={i}
            number={i + 1}
            entries={entries}
            onChange={changed => change(i, changed)}
            {...(descriptors.length > 1 && {
              onRemove: () => setDescriptors(was => was.filter((_, at) => at !== i)),
            })}
          />
        ))}
        <div class="actions">
          {descriptors.length < MAX_DESCRIPTORS && (
            <Button onClick={() => setDescriptors(was => [...was, [NO_ENTRY]])}>Add descriptor</Button>
          )}
          <Button kind="primary" type="submit">
            Explain
          </Button>
        </div>
      </form>
    </Panel>
  );
}

interface DescriptorFieldsProps {
  readonly number: number;
  readonly entries: readonly Entry[];
  readonly onChange: (entries: readonly Entry[]) => void;
  readonly onRemove?: () => void;
}

function DescriptorFields({ number, entries, onChange, onRemove }: DescriptorFieldsProps) {
  const set = (at: number, part: Partial<Entry>) =>
    onChange(entries.map((entry, i) => (i === at ? { ...entry, ...part } : entry)));
  return (
    <fieldset class="descriptor">
      <legend>
        Descriptor {number}
        {onRemove !== undefined && (
          <Button kind="quiet" size="icon" label={`Remove descriptor ${number}`} onClick={onRemove}>
            <Icon name="close" />
          </Button>
        )}
      </legend>
      {entries.map((entry, i) => (
        <div key={i} class="entry">
          <input
            type="text"
            aria-label={`Key ${i + 1} of descriptor ${number}`}
            placeholder="key"
            maxLength={4_096}
            spellcheck={false}
            value={entry.key}
            onInput={event => set(i, { key: event.currentTarget.value })}
          />
          <span aria-hidden="true">=</span>
          <input
            type="text"
            aria-label={`Value ${i + 1} of descriptor ${number}`}
            placeholder="value"
            maxLength={4_096}
            spellcheck={false}
            value={entry.value}
            onInput={event => set(i, { value: event.currentTarget.value })}
          />
          <Button
            kind="quiet"
            size="icon"
            label={`Remove entry ${i + 1} of descriptor ${number}`}
            disabled={entries.length === 1}
            onClick={() => onChange(entries.filter((_, at) => at !== i))}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
      {entries.length < MAX_ENTRIES && (
        <div>
          <Button kind="quiet" size="small" onClick={() => onChange([...entries, NO_ENTRY])}>
            Add entry
          </Button>
        </div>
      )}
    </fieldset>
  );
}
