import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

interface DialogProps {
  readonly title: string;
  /** Called when the user closes it. The parent then no longer renders it. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/**
 * A modal dialog. It is open while it is rendered. The browser keeps the focus inside, closes it with Escape, and gives
 * the focus back to where it was.
 */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Not an effect after painting: between the removal and its end, keys would go nowhere.
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={heading}
      onCancel={event => {
        event.preventDefault();
        onClose();
      }}
    >
      <header class="dialog-head">
        <h2 id={heading}>{title}</h2>
        <Button kind="quiet" size="icon" label="Close" onClick={onClose}>
          <Icon name="close" />
        </Button>
      </header>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}
