import { Choices } from '../../design/choices.tsx';
import { Field } from '../../design/field.tsx';

const MINUTE_MS = 60_000;

/** Choices for the end of a change, and their lengths in milliseconds. `other` is a time that the user writes. */
const LENGTHS = { quarter: 15 * MINUTE_MS, hour: 60 * MINUTE_MS, day: 1_440 * MINUTE_MS, other: 0 } as const;
type Length = keyof typeof LENGTHS;

const NAMES: Readonly<Record<Length, string>> = {
  quarter: '15 minutes',
  hour: '1 hour',
  day: '1 day',
  other: 'Until…',
};

/** When a change ends, as the user has chosen it. */
export interface Expiry {
  readonly length: Length;
  /** For `other`: the value of an input of the type `datetime-local`. */
  readonly time: string;
}

export const FIRST_EXPIRY: Expiry = { length: 'hour', time: '' };

/** The end in milliseconds since the epoch; NaN if it is not complete. */
export function endOf({ length, time }: Expiry, nowMs: number): number {
  return length === 'other' ? Date.parse(time) : nowMs + LENGTHS[length];
}

interface ExpiryFieldsProps {
  readonly expiry: Expiry;
  /** What is wrong with the end; undefined if nothing is. */
  readonly error: string | undefined;
  readonly onChange: (expiry: Expiry) => void;
}

/** Asks when a change ends. */
export function ExpiryFields({ expiry, error, onChange }: ExpiryFieldsProps) {
  const choose = (length: Length) =>
    onChange({
      length,
      time: length === 'other' && expiry.time === '' ? localText(Date.now() + LENGTHS.hour) : expiry.time,
    });
  return (
    <div class="form">
      <div class="field">
        <span class="field-title">Ends after</span>
        <Choices label="Ends after" options={NAMES} value={expiry.length} onChoose={choose} />
        {error !== undefined && expiry.length !== 'other' && (
          <p class="field-note" role="alert">
            {error}
          </p>
        )}
      </div>
      {expiry.length === 'other' && (
        <Field
          label="End"
          hint={`In the zone of this computer, ${ZONE}`}
          {...(error !== undefined && { error })}
        >
          <input
            type="datetime-local"
            value={expiry.time}
            onInput={event => onChange({ ...expiry, time: event.currentTarget.value })}
          />
        </Field>
      )}
    </div>
  );
}

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A time as an input of the type `datetime-local` has it: without a zone. */
function localText(ms: number): string {
  const offsetMs = new Date(ms).getTimezoneOffset() * MINUTE_MS;
  return new Date(ms - offsetMs).toISOString().slice(0, 16);
}
