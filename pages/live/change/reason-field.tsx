import { Field } from '../../design/field.tsx';

interface ReasonFieldProps {
  readonly reason: string;
  readonly hint: string;
  /** Undefined if nothing is wrong. */
  readonly error: string | undefined;
  readonly onChange: (reason: string) => void;
}

/** Asks why a change is made. */
export function ReasonField({ reason, hint, error, onChange }: ReasonFieldProps) {
  return (
    <Field label="Reason" hint={hint} {...(error !== undefined && { error })}>
      <input
        type="text"
        required
        maxLength={256}
        value={reason}
        onInput={event => onChange(event.currentTarget.value)}
      />
    </Field>
  );
}

/** The fault of a change without a reason. */
export const NO_REASON = { fields: { reason: 'Write why, for the log.' }, whole: '' } as const;
