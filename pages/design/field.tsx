import { cloneElement, type VNode } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  /** What is expected, below the input. */
  readonly hint?: string;
  /** What is wrong with the value; replaces the hint. */
  readonly error?: string;
  /** One `input`, `select` or `textarea`. It gets its id and what describes it from here. */
  readonly children: VNode<Record<string, unknown>>;
}

/** An input with its label, a hint, and the fault of its value. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const note = error ?? hint;
  return (
    <div class={`field${error === undefined ? '' : ' field-wrong'}`}>
      <label for={id}>{label}</label>
      {cloneElement(children, {
        id,
        'aria-invalid': error !== undefined,
        ...(note !== undefined && { 'aria-describedby': `${id}-note` }),
      })}
      {note !== undefined && (
        <p id={`${id}-note`} class="field-note" role={error === undefined ? undefined : 'alert'}>
          {note}
        </p>
      )}
    </div>
  );
}
