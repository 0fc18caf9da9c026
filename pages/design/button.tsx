import type { ComponentChildren } from 'preact';

interface ButtonProps {
  /** `primary` at most once in a view or dialog; `danger` for what takes something away. */
  readonly kind?: 'primary' | 'plain' | 'danger';
  readonly type?: 'button' | 'submit';
  readonly disabled?: boolean;
  /** Whether it switches something that is on now. Absent if it does not switch. */
  readonly pressed?: boolean;
  /** What it does, if its text does not say it. */
  readonly label?: string;
  readonly onClick?: () => void;
  readonly children: ComponentChildren;
}

/** A button. It submits the form around it only with `type="submit"`. */
export function Button({
  kind = 'plain',
  type = 'button',
  disabled = false,
  pressed,
  label,
  onClick,
  children,
}: ButtonProps) {
  return (
    <button
      type={type}
      class={`button button-${kind}`}
      disabled={disabled}
      aria-pressed={pressed}
      aria-label={label}
      title={label}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
