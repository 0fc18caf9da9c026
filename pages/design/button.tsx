import type { ComponentChildren } from 'preact';

interface ButtonProps {
  /**
   * `primary` at most once in a view or dialog; `danger` confirms what takes something away, and `caution` opens the
   * dialog for it; `quiet` beside text.
   */
  readonly kind?: 'primary' | 'plain' | 'danger' | 'caution' | 'quiet';
  /** `small` in rows and beside text; `icon` for a square with an icon, which needs a label. */
  readonly size?: 'normal' | 'small' | 'icon';
  readonly type?: 'button' | 'submit';
  readonly disabled?: boolean;
  /** Whether it switches something that is on now. Absent if it does not switch. */
  readonly pressed?: boolean;
  /** What it does, if its text does not say it. */
  readonly label?: string;
  readonly onClick?: () => void;
  readonly children: ComponentChildren;
}

const SIZES = { normal: '', small: ' button-small', icon: ' icon-button' };

/** A button. It submits the form around it only with `type="submit"`. */
export function Button({
  kind = 'plain',
  size = 'normal',
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
      class={`button button-${kind}${SIZES[size]}`}
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
