import { useState } from 'preact/hooks';
import { Field } from '../../../design/field.tsx';

/** What is typed into the fields of retries. Empty for the settings of the worker. */
export type RetryDraft = Readonly<Record<RetryName, string>>;
type RetryName = (typeof NAMES)[number];

const NAMES = ['max_attempts', 'base', 'factor', 'max', 'jitter', 'schedule', 'max_age'] as const;

/** All settings are those of the worker. */
export const NO_RETRIES: RetryDraft = {
  ...{ max_attempts: '', base: '', factor: '', max: '', jitter: '', schedule: '', max_age: '' },
};

/** The label and the hint of each field. The service says what is wrong with a value. */
const TEXTS = {
  max_attempts: { label: 'Maximum number of attempts', hint: '1 to 100' },
  max_age: { label: 'Give up after', hint: 'From the start of the first attempt: 12h, 2d' },
  base: { label: 'First delay', hint: '100ms to 1h' },
  max: { label: 'Longest delay', hint: 'At most 24h' },
  factor: { label: 'Factor', hint: '1 to 10; the delay grows by it' },
  jitter: { label: 'Jitter', hint: '0 to 1; the part of the delay that is random' },
  schedule: { label: 'Delays', hint: '10s, 1m, 1h: in place of the four above' },
} as const;

/** The fields whose values are numbers. */
const NUMBERS: ReadonlySet<RetryName> = new Set(['max_attempts', 'factor', 'jitter']);

/** The order on the page, two beside each other. */
const PAIRS = [['max_age', 'max_attempts'], ['base', 'max'], ['factor', 'jitter'], ['schedule']] as const;

interface RetryFieldsProps {
  readonly draft: RetryDraft;
  readonly onChange: (draft: RetryDraft) => void;
  /** What is wrong with a field, by its name; undefined if nothing is. */
  readonly errorOf: (name: RetryName) => string | undefined;
}

/** How a task is retried, out of the way until somebody wants it or it is at fault. */
export function RetryFields({ draft, onChange, errorOf }: RetryFieldsProps) {
  const [isOpen, setOpen] = useState(false);
  const isWrong = NAMES.some(name => errorOf(name) !== undefined);
  return (
    <details
      class="more-fields"
      open={isOpen || isWrong}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>Retries</summary>
      <p class="field-note">Empty fields have the settings of the worker.</p>
      {PAIRS.map(pair => (
        <div key={pair[0]} class={pair.length === 1 ? '' : 'form-pair'}>
          {pair.map(name => {
            const error = errorOf(name);
            return (
              <Field key={name} {...TEXTS[name]} {...(error !== undefined && { error })}>
                <input
                  maxLength={name === 'schedule' ? 1_000 : 64}
                  value={draft[name]}
                  onInput={event => onChange({ ...draft, [name]: event.currentTarget.value })}
                />
              </Field>
            );
          })}
        </div>
      ))}
    </details>
  );
}

/** The fields of `retry` of a request: those that are filled in. */
export function retryOf(draft: RetryDraft): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    NAMES.map(name => [name, draft[name].trim()] as const)
      .filter(([, text]) => text !== '')
      .map(([name, text]) => [name, sentValue(name, text)]),
  );
}

/** A text that is no number is sent as it is, so that the service says what it expects. */
function sentValue(name: RetryName, text: string): unknown {
  if (name === 'schedule') return text.split(',').map(delay => delay.trim());
  return NUMBERS.has(name) && !Number.isNaN(Number(text)) ? Number(text) : text;
}
